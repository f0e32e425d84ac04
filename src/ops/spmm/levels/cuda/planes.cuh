// SPDX-License-Identifier: Apache-2.0
// Levels of up to two bits as planes of bits, and sums of them as a lane has them: bit-sliced, 64 columns side by side.
// A full adder takes two instructions for 32 columns. Sums become levels where they are: a level is how many of three
// thresholds its sum reaches, and comparisons are bit-sliced, too.
#pragma once

#include "ops/cuda_vote_counters.cuh"
#include "ops/spmm/levels/cuda/gather.cuh"
#include "ops/spmm/levels/cuda/store.cuh"
#include "ops/spmm/levels/cuda/sums.cuh"
#include "ops/spmm/levels/planes.hpp"

#include <cstddef>
#include <cstdint>

namespace bitgraph::level_cuda {

constexpr unsigned part_columns = plane_part_columns;  ///< two words of the lower bits, two of the upper ones
constexpr unsigned part_words = 2;                     ///< of a plane
constexpr unsigned nibbles = 8;                        ///< of a word of levels

/// How the bits of 32 columns lie in a plane, and how levels in and out are packed.
///
/// In nibbles: they become planes first. Bits of eight neighbouring columns lie four apart, so that they are nibbles.
struct FromNibbles {
  static constexpr bool packed = false;
  [[nodiscard]] static __device__ constexpr unsigned column_of_bit(unsigned bit) { return bit % 4 * nibbles + bit / 4; }
  [[nodiscard]] static __device__ constexpr unsigned bit_of_column(unsigned column) {
    return column % nibbles * 4 + column / nibbles;
  }
};
/// In planes: LevelPacking::planes.
struct InPlanes {
  static constexpr bool packed = true;
  [[nodiscard]] static __device__ constexpr unsigned column_of_bit(unsigned bit) { return bit; }
  [[nodiscard]] static __device__ constexpr unsigned bit_of_column(unsigned column) { return column; }
};

/// A plane of 32 columns, whose levels are four words of nibbles.
template <unsigned Bit>
[[nodiscard]] __device__ std::uint32_t plane_of_levels(const std::uint32_t (&levels)[4]) {
  std::uint32_t plane = 0;
#pragma unroll
  for (unsigned j = 0; j < 4; ++j) plane |= (levels[j] >> Bit & 0x11111111U) << j;
  return plane;
}

/// Word `j` of the levels of 32 columns.
[[nodiscard]] __device__ inline std::uint32_t levels_of_planes(std::uint32_t lower, std::uint32_t upper, unsigned j) {
  return (lower >> j & 0x11111111U) | (upper >> j & 0x11111111U) << 1;
}

constexpr unsigned most_levels = 3;  ///< of two bits, but for 0
constexpr int short_planes = 8;      ///< of sums of short rows
static_assert(most_levels * short_planes == plane_threshold_words);

/// All that the level of a sum depends on, but for its column and the number of neighbours.
struct alignas(16) RowScales {
  float row_scale, late_factor, late_shift;
  std::uint32_t rises;  ///< 1: larger sums have higher levels

  [[nodiscard]] __device__ bool same_as(const RowScales& its) const {
    const auto same = [](float a, float b) { return __float_as_uint(a) == __float_as_uint(b); };
    return same(row_scale, its.row_scale) && same(late_factor, its.late_factor) && same(late_shift, its.late_shift) &&
           rises == its.rises;
  }
};

/// Bit-sliced thresholds of 32 columns: plane p of the least sum that has level k + 1 is word k * short_planes + p.
struct WordThresholds {
  std::uint32_t* words;

  __device__ void load(std::uint32_t (&plane)[short_planes], unsigned k) const {
#pragma unroll
    for (unsigned n = 0; n < short_planes; n += 4) {
      const uint4 four = __ldg(reinterpret_cast<const uint4*>(words + k * short_planes + n));
      plane[n] = four.x, plane[n + 1] = four.y, plane[n + 2] = four.z, plane[n + 3] = four.w;
    }
  }
};

/// Thresholds of rows of each length below plane_lengths that have these scales.
struct Thresholds {
  std::uint32_t* words;
  RowScales* scales;
  unsigned row_words;  ///< of 32 columns
  uint4* w = nullptr;  ///< of a product behind the sums: planes of W, as lanes have them

  [[nodiscard]] __device__ std::size_t index(unsigned length, unsigned word) const {
    return std::size_t{length} * row_words + word;
  }
  [[nodiscard]] __device__ WordThresholds of(unsigned length, unsigned word) const {
    return {words + index(length, word) * plane_threshold_words};
  }
};

/// The sums of 32 columns: below 2^Planes.
template <int Planes>
struct SlicedSums : spmm_cuda::BitCounter<Planes> {
  /// Levels of four or eight neighbours.
  template <unsigned Count>
  __device__ void add(const std::uint32_t (&lower)[Count], const std::uint32_t (&upper)[Count]) {
    constexpr int behind = Count == 8 ? 3 : 2;  // the plane that takes what the lower bits carry
    const std::uint32_t of_lower = this->template add_low<0>(lower), of_upper = this->template add_low<1>(upper);
    const std::uint32_t more = this->template add_carry<behind, behind + 1>(of_lower);
    const std::uint32_t carry = spmm_cuda::add_bits(this->plane[behind + 1], of_upper, more);
    static_cast<void>(this->template add_carry<behind + 2, Planes>(carry));
  }

