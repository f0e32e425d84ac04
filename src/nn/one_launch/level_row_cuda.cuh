// SPDX-License-Identifier: Apache-2.0
// What a warp does for one row in the steps of levels. A row's levels are bytes. A group of 2 to 16 lanes has up to 64
// columns of a row, four neighbouring ones a lane; the groups of a warp take different entries. Sums and their ends are
// those of level_gemm and level_spmm, to the last bit.
#pragma once

#include "nn/one_launch/row_cuda.cuh"
#include "ops/cuda_level_epilogue.cuh"

#include <cstddef>
#include <cstdint>

namespace bitgraph::nn::row_cuda {

/// A lane's place in its warp.
struct Group {
  unsigned lanes;   ///< of a group
  unsigned own;     ///< this lane's place in it: columns 4 own to 4 own + 3 of each 64
  unsigned number;  ///< of the group
  unsigned count;   ///< of groups

  __device__ Group(unsigned width, unsigned lane)
      : lanes(level_lanes(width)), own(lane % lanes), number(lane / lanes), count(32 / lanes) {}
};

/// Sums of four columns.
struct FourSums {
  std::uint32_t of[4] = {};

  /// Adds what the other groups have.
  __device__ void add_groups(const Group& group) {
    for (unsigned apart = group.lanes; apart < 32; apart *= 2) {
#pragma unroll
      for (std::uint32_t& sum : of) sum += __shfl_xor_sync(full_warp, sum, apart);
    }
  }
};

/// One of four levels.
__device__ inline std::uint32_t byte_of(std::uint32_t four, unsigned n) { return four >> (8 * n) & 0xFFU; }

/// The sum of a range's rows of levels, as neighbours tell them. Only this group's part.
__device__ inline FourSums add_told_levels(const RowStep& s, const Row& row, const Group& group, unsigned block,
                                           RowRange range) {
  constexpr unsigned under_way = 4, even_bytes = 0x00FF00FF;
  const std::uint64_t* const from = row.exchange + s.gathered + block * group.lanes + group.own;
  const unsigned stride = words_of(s.out_width) * group.lanes;
  FourSums total;
  for (unsigned begin = range.begin; begin < range.end; begin += 32) {
    const unsigned count = min(32U, range.end - begin);
    const NodeId own = row.lane < count ? __ldg(s.col_ind + begin + row.lane) : 0;
    std::uint32_t even = 0, odd = 0;  // at most 32 levels: 16 bits hold them
    for (unsigned first = 0; first < count; first += under_way * group.count) {
      unsigned offset[under_way];
      std::uint64_t told[under_way];
#pragma unroll
      for (unsigned u = 0; u < under_way; ++u)
        offset[u] = __shfl_sync(full_warp, own, (first + u * group.count + group.number) % 32) * stride;
      bool there = false;
      while (!there) {
#pragma unroll
        for (unsigned u = 0; u < under_way; ++u) {
          told[u] = nothing_in(row.run);
          ask_if(first + u * group.count + group.number < count, from + offset[u], told[u]);
        }
        there = true;
#pragma unroll
        for (unsigned u = 0; u < under_way; ++u) there = is_of(told[u], row.run) && there;
      }
      __syncwarp();
#pragma unroll
      for (unsigned u = 0; u < under_way; ++u) {
        const auto four = static_cast<std::uint32_t>(told[u]);
        even += four & even_bytes;
        odd += four >> 8 & even_bytes;
      }
    }
    total.of[0] += even & 0xFFFFU, total.of[1] += odd & 0xFFFFU;
    total.of[2] += even >> 16, total.of[3] += odd >> 16;
  }
  return total;
}

/// Products of the row's entries, each level less `zero`. Only this group's part; `above`, this lane's part of the sum
/// of what is multiplied.
__device__ inline FourSums multiply_entries(const RowStep& s, const Row& row, const Group& group, unsigned block,
                                            int zero, std::uint32_t& above) {
  constexpr unsigned under_way = 8;
  const LevelStep& l = s.level;
  const RowRange range = row.ranges[s.pattern];
  // A lane behind the last output multiplies the first ones, for nothing.
  const unsigned first_output = block * 64 + 4 * group.own;
  const std::uint8_t* const w = l.weight + (first_output < l.pitch ? first_output : 0);
  FourSums total;
  above = 0;
  for (unsigned begin = range.begin; begin < range.end; begin += 32) {
    const unsigned count = min(32U, range.end - begin);
    const bool wanted = row.lane < count;
    const NodeId column = wanted ? __ldg(s.col_ind + begin + row.lane) : 0;
    const int level = wanted ? static_cast<int>(__ldg(l.entries + begin + row.lane)) - zero : 0;
    above += static_cast<std::uint32_t>(level);
    for (unsigned first = 0; first < count; first += under_way * group.count) {
      std::uint32_t four[under_way], times[under_way];
#pragma unroll
      for (unsigned u = 0; u < under_way; ++u) {
        const unsigned n = first + u * group.count + group.number;  // those behind the last multiply by 0
        const NodeId at = __shfl_sync(full_warp, column, n % 32);
        times[u] = static_cast<std::uint32_t>(__shfl_sync(full_warp, level, n % 32));
        if (n >= 32) times[u] = 0;
        four[u] = __ldg(reinterpret_cast<const std::uint32_t*>(w + std::size_t{at} * l.pitch));
      }
#pragma unroll
      for (unsigned u = 0; u < under_way; ++u) {
#pragma unroll
        for (unsigned k = 0; k < 4; ++k) total.of[k] += times[u] * byte_of(four[u], k);
      }
    }
  }
  return total;
}

/// Eight levels that the row keeps.
__device__ inline uint2 kept_levels(const RowStep& s, const Row& row, unsigned eight) {
  const std::uint64_t word = row.kept[s.in + eight];
  return {static_cast<unsigned>(word), static_cast<unsigned>(word >> 32)};
}

/// Products of the levels that the row keeps; all groups have them.
__device__ inline FourSums multiply_kept(const RowStep& s, const Row& row, const Group& group, unsigned block) {
  const LevelStep& l = s.level;
  const unsigned words = (s.in_width + 7) / 8, first = block * 64;
  const auto sum_of = [&](unsigned output, unsigned begin, unsigned step) {
    const std::uint8_t* const w = l.weight + std::size_t{min(first + output, s.out_width - 1)} * l.pitch;
    std::uint32_t sum = 0;
#pragma unroll 4
    for (unsigned k = begin; k < words; k += step) {
      const uint2 x = kept_levels(s, row, k), y = __ldg(reinterpret_cast<const uint2*>(w) + k);
      sum = __dp4a(x.y, y.y, __dp4a(x.x, y.x, sum));
    }
    return sum;
  };
  FourSums total;
  if (group.lanes == level_lanes(1)) {  // four lanes share each of eight outputs
    std::uint32_t sum = sum_of(row.lane / 4, row.lane % 4, 4);
    sum += __shfl_xor_sync(full_warp, sum, 1);
    sum += __shfl_xor_sync(full_warp, sum, 2);
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) total.of[k] = __shfl_sync(full_warp, sum, (4 * group.own + k) * 4 % 32);
    return total;
  }
  const std::uint32_t even = sum_of(2 * row.lane, 0, 1), odd = sum_of(2 * row.lane + 1, 0, 1);
#pragma unroll
  for (unsigned k = 0; k < 4; ++k) total.of[k] = __shfl_sync(full_warp, k % 2 == 0 ? even : odd, 2 * group.own + k / 2);
  return total;
}

