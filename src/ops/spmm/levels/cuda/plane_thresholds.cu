// SPDX-License-Identifier: Apache-2.0
// What sums of levels by planes of bits (planes.cu) need ahead of them: the least sum of each column that reaches each
// level, for each length of rows; planes of X, where its levels are in nibbles; and planes of W for a product behind
// the sums. Levels in planes (LevelPacking) are added up as they are: nothing is made of such an X but thresholds.
#include "core/cuda/launch.cuh"
#include "ops/spmm/levels/cuda/planes.cuh"

#include <algorithm>

namespace bitgraph {

namespace level_cuda {

namespace {

/// Thresholds of rows of one length in 32 columns, by a warp.
template <Ends ends>
struct FindThresholds {
  const LevelSpmmArgs& args;
  const LevelRule rule;
  const RowEnd<ends> end;
  const std::uint32_t neighbors;
  const std::size_t column;
  const SumPlace at;

  __device__ FindThresholds(const LevelSpmmArgs& of, const TakenRow& row, std::size_t its_column)
      : args(of),
        rule(of.epilogue, of.out.levels.bits),
        end(of, row),
        neighbors(row.n),
        column(its_column),
        at(of, of.x.ncols, its_column) {}

  /// Whether larger sums have lower levels.
  [[nodiscard]] __device__ bool falls() const { return at.by_step * end.row_scale < 0 || end.late.factor < 0; }