  /// Bit `bit` of all planes: a sum.
  [[nodiscard]] __device__ std::uint32_t sum_at(unsigned bit) const {
    std::uint32_t sum = 0;
#pragma unroll
    for (int p = 0; p < Planes; ++p) sum |= (this->plane[p] >> bit & 1U) << p;
    return sum;
  }
};

/// The sums of a lane's part of a row, as add_neighbors() fills them.
template <int Planes>
struct LanePlanes {
  static constexpr unsigned words = 4;  ///< of a part
  static constexpr std::uint32_t most_neighbors = ((1U << Planes) - 1) / 3 / 8 * 8;

  SlicedSums<Planes> of[part_words];

  /// `half`: only the first four are there.
  __device__ void add(const Part<words> (&parts)[8], bool, bool half) {
    half ? add_first<4>(parts) : add_first<8>(parts);
  }
  __device__ void separate() {}

 private:
  template <unsigned Count>
  __device__ void add_first(const Part<words> (&parts)[8]) {
    std::uint32_t lower[Count], upper[Count];
#pragma unroll
    for (unsigned w = 0; w < part_words; ++w) {
#pragma unroll
      for (unsigned k = 0; k < Count; ++k) {
        lower[k] = word_of(parts[k], w);
        upper[k] = word_of(parts[k], part_words + w);
      }
      of[w].add(lower, upper);
    }
  }
};

/// Adds up the sums of 32 columns that lanes `Step`, 2 `Step`, ... apart have, plane by plane.
template <unsigned Step, int Planes>
[[nodiscard]] __device__ auto join_planes(const SlicedSums<Planes>& sums) {
  if constexpr (Step >= 32) {
    return sums;
  } else {
    SlicedSums<Planes + 1> joined;
#pragma unroll
    for (int p = 0; p < Planes; ++p) joined.plane[p] = sums.plane[p];
    joined.plane[Planes] =
        joined.add_counter(Planes, [&](int p) { return __shfl_xor_sync(full_warp, sums.plane[p], Step); });
    return join_planes<2 * Step>(joined);
  }
}

/// Sums of a row whose parts `Lanes` lanes have, of all lanes of a warp: each lane ends with one word of the row's,
/// word_of_lane<Lanes>() of its part.
template <unsigned Lanes>
[[nodiscard]] __device__ inline unsigned word_of_lane() {
  return threadIdx.x / Lanes % part_words;
}
template <unsigned Lanes, int Planes>
[[nodiscard]] __device__ auto join_rows(const LanePlanes<Planes>& sums) {
  const bool second = word_of_lane<Lanes>() != 0;
  SlicedSums<Planes + 1> joined;
#pragma unroll
  for (int p = 0; p < Planes; ++p) joined.plane[p] = second ? sums.of[1].plane[p] : sums.of[0].plane[p];
  joined.plane[Planes] = joined.add_counter(Planes, [&](int p) {
    return __shfl_xor_sync(full_warp, second ? sums.of[0].plane[p] : sums.of[1].plane[p], Lanes);
  });
  return join_planes<2 * Lanes>(joined);
}

namespace {

constexpr unsigned threads = tuning.block_threads, warps = threads / 32;
constexpr unsigned lengths = plane_lengths;
static_assert(most_levels * lengths < 1U << short_planes, "a sum, and one more, fit");

/// The level of a sum of a column.
template <Ends ends>
[[nodiscard]] __device__ int level_of_sum(const LevelSpmmArgs& args, const LevelRule& rule, const RowEnd<ends>& end,
                                          const SumPlace& at, std::size_t column, std::uint32_t sum) {
  const float place = at.template place<true>(static_cast<float>(sum), end.count, end.row_scale);
  if constexpr (ends == Ends::by_rows) return LateRow<false>(args.epilogue, end.late).level(rule, place, column);
  return rule.level(place, at.least);
}

template <Ends ends>
[[nodiscard]] __device__ RowScales scales_of(const RowEnd<ends>& end, bool rises = true) {
  return {end.row_scale, end.late.factor, end.late.shift, rises ? 1U : 0U};
}

/// The memory of a call, by what lies there: planes that are made of X, then thresholds.
template <class Packing>
struct PlaneMemory {
  unsigned parts;
  std::size_t items;  ///< planes that are made
  uint4* planes;
  Thresholds thresholds;

  explicit PlaneMemory(const LevelSpmmArgs& args)
      : parts(static_cast<unsigned>(args.x.ncols / part_columns)),
        items(Packing::packed ? 0 : args.x.nrows * parts),
        planes(reinterpret_cast<uint4*>(args.planes.data())) {
    thresholds.row_words = parts * part_words;
    thresholds.scales = reinterpret_cast<RowScales*>(planes + items);
    thresholds.words = reinterpret_cast<std::uint32_t*>(thresholds.scales + lengths * thresholds.row_words);
    thresholds.w = reinterpret_cast<uint4*>(thresholds.words +
                                            std::size_t{lengths} * thresholds.row_words * plane_threshold_words);
  }
};

/// Calls fn.operator()<Packing, ends>() as the arguments say.
template <class Fn>
void dispatch_planes(const LevelSpmmArgs& args, const Fn& fn) {
  const auto with_ends = [&]<Ends ends>() {
    args.x.in_planes() ? fn.template operator()<InPlanes, ends>() : fn.template operator()<FromNibbles, ends>();
  };
  args.epilogue.is_late() ? with_ends.template operator()<Ends::by_rows>()
                          : with_ends.template operator()<Ends::plain>();
}

}  // namespace

}  // namespace bitgraph::level_cuda
