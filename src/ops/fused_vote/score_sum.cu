// SPDX-License-Identifier: Apache-2.0
// Sums of neighbors' scores. A row has 8 or 16 scores, which are integers of 16 bits, two in a word; or of 10 bits,
// with the scale of the row. So a neighbor is one sector of 32 bytes at most. Sums without scales are integers, the
// same in any order; with scales they are floats, and each thread adds up its neighbors in the order of the columns.
#include "ops/fused_vote/ordered.cuh"
#include "ops/fused_vote/row_outputs.cuh"
#include "ops/fused_vote/whole_floats.cuh"

namespace bitgraph {

namespace spmm_cuda::ordered {

namespace {

/// Eight sums of scores.
struct WholeSums {
  static constexpr unsigned batch = 8;       ///< neighbors whose scores add up within 16 bits
  static constexpr unsigned threads = 1024;  ///< of a multiprocessor, for which there are registers
  static constexpr unsigned count = outputs;
  using Number = std::uint32_t;
  Number of[count] = {};

  __device__ void add(const FusedScoreSum&, const uint4 (&values)[batch]) {
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

  /// Of a row with `n` neighbors: a bias for each.
  __device__ float output(const FusedScoreSum& args, unsigned k, std::uint32_t n, unsigned at, float row_scale) const {
    const auto bits = static_cast<std::int64_t>(n) * static_cast<std::int64_t>(args.ncols);
    auto y = static_cast<float>(2 * std::int64_t{of[k]} - bits);
    if (args.scale != nullptr) y *= __ldg(args.scale + at);
    if (args.bias != nullptr) y += static_cast<float>(n) * __ldg(args.bias + at);
    return y * row_scale;
  }
};

/// Eight sums of scales times halves of products, and that of the scales.
struct ScaledSums {
  static constexpr unsigned batch = 8;
  static constexpr unsigned threads = 896;
  static constexpr unsigned count = outputs + 1;
  using Number = float;
  Number of[count] = {};

  __device__ void add(const FusedScoreSum& args, const uint4 (&values)[batch]) {
    const float middle = whole_float(static_cast<std::uint32_t>(args.ncols / 2));
#pragma unroll
    for (const uint4& part : values) {
      const float scale = __uint_as_float(part.w);
#pragma unroll
      for (unsigned k = 0; k < outputs; ++k) {
        const std::uint32_t score = Part<4>::word(part, k / 3) >> (10 * (k % 3)) & 0x3FFU;
        of[k] = __fmaf_rn(scale, whole_float(score) - middle, of[k]);
      }
      of[outputs] += scale;
    }
  }

  __device__ float output(const FusedScoreSum& args, unsigned k, std::uint32_t, unsigned at, float row_scale) const {
    return scaled_output(args, of[k], of[outputs], at, row_scale);
  }
};

/// Writes the outputs of the sums that a lane holds; `Span` lanes hold the sums of one row.
template <unsigned Span, class Sums>
__device__ void emit(const FusedScoreSum& args, const Sums& sums, const Row& row, unsigned part, float* scratch) {
  const float row_scale = row.row == no_row || args.row_scale == nullptr ? 1.0F : __ldg(args.row_scale + row.row);
  float y[outputs];
#pragma unroll
  for (unsigned k = 0; k < outputs; ++k) {
    y[k] = sums.output(args, k, row.n, min(part * outputs + k, args.count - 1), row_scale);
  }
  const RowOutputs<Span> at{args.out, args.count, part * outputs, scratch};
  at.write(
      row.row, y, [](float before, float value) { return value + before; }, args.add);
}

/// Consecutive blocks take the parts of the scores in turns.
template <unsigned threads, class Sums>
__global__ void __launch_bounds__(threads, Sums::threads / threads)
    sum_ordered(const __grid_constant__ FusedScoreSum args, const __grid_constant__ Blocks blocks, unsigned parts) {
  trigger_dependent_launch();
  constexpr unsigned warps = threads / 32;
  constexpr unsigned batch = Sums::batch;
  __shared__ float scratch_of_warps[warps][scratch_words];
  __shared__ typename Sums::Number hub[warps][Sums::count];
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  const unsigned part = blockIdx.x % parts;
  const unsigned block = blockIdx.x / parts;
  float* const scratch = scratch_of_warps[warp];
  const PartReader<4> read{reinterpret_cast<const std::uint32_t*>(args.scores) + 4 * part, 4 * parts};
  Sums sums;
  const auto add = [&](const auto& values) { sums.add(args, values); };
  if (block >= blocks.groups) {
    const std::size_t place = args.order.groups + std::size_t{block - blocks.groups} * threads + threadIdx.x;
    const Row row(args.a, args.order, place, args.a.nrows);
    for_neighbors<1, batch>(read, row, 0, __reduce_max_sync(full_warp, row.n), batch, add);
    emit<1>(args, sums, row, part, scratch);
  } else if (block >= blocks.warps) {
    const std::size_t place =
        args.order.warps + (std::size_t{block - blocks.warps} * threads + threadIdx.x) / group_sets;
    const Row row(args.a, args.order, place, args.order.groups);
    for_neighbors<group_sets, batch>(read, row, lane % group_sets, __reduce_max_sync(full_warp, row.n),
                                     batch * group_sets, add);
    join_lanes<group_sets>(sums.of);
    emit<group_sets>(args, sums, row, part, scratch);
  } else {
    const bool is_hub = block < blocks.hubs;
    const std::size_t place = is_hub ? block : args.order.hubs + std::size_t{block - blocks.hubs} * warps + warp;
    const Row row(args.a, args.order, place, is_hub ? args.order.hubs : args.order.warps);
    for_neighbors<32, batch>(read, row, (is_hub ? warp : 0) * batch * 32 + lane, row.n,
                             batch * 32 * (is_hub ? warps : 1), add);
    join_lanes<32>(sums.of);
    if (is_hub) {
#pragma unroll
      for (unsigned k = 0; k < Sums::count; ++k) {
        if (lane == k) hub[warp][k] = sums.of[k];
      }
      __syncthreads();
      if (warp != 0) return;
#pragma unroll
      for (unsigned k = 0; k < Sums::count; ++k) {
        sums.of[k] = 0;
        for (unsigned w = 0; w < warps; ++w) sums.of[k] += hub[w][k];
      }
    }
    emit<32>(args, sums, row, part, scratch);
  }
}

}  // namespace

}  // namespace spmm_cuda::ordered

void fused(const Cuda& backend, const FusedScoreSum& args, const fused_cuda::Plan&) {
  using namespace spmm_cuda::ordered;
  if (args.a.nrows == 0) return;
  const ScopedCudaDevice scope(backend.device.index());
  constexpr unsigned threads = cuda_fused_vote_tuning().product_block;
  const Blocks blocks(args.order, args.a.nrows, threads, 1);
  const unsigned parts = args.count <= outputs ? 1 : 2;
  const auto launch = [&](auto sums) {
    static ProgrammaticKernel kernel(sum_ordered<threads, decltype(sums)>, "sum_ordered");
    kernel.launch(backend.device, blocks.all * parts, threads, 0, args, blocks, parts);
  };
  if (args.scaled) return launch(ScaledSums());
  launch(WholeSums());
}

}  // namespace bitgraph