  /// The least sum that has level `level` or a higher one; behind the greatest sum, where none has.
  [[nodiscard]] __device__ std::uint32_t least_sum(int level) const {
    const auto reaches = [&](std::uint32_t sum) {
      return level_of_sum<ends>(args, rule, end, at, column, sum) >= level;
    };
    const std::uint32_t end_of_sums = most_levels * neighbors + 1;
    float place = static_cast<float>(level) - (rule.nearest ? 0.5F : 0.0F);
    if constexpr (ends == Ends::by_rows) place = (place - end.late.shift) / end.late.factor;
    const float near = (place - at.by_offset * end.count - at.shift) / (at.by_step * end.row_scale);
    std::uint32_t sum = !(near > 0)                              ? 0
                        : near < static_cast<float>(end_of_sums) ? static_cast<std::uint32_t>(near)
                                                                 : end_of_sums;
    while (sum < end_of_sums && !reaches(sum)) ++sum;
    while (sum > 0 && reaches(sum - 1)) --sum;
    return sum;
  }
};

/// How many rows have d entries or more, for each length and the next one.
struct Lengths {
  NodeId at_least[lengths + 1];
};

/// Of rows of `length` entries, in columns 32 `word` .. 32 `word` + 31, by a warp.
template <class Packing, Ends ends>
__device__ void find_thresholds(const LevelSpmmArgs& args, const Lengths& rows, const Thresholds& to, unsigned length,
                                unsigned word) {
  const NodeId first = rows.at_least[length + 1];
  if (first == rows.at_least[length]) return;
  const unsigned lane = threadIdx.x % 32;
  const FindThresholds<ends> found(args, TakenRow(args, std::size_t{first}, args.a.nrows),
                                   std::size_t{word} * 32 + Packing::column_of_bit(lane));
  std::uint32_t kept = 0;
#pragma unroll
  for (unsigned k = 0; k < most_levels; ++k) {
    const std::uint32_t threshold = found.least_sum(static_cast<int>(k) + 1);
#pragma unroll
    for (int p = 0; p < short_planes; ++p) {
      const unsigned bits = __ballot_sync(full_warp, (threshold >> p & 1U) != 0);
      if (lane == k * short_planes + static_cast<unsigned>(p)) kept = bits;
    }
  }
  if (lane < plane_threshold_words) to.of(length, word).words[lane] = kept;
  const bool falls = __any_sync(full_warp, found.falls());
  if (lane == 0) to.scales[to.index(length, word)] = scales_of(found.end, !falls);
}

/// Word `word` of both planes of an output's row of W, by a warp, where the lanes that multiply it have it.
__device__ void find_planes_of_w(const SumProductArgs& args, uint4* to, unsigned output, unsigned word) {
  const unsigned lane = threadIdx.x % 32, column = word * 32 + lane;
  const bool exists = output < args.outputs && column < args.x.ncols;
  const unsigned level = exists ? __ldg(args.w_rows + output * args.w_row_bytes + column) : 0;
  const unsigned lower = __ballot_sync(full_warp, (level & 1U) != 0), upper = __ballot_sync(full_warp, level >> 1 != 0);
  auto* const own = reinterpret_cast<std::uint32_t*>(to + output * 4 + word / part_words);
  if (lane == 0) own[word % part_words] = lower, own[part_words + word % part_words] = upper;
}

/// Planes of X, unless it comes in planes, 64 columns of a row a thread; behind these blocks, thresholds, a word of a
/// length a warp, and words of W.
template <class Packing, Ends ends>
__global__ void __launch_bounds__(threads)
    planes_of_levels(const __grid_constant__ SumArgs<ends> args, const __grid_constant__ Lengths rows,
                     const __grid_constant__ Thresholds thresholds, uint4* planes, unsigned plane_blocks) {
  trigger_dependent_launch();
  wait_for_previous_kernel();
  const auto parts = static_cast<unsigned>(args.x.ncols / part_columns);
  if (blockIdx.x >= plane_blocks) {
    const unsigned task = (blockIdx.x - plane_blocks) * warps + threadIdx.x / 32, words = parts * part_words;
    if (task < lengths * words) find_thresholds<Packing, ends>(args, rows, thresholds, task / words, task % words);
    if constexpr (ends == Ends::product) {
      const unsigned of_w = task - lengths * words, row_words = sum_product_columns / 32;
      if (task >= lengths * words && of_w < sum_product_outputs * row_words)
        find_planes_of_w(args, thresholds.w, of_w / row_words, of_w % row_words);
    }
    return;
  }
  const std::size_t item = std::size_t{blockIdx.x} * threads + threadIdx.x;
  if (item >= args.x.nrows * parts) return;
  const auto* const from = reinterpret_cast<const uint4*>(args.x.row(item / parts)) + item % parts * part_words;
  std::uint32_t lower[part_words], upper[part_words];
#pragma unroll
  for (unsigned w = 0; w < part_words; ++w) {
    const uint4 levels = __ldg(from + w);
    const std::uint32_t words[4] = {levels.x, levels.y, levels.z, levels.w};
    lower[w] = plane_of_levels<0>(words);
    upper[w] = plane_of_levels<1>(words);
  }
  planes[item] = {lower[0], lower[1], upper[0], upper[1]};
}

/// Planes of X, where there are none, and thresholds.
template <class Packing, Ends ends>
void prepare(const Device& device, const SumArgs<ends>& args) {
  const PlaneMemory<Packing> memory(args);
  Lengths rows;
  std::ranges::copy(args.rows_of_few, rows.at_least);
  const unsigned plane_blocks = Packing::packed ? 0 : blocks_for(memory.items, threads);
  const unsigned of_w = ends == Ends::product ? unsigned{sum_product_outputs * sum_product_columns / 32} : 0;
  const unsigned words = lengths * memory.thresholds.row_words + of_w;
  static ProgrammaticKernel kernel(planes_of_levels<Packing, ends>, "planes_of_levels");
  kernel.launch(device, dim3(plane_blocks + blocks_for(words, warps)), threads, 0, args, rows, memory.thresholds,
                memory.planes, plane_blocks);
}

}  // namespace

}  // namespace level_cuda

void level_spmm_prepare(const Cuda& backend, const LevelSpmmArgs& args) {
  using namespace level_cuda;
  dispatch_planes(args, [&]<class Packing, Ends ends>() { prepare<Packing, ends>(backend.device, args); });
}

void sum_product_prepare(const Cuda& backend, const SumProductArgs& args) {
  level_cuda::prepare<level_cuda::InPlanes, level_cuda::Ends::product>(backend.device, args);
}

}  // namespace bitgraph