/// The sum of the levels that the row keeps.
__device__ inline std::uint32_t sum_of_kept(const RowStep& s, const Row& row) {
  constexpr unsigned ones = 0x01010101;
  std::uint32_t sum = 0;
  for (unsigned k = row.lane; k < (s.in_width + 7) / 8; k += 32) {
    const uint2 x = kept_levels(s, row, k);
    sum = __dp4a(x.y, ones, __dp4a(x.x, ones, sum));
  }
  return __reduce_add_sync(full_warp, sum);
}

/// Puts four columns from `column` on where others of the row, or of other rows, look for them: levels, or floats of
/// the result. value[k] and least[k] are those of level_cuda::LevelRule.
__device__ inline void put_four(const RowStep& s, const Row& row, const Group& group, unsigned block,
                                const float (&value)[4], const float (&least)[4]) {
  const LevelEpilogue& epilogue = s.level.epilogue;
  const level_cuda::LevelRule rule(epilogue, s.level.out_bits == 0 ? 1 : s.level.out_bits);
  const unsigned column = block * 64 + 4 * group.own;
  if (s.level.out_bits == 0) {
    const NodeId* const rows = s.level.out_rows;
    const std::size_t out_row = rows == nullptr ? row.place.row : __ldg(rows + row.place.row);
    float* const to = s.floats_out + out_row * s.out_width + column;
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) {
      if (group.number == 0 && column + k < s.out_width) to[k] = rule.value<false>(value[k]);
    }
    return;
  }
  const bool is_late = epilogue.is_late();
  const level_cuda::LateRow<false> late(epilogue, row.place.row);
  std::uint32_t four = 0;
#pragma unroll
  for (unsigned k = 0; k < 4; ++k) {
    const int level = is_late ? late.level(rule, value[k], column + k) : rule.level(value[k], least[k]);
    if (column + k < s.out_width) four |= static_cast<std::uint32_t>(max(level, 0)) << (8 * k);
  }
  if (group.number != 0) return;
  if (s.out != not_kept) reinterpret_cast<std::uint32_t*>(row.kept + s.out)[column / 4] = four;
  if (s.published == not_kept) return;
  const std::size_t at = (std::size_t{row.place.row} * words_of(s.out_width) + block) * group.lanes + group.own;
  tell(row.exchange + s.published + at, four, row.run);
}

