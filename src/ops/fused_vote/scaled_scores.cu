// SPDX-License-Identifier: Apache-2.0
// Scores as bytes, with the scale of their row behind them, and their sums over neighbors. A neighbor is read by as
// many lanes as its row has parts of 16 bytes, one load each. The scale comes with the last part, and goes from its
// lane to the others. A lane adds up sixteen products of a scale and a whole number.
#include "ops/fused_vote/ordered.cuh"
#include "ops/fused_vote/whole_floats.cuh"

namespace bitgraph {

namespace spmm_cuda::ordered {

namespace {

constexpr unsigned part_bytes = 16;
constexpr unsigned batch = 4;  ///< neighbors of a lane that are on their way

/// Sixteen sums of scales times halves of products, and that of the scales.
struct PartSums {
  static constexpr unsigned count = part_bytes + 1;
  float of[count] = {};

  /// A neighbor's part; its scale is the last word of the part that `scale_lane` has.
  __device__ void add(const uint4& part, unsigned scale_lane, float middle) {
    const float scale = __uint_as_float(__shfl_sync(full_warp, part.w, scale_lane));
#pragma unroll
    for (unsigned b = 0; b < part_bytes; ++b) {
      const float whole = whole_float_of_byte(Part<4>::word(part, b / 4), b % 4) - middle;
      of[b] = __fmaf_rn(scale, whole, of[b]);
    }
    of[part_bytes] += scale;
  }

