// SPDX-License-Identifier: Apache-2.0
// Sums of neighbors' scores. A row has 8 or 16 scores, which are integers of 16 bits, two in a word. So a neighbor is
// one sector of 32 bytes at most, and sums are the same in any order.
#include "ops/fused_vote/ordered.cuh"
#include "ops/fused_vote/row_outputs.cuh"

namespace bitgraph {

namespace spmm_cuda::ordered {

namespace {

constexpr unsigned batch = 8;  ///< neighbors whose scores add up within 16 bits

/// Eight sums of 32 bits.
struct Sums {
  std::uint32_t of[outputs] = {};

  __device__ void add(const uint4 (&values)[batch]) {
    uint4 pairs = values[0];
#pragma unroll
    for (unsigned k = 1; k < batch; ++k) {
      pairs.x += values[k].x;
      pairs.y += values[k].y;
      pairs.z += values[k].z;
      pairs.w += values[k].w;
    }
#pragma unroll
    for (unsigned p = 0; p < outputs / 2; ++p) {
      of[2 * p] += Part<4>::word(pairs, p) & 0xFFFFU;
      of[2 * p + 1] += Part<4>::word(pairs, p) >> 16;
    }
  }

  /// Adds up the sums of `Sets` sets of `Lanes` lanes.
  template <unsigned Lanes, unsigned Sets>
  __device__ void join() {
#pragma unroll
    for (unsigned step = Lanes; step < Lanes * Sets; step *= 2) {
#pragma unroll
      for (unsigned k = 0; k < outputs; ++k) of[k] += __shfl_xor_sync(full_warp, of[k], step);
    }
  }
};

/// Writes the outputs of the scores that a lane holds; `Span` lanes hold the sums of one row.
template <unsigned Span>
__device__ void emit(const FusedScoreSum& args, const Sums& sums, const Row& row, bool exists, unsigned part,
                     float* scratch) {
  const NodeId its_row = exists ? row.row : no_row;
  const float row_scale = its_row == no_row || args.row_scale == nullptr ? 1.0F : __ldg(args.row_scale + its_row);
  const auto bits = static_cast<std::int64_t>(row.n) * static_cast<std::int64_t>(args.ncols);
  float y[outputs];
#pragma unroll
  for (unsigned k = 0; k < outputs; ++k) {
    const unsigned output = min(part * outputs + k, args.count - 1);
    y[k] = static_cast<float>(2 * std::int64_t{sums.of[k]} - bits);
    if (args.scale != nullptr) y[k] *= __ldg(args.scale + output);
    if (args.bias != nullptr) y[k] += static_cast<float>(row.n) * __ldg(args.bias + output);
    y[k] *= row_scale;
  }
  const RowOutputs<Span> at{args.out, args.count, part * outputs, scratch};
  at.write(
      its_row, y, [](float before, float value) { return value + before; }, args.add);
}

/// Consecutive blocks take the parts of the scores in turns.
template <unsigned threads>
__global__ void __launch_bounds__(threads, 1024 / threads)
    sum_ordered(const __grid_constant__ FusedScoreSum args, const __grid_constant__ Blocks blocks, unsigned parts) {
  trigger_dependent_launch();
  constexpr unsigned warps = threads / 32;
  __shared__ float scratch_of_warps[warps][scratch_words];
  __shared__ std::uint32_t hub[warps][outputs];
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  const unsigned part = blockIdx.x % parts;
  const unsigned block = blockIdx.x / parts;
  float* const scratch = scratch_of_warps[warp];
  const std::size_t stride = 4 * parts;
  const auto* const x = reinterpret_cast<const std::uint32_t*>(args.scores) + 4 * part;
  Sums sums;
  const auto add = [&](const auto& values) { sums.add(values); };
  if (block >= blocks.groups) {
    const std::size_t place = args.order.groups + std::size_t{block - blocks.groups} * threads + threadIdx.x;
    const Row row(args.a, args.order, place, args.a.nrows);
    for_neighbors<4, 1, batch>(x, stride, row, 0, __reduce_max_sync(full_warp, row.n), batch, add);
    emit<1>(args, sums, row, true, part, scratch);
  } else if (block >= blocks.warps) {
    const std::size_t place =
        args.order.warps + (std::size_t{block - blocks.warps} * threads + threadIdx.x) / group_sets;
    const Row row(args.a, args.order, place, args.order.groups);
    for_neighbors<4, group_sets, batch>(x, stride, row, lane % group_sets, __reduce_max_sync(full_warp, row.n),
                                        batch * group_sets, add);
    sums.join<1, group_sets>();
    emit<group_sets>(args, sums, row, true, part, scratch);
  } else {
    const bool is_hub = block < blocks.hubs;
    const std::size_t place = is_hub ? block : args.order.hubs + std::size_t{block - blocks.hubs} * warps + warp;
    const Row row(args.a, args.order, place, is_hub ? args.order.hubs : args.order.warps);
    for_neighbors<4, 32, batch>(x, stride, row, (is_hub ? warp : 0) * batch * 32 + lane, row.n,
                                batch * 32 * (is_hub ? warps : 1), add);
    sums.join<1, 32>();
    if (is_hub) {
#pragma unroll
      for (unsigned k = 0; k < outputs; ++k) {
        if (lane == k) hub[warp][k] = sums.of[k];
      }
      __syncthreads();
      if (warp != 0) return;
#pragma unroll
      for (unsigned k = 0; k < outputs; ++k) {
        sums.of[k] = 0;
        for (unsigned w = 0; w < warps; ++w) sums.of[k] += hub[w][k];
      }
    }
    emit<32>(args, sums, row, true, part, scratch);
  }
}

}  // namespace

}  // namespace spmm_cuda::ordered

void fused(const Cuda& backend, const FusedScoreSum& args, const fused_cuda::Plan&) {
  using namespace spmm_cuda::ordered;
  if (args.a.nrows == 0) return;
  const ScopedCudaDevice scope(backend.device.index());
  constexpr unsigned threads = cuda_fused_vote_tuning().product_block;
  static ProgrammaticKernel kernel(sum_ordered<threads>, "sum_ordered");
  const Blocks blocks(args.order, args.a.nrows, threads, 1);
  const unsigned parts = args.count <= outputs ? 1 : 2;
  kernel.launch(backend.device, blocks.all * parts, threads, 0, args, blocks, parts);
}

}  // namespace bitgraph