/// FourColumns of a step, once for all runs.
__device__ inline void find_columns(const RowStep& s, unsigned first, FourColumns& to) {
  const LevelStep& l = s.level;
  LevelSumEnd end;
  end.x_scale = l.in;
  end.epilogue = l.epilogue;
  for (unsigned k = 0; k < 4; ++k) {
    const unsigned column = first + k;
    level_cuda::ProductPlace at;
    float least = 0;
    std::uint32_t w_sum = 0;
    if (column < s.out_width && s.kind == Kind::level_product) {
      const level_cuda::ColumnPlace its(l.epilogue, column);
      at = level_cuda::ProductPlace(l.weight_scale, l.weight_sums, s.in_width, column, its);
      least = its.least;
      w_sum = static_cast<std::uint32_t>(l.weight_sums[column]);
    } else if (column < s.out_width) {
      const level_cuda::SumPlace its(end, s.out_width, column);
      at.by_step = its.by_step, at.by_offset = its.by_offset, at.shift = its.shift;
      least = its.least;
    }
    to.by_step[k] = at.by_step, to.by_offset[k] = at.by_offset, to.of_w[k] = at.of_w, to.shift[k] = at.shift;
    to.least[k] = least, to.w_sum[k] = w_sum;
  }
}

__device__ inline const FourColumns& columns_of(const RowStep& s, const Row& row, const Group& group, unsigned block) {
  return row.columns[s.columns + block * group.lanes + group.own];
}

__device__ inline void level_product(const RowStep& s, const Row& row) {
  const LevelStep& l = s.level;
  const float factor = s.row_scale == nullptr ? 1.0F : __ldg(s.row_scale + row.place.row);
  const float step = level_cuda::at_or(l.in.steps, l.in.single, row.place.row, 1) * factor;
  const float offset = level_cuda::at_or(l.in.offsets, l.in.single, row.place.row, 0) * factor;
  const bool of_entries = l.entries != nullptr;
  const int zero = of_entries ? level_cuda::zero_level_of(step, offset, l.in_bits) : 0;
  std::uint32_t x_sum = of_entries ? 0 : sum_of_kept(s, row);
  const Group group(s.out_width, row.lane);
  for (unsigned block = 0; block < words_of(s.out_width); ++block) {
    const FourColumns& its = columns_of(s, row, group, block);
    FourSums sums;
    if (of_entries) {
      std::uint32_t above;
      sums = multiply_entries(s, row, group, block, zero, above);
      sums.add_groups(group);
      x_sum = __reduce_add_sync(full_warp, above) + static_cast<std::uint32_t>(zero) * s.in_width;
#pragma unroll
      for (unsigned k = 0; k < 4; ++k) sums.of[k] += static_cast<std::uint32_t>(zero) * its.w_sum[k];
    } else {
      sums = multiply_kept(s, row, group, block);
    }
    const level_cuda::RowOfX x(step, offset, static_cast<float>(static_cast<int>(x_sum)));
    float value[4];
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) {
      level_cuda::ProductPlace at;
      at.by_step = its.by_step[k], at.by_offset = its.by_offset[k], at.of_w = its.of_w[k], at.shift = its.shift[k];
      value[k] = at.place<true, true>(static_cast<float>(static_cast<int>(sums.of[k])), x);
    }
    put_four(s, row, group, block, value, its.least);
  }
}

/// Adds up what a team's warps found. Only the first gets it.
__device__ inline FourSums combined(Row& row, const Group& group, const FourSums& own) {
  FourSums sum;
  const unsigned first = 4 * group.own;
  const auto put = [&](float* to) {
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) {
      if (group.number == 0) to[first + k] = __uint_as_float(own.of[k]);
    }
  };
  combine(row, put, [&](const float* from) {
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) sum.of[k] += __float_as_uint(from[first + k]);
  });
  return sum;
}

__device__ inline void level_sum(const RowStep& s, Row& row) {
  const RowRange range = row.ranges[s.pattern];
  const bool together = is_shared(row, range);
  if (!together && row.place.rank != 0) return;
  const RowRange own = together ? part_of(row.place, range) : range;
  const float row_scale = s.row_scale == nullptr ? 1.0F : __ldg(s.row_scale + row.place.row);
  const float count = row_scale * static_cast<float>(range.end - range.begin);
  const Group group(s.out_width, row.lane);
  for (unsigned block = 0; block < words_of(s.out_width); ++block) {
    FourSums sums = add_told_levels(s, row, group, block, own);
    sums.add_groups(group);
    if (together) sums = combined(row, group, sums);
    if (row.place.rank != 0) continue;
    const FourColumns& its = columns_of(s, row, group, block);
    float value[4];
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) {
      level_cuda::SumPlace at;
      at.by_step = its.by_step[k], at.by_offset = its.by_offset[k], at.shift = its.shift[k];
      value[k] = at.place<true>(static_cast<float>(sums.of[k]), count, row_scale);
    }
    put_four(s, row, group, block, value, its.least);
  }
}

/// False: it is no step of levels.
__device__ inline bool run_level_step(const RowStep& s, Row& row) {
  if (!is_of_levels(s.kind)) return false;
  if (row.place.row == no_row) return true;
  if (s.kind == Kind::level_sum) {
    level_sum(s, row);
  } else if (row.place.rank == 0) {
    level_product(s, row);
  }
  __syncwarp();
  return true;
}

}  // namespace bitgraph::nn::row_cuda