  /// The sums of `Sets` sets of `Lanes` lanes, in all of them.
  template <unsigned Lanes, unsigned Sets>
  __device__ void join() {
#pragma unroll
    for (unsigned step = Lanes; step < Lanes * Sets; step *= 2) {
#pragma unroll
      for (float& sum : of) sum += __shfl_xor_sync(full_warp, sum, step);
    }
  }
};

/// Writes a row's outputs: each of `Sets` sets of `Lanes` lanes, which have the same sums, a share of them.
template <unsigned Lanes, unsigned Sets>
__device__ void emit(const FusedScaledSum& args, const PartSums& sums, const Row& row) {
  if (row.row == no_row) return;
  const float row_scale = args.row_scale == nullptr ? 1.0F : __ldg(args.row_scale + row.row);
  const unsigned first = threadIdx.x % Lanes * part_bytes;
  const unsigned set = threadIdx.x / Lanes % Sets;
  float* const out = args.out + std::size_t{row.row} * args.count;
#pragma unroll
  for (unsigned b = 0; b < part_bytes; ++b) {
    if (b % Sets == set && first + b < args.count) {
      out[first + b] = scaled_output(args, sums.of[b], sums.of[part_bytes], first + b, row_scale);
    }
  }
}

template <unsigned threads, unsigned Lanes>
__global__ void __launch_bounds__(threads, 1024 / threads)
    sum_scaled(const __grid_constant__ FusedScaledSum args, const __grid_constant__ Blocks blocks) {
  trigger_dependent_launch();
  constexpr unsigned warps = threads / 32;
  constexpr unsigned sets = 32 / Lanes;
  __shared__ float hub[warps][Lanes][PartSums::count];
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  const unsigned own = lane % Lanes;
  const unsigned scale_lane = lane - own + Lanes - 1;
  const PartReader<4> read{reinterpret_cast<const std::uint32_t*>(args.scores) + 4 * own, 4 * Lanes};
  PartSums sums;
  const float middle = whole_float(static_cast<std::uint32_t>(args.ncols / 2));
  const auto add = [&](const auto& values) {
#pragma unroll
    for (const uint4& part : values) sums.add(part, scale_lane, middle);
  };
  if (blockIdx.x >= blocks.groups) {
    const std::size_t place =
        args.order.groups + (std::size_t{blockIdx.x - blocks.groups} * threads + threadIdx.x) / Lanes;
    const Row row(args.a, args.order, place, args.a.nrows);
    for_neighbors<1, batch>(read, row, 0, __reduce_max_sync(full_warp, row.n), batch, add);
    emit<Lanes, 1>(args, sums, row);
  } else if (blockIdx.x >= blocks.warps) {
    const std::size_t place =
        args.order.warps + (std::size_t{blockIdx.x - blocks.warps} * threads + threadIdx.x) / (Lanes * group_sets);
    const Row row(args.a, args.order, place, args.order.groups);
    for_neighbors<group_sets, batch>(read, row, lane / Lanes % group_sets, __reduce_max_sync(full_warp, row.n),
                                     batch * group_sets, add);
    sums.join<Lanes, group_sets>();
    emit<Lanes, group_sets>(args, sums, row);
  } else {
    const bool is_hub = blockIdx.x < blocks.hubs;
    const std::size_t place =
        is_hub ? blockIdx.x : args.order.hubs + std::size_t{blockIdx.x - blocks.hubs} * warps + warp;
    const Row row(args.a, args.order, place, is_hub ? args.order.hubs : args.order.warps);
    for_neighbors<sets, batch>(read, row, (is_hub ? warp : 0) * batch * sets + lane / Lanes, row.n,
                               batch * sets * (is_hub ? warps : 1), add);
    sums.join<Lanes, sets>();
    if (is_hub) {
#pragma unroll
      for (unsigned b = 0; b < PartSums::count; ++b) {
        if (lane < Lanes) hub[warp][own][b] = sums.of[b];
      }
      __syncthreads();
      if (warp != 0) return;
#pragma unroll
      for (unsigned b = 0; b < PartSums::count; ++b) {
        sums.of[b] = 0;
        for (unsigned w = 0; w < warps; ++w) sums.of[b] += hub[w][own][b];
      }
    }
    emit<Lanes, sets>(args, sums, row);
  }
}

constexpr unsigned most_words = 8;    ///< of a row of bits that bytes can count
constexpr unsigned most_scaled = 60;  ///< weights: ScaledScores::most

/// A thread has a row: it counts the bits that are the same as those of each weight, four weights a word.
template <unsigned threads>
__global__ void __launch_bounds__(threads) score_rows(const __grid_constant__ FusedScoreRows args) {
  trigger_dependent_launch();
  wait_for_previous_kernel();
  __shared__ __align__(16) std::uint32_t weights[most_scaled * most_words];
  for (unsigned i = threadIdx.x; i < args.weights.count * most_words; i += threads) {
    const unsigned word = i % most_words;
    weights[i] = word < args.words ? __ldg(args.weights.words + i / most_words * args.weights.stride + word) : 0;
  }
  __syncthreads();
  const std::size_t row = std::size_t{blockIdx.x} * threads + threadIdx.x;
  if (row >= args.nrows) return;
  std::uint32_t own[most_words];
#pragma unroll
  for (unsigned w = 0; w < most_words; ++w) own[w] = w < args.words ? __ldg(args.x + row * args.words + w) : 0;
  const auto score = [&](unsigned k) -> std::uint32_t {
    if (k >= args.weights.count) return 0;
    int other = 0;
#pragma unroll
    for (unsigned w = 0; w < most_words; w += 4) {
      if (w >= args.words) break;
      const uint4 four = *reinterpret_cast<const uint4*>(weights + k * most_words + w);
      other += __popc(own[w] ^ four.x) + __popc(own[w + 1] ^ four.y) + __popc(own[w + 2] ^ four.z) +
               __popc(own[w + 3] ^ four.w);
    }
    return static_cast<std::uint32_t>(args.ncols) - static_cast<std::uint32_t>(other);
  };
  const auto four_scores = [&](unsigned k) {
    return score(k) | score(k + 1) << 8 | score(k + 2) << 16 | score(k + 3) << 24;
  };
  const float scale = args.scale == nullptr ? 1.0F : __ldg(args.scale + row);
  const auto parts = static_cast<unsigned>(args.row_bytes / part_bytes);
  auto* const to = reinterpret_cast<uint4*>(args.scores + row * args.row_bytes);
#pragma unroll 1
  for (unsigned p = 0; p < parts; ++p) {
    const unsigned k = p * part_bytes;
    uint4 part{four_scores(k), four_scores(k + 4), four_scores(k + 8), four_scores(k + 12)};
    if (p + 1 == parts) part.w = __float_as_uint(scale);
    to[p] = part;
  }
}

}  // namespace

}  // namespace spmm_cuda::ordered

void fused(const Cuda& backend, const FusedScaledSum& args, const fused_cuda::Plan& chosen) {
  using namespace spmm_cuda::ordered;
  if (args.a.nrows == 0) return;
  const ScopedCudaDevice scope(backend.device.index());
  constexpr unsigned threads = cuda_fused_vote_tuning().product_block;
  const auto launch = [&](auto lanes) {
    static ProgrammaticKernel kernel(sum_scaled<threads, lanes()>, "sum_scaled");
    const Blocks blocks(args.order, args.a.nrows, threads, lanes());
    kernel.launch(backend.device, blocks.all, threads, 0, args, blocks);
  };
  if (chosen.lanes == 1) return launch(std::integral_constant<unsigned, 1>());
  if (chosen.lanes == 2) return launch(std::integral_constant<unsigned, 2>());
  launch(std::integral_constant<unsigned, 4>());
}

void fused(const Cuda& backend, const FusedScoreRows& args, const fused_cuda::Plan&) {
  using namespace spmm_cuda::ordered;
  if (args.nrows == 0) return;
  const ScopedCudaDevice scope(backend.device.index());
  constexpr unsigned threads = cuda_fused_vote_tuning().product_block;
  static ProgrammaticKernel kernel(score_rows<threads>, "score_rows");
  const auto blocks = static_cast<unsigned>((args.nrows + threads - 1) / threads);
  kernel.launch(backend.device, blocks, threads, 0, args);
}

}  // namespace bitgraph
