// SPDX-License-Identifier: Apache-2.0
// What a warp does for one row in each kind of step, and how rows are told to others and asked for.
//
// Columns are taken 64 at a time. Lane l has two of them, column_of(l) and 8 behind it: counters of bits are bytes,
// four to a register, and a pair of them is one lane's.
#pragma once

#include "nn/one_launch/row_program.hpp"

#include <cstddef>
#include <cstdint>

namespace bitgraph::nn::row_cuda {

using Kind = LaunchStep::Kind;

constexpr std::size_t step_words = sizeof(RowStep) / sizeof(std::uint64_t);
constexpr unsigned batch = 64;  ///< entries of bits that a warp has on chip

/// What a block keeps on chip, and behind it in dynamic memory: ranges of its rows, places, and what rows keep.
struct Shared {
  std::uint64_t steps[most_row_steps * step_words];
  float partial[2][most_block_warps][64];                   ///< sums of a team's warps; every other time the other half
  alignas(16) unsigned staged[most_block_warps][2][batch];  ///< halves of words of bits
  unsigned run;

  __device__ const RowStep& step(unsigned n) const { return *reinterpret_cast<const RowStep*>(steps + n * step_words); }
};

/// A row and the lane that is at it.
struct Row {
  Shared& shared;
  std::uint64_t* exchange;
  std::uint64_t* kept;
  const RowRange* ranges;  ///< a pattern each
  const FourColumns* columns;
  Place place;
  unsigned lane;
  unsigned warp;
  unsigned run;
  unsigned half;     ///< of `partial`
  float told_scale;  ///< of the step that it is at, times floats that are told; asked for before they are there
};

struct Columns {
  float low = 0;   ///< column_of(lane)
  float high = 0;  ///< 8 behind it
};

__device__ inline unsigned column_of(unsigned lane) { return (lane & 8U) << 2 | (lane & 16U) | (lane & 7U); }

/// Where a column of a row of floats is among what is kept: `low` of all lanes, then `high`.
__device__ inline unsigned kept_at(unsigned column) {
  const unsigned c = column % 64;
  return column - c + ((c & 8U) << 2 | (c & 16U) | (c & 32U) >> 2 | (c & 7U));
}

__device__ inline void tell(std::uint64_t* at, unsigned low, unsigned high, unsigned run) {
  const std::uint64_t tag = std::uint64_t{run} << 32;
  asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(at), "l"(tag | low), "l"(tag | high) : "memory");
}

__device__ inline void tell(std::uint64_t* at, unsigned value, unsigned run) {
  const std::uint64_t told = std::uint64_t{run} << 32 | value;
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(at), "l"(told) : "memory");
}
__device__ inline void tell(std::uint64_t* at, float value, unsigned run) { tell(at, __float_as_uint(value), run); }

/// Two words as they are now; false where they are not of this run.
__device__ inline bool ask(const std::uint64_t* at, unsigned run, unsigned& low, unsigned& high) {
  std::uint64_t x = 0;
  std::uint64_t y = 0;
  asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(x), "=l"(y) : "l"(at) : "memory");
  low = static_cast<unsigned>(x);
  high = static_cast<unsigned>(y);
  return static_cast<unsigned>(x >> 32) == run && static_cast<unsigned>(y >> 32) == run;
}

/// A word as it is now, where it is wanted. No branch: of several that are asked for one after another all are under
/// way until the first is looked at.
__device__ inline void ask_if(bool wanted, const std::uint64_t* at, std::uint64_t& word) {
  asm volatile("{.reg .pred p; setp.ne.u32 p, %2, 0; @p ld.relaxed.gpu.global.u64 %0, [%1];}"
               : "+l"(word)
               : "l"(at), "r"(wanted ? 1U : 0U)
               : "memory");
}

__device__ inline void ask_if(bool wanted, const std::uint64_t* at, std::uint64_t& low, std::uint64_t& high) {
  asm volatile("{.reg .pred p; setp.ne.u32 p, %3, 0; @p ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];}"
               : "+l"(low), "+l"(high)
               : "l"(at), "r"(wanted ? 1U : 0U)
               : "memory");
}

/// What stands where nothing is asked for: 0, told in this run.
__device__ inline std::uint64_t nothing_in(unsigned run) { return std::uint64_t{run} << 32; }

__device__ inline bool is_of(std::uint64_t word, unsigned run) { return static_cast<unsigned>(word >> 32) == run; }

__device__ inline unsigned words_of(unsigned width) { return (width + 63) / 64; }

__device__ inline float* kept_floats(const Row& row, unsigned at) { return reinterpret_cast<float*>(row.kept + at); }

/// Puts 64 columns of bits where others of the row, or of other rows, look for them.
__device__ inline void put_word(const RowStep& s, const Row& row, unsigned block, unsigned low, unsigned high) {
  if (s.out != not_kept) row.kept[s.out + block] = std::uint64_t{high} << 32 | low;
  if (s.published != not_kept) {
    const std::size_t at = std::size_t{row.place.row} * words_of(s.out_width) + block;
    tell(row.exchange + s.published + 2 * at, low, high, row.run);
  }
}

__device__ inline void put(const RowStep& s, const Row& row, unsigned first, Columns y) {
  const unsigned c = first + column_of(row.lane);
  if (s.makes_bits) {
    const unsigned even = __ballot_sync(full_warp, c < s.out_width && y.low >= 0);
    const unsigned odd = __ballot_sync(full_warp, c + 8 < s.out_width && y.high >= 0);
    if (row.lane == 0) put_word(s, row, first / 64, __byte_perm(even, odd, 0x6240), __byte_perm(even, odd, 0x7351));
    return;
  }
  if (s.out != not_kept) {
    float* const kept = kept_floats(row, s.out) + first + row.lane;
    kept[0] = y.low;
    kept[32] = y.high;
  }
  if (s.floats_out != nullptr) {
    float* const to = s.floats_out + std::size_t{row.place.row} * s.out_width;
    if (c < s.out_width) to[c] = y.low;
    if (c + 8 < s.out_width) to[c + 8] = y.high;
  }
  if (s.published == not_kept) return;
  const float scale = row.told_scale;
  std::uint64_t* const to = row.exchange + s.published;
  if (s.out_width <= narrow_columns) {
    if (c < s.out_width) tell(to + std::size_t{row.place.row} * narrow_columns + c, scale * y.low, row.run);
  } else {
    const std::size_t at = (std::size_t{row.place.row} * words_of(s.out_width) + first / 64) * 64;
    tell(to + at + 2 * row.lane, __float_as_uint(scale * y.low), __float_as_uint(scale * y.high), row.run);
  }
}

/// What a row's value becomes in one column: row_scale (col_scale v + col_offset) + bias, each product and sum rounded,
/// as the operators do it.
struct Column {
  float scale = 1;
  float offset = 0;
  float bias = 0;

  __device__ Column(const RowStep& s, unsigned f) {
    if (f >= s.out_width) return;
    if (s.col_scale != nullptr) scale = __ldg(s.col_scale + f);
    if (s.col_offset != nullptr) offset = __ldg(s.col_offset + f);
    if (s.bias != nullptr) bias = __ldg(s.bias + f);
  }
  __device__ float operator()(float row_scale, float v) const { return row_scale * (scale * v + offset) + bias; }
};

__device__ inline float row_scale_of(const RowStep& s, const Row& row) {
  if (s.scale != not_kept) return *kept_floats(row, s.scale);
  return s.row_scale == nullptr ? 1.0F : __ldg(s.row_scale + row.place.row);
}

__device__ inline void product(const RowStep& s, const Row& row) {
  const unsigned words = words_of(s.in_width);
  const std::uint64_t* const memory = s.bits_in == nullptr ? nullptr : s.bits_in + std::size_t{row.place.row} * words;
  const float row_scale = row_scale_of(s, row);
  const auto d = static_cast<int>(s.in_width);
  for (unsigned first = 0; first < s.out_width; first += 64) {
    const unsigned c = first + column_of(row.lane);
    const Column low(s, c);
    const Column high(s, c + 8);
    const std::uint64_t* const low_row = s.weight + std::size_t{min(c, s.out_width - 1)} * words;
    const std::uint64_t* const high_row = s.weight + std::size_t{min(c + 8, s.out_width - 1)} * words;
    int low_off = 0;
    int high_off = 0;
    for (unsigned k = 0; k < words; ++k) {
      const std::uint64_t word = memory != nullptr ? __ldg(memory + k) : row.kept[s.in + k];
      low_off += __popcll(word ^ __ldg(low_row + k));
      if (s.out_width > narrow_columns) high_off += __popcll(word ^ __ldg(high_row + k));
    }
    put(s, row, first,
        {low(row_scale, static_cast<float>(d - 2 * low_off)), high(row_scale, static_cast<float>(d - 2 * high_off))});
  }
}

/// Two words of bits that a lane has of a row's entries, 0 for those that are not wanted.
struct TwoWords {
  uint2 of[2];
};

/// 64 columns of what two entries stand for: rows of the weights, or what others tell.
__device__ inline TwoWords weights_of(const RowStep& s, unsigned block, const NodeId (&column)[2],
                                      const bool (&wanted)[2]) {
  const unsigned words = words_of(s.out_width);
  const std::uint64_t* const from = s.weight + block;
  const std::uint64_t first = __ldg(from + std::size_t{column[0]} * words);
  const std::uint64_t second = __ldg(from + std::size_t{column[1]} * words);
  const auto halves = [](std::uint64_t word) {
    return uint2{static_cast<unsigned>(word), static_cast<unsigned>(word >> 32)};
  };
  return {{halves(wanted[0] ? first : 0), halves(wanted[1] ? second : 0)}};
}

__device__ inline TwoWords told_of(const RowStep& s, const Row& row, unsigned block, const NodeId (&column)[2],
                                   const bool (&wanted)[2]) {
  const unsigned words = words_of(s.out_width);
  const std::uint64_t* const from = row.exchange + s.gathered + 2 * block;
  const std::uint64_t* const first = from + std::size_t{column[0]} * words * 2;
  const std::uint64_t* const second = from + std::size_t{column[1]} * words * 2;
  std::uint64_t low[2];
  std::uint64_t high[2];
  do {
    low[0] = high[0] = low[1] = high[1] = nothing_in(row.run);
    ask_if(wanted[0], first, low[0], high[0]);
    ask_if(wanted[1], second, low[1], high[1]);
  } while (!is_of(low[0], row.run) || !is_of(high[0], row.run) || !is_of(low[1], row.run) || !is_of(high[1], row.run));
  return {{{static_cast<unsigned>(low[0]), static_cast<unsigned>(high[0])},
           {static_cast<unsigned>(low[1]), static_cast<unsigned>(high[1])}}};
}

/// How many of a range's rows have each column set. Entries are taken in two halves of the warp, eight lanes to 32
/// columns.
__device__ inline Columns count_bits(const RowStep& s, const Row& row, unsigned block, RowRange range) {
  constexpr unsigned each_byte = 0x01010101;
  unsigned(*const staged)[batch] = row.shared.staged[row.warp];
  const unsigned* const from = staged[row.lane / 8 % 2] + 4 * (row.lane / 16);
  const unsigned shift = row.lane % 8;
  unsigned low = 0;
  unsigned high = 0;
  for (unsigned begin = range.begin; begin < range.end; begin += batch) {
    const unsigned count = min(batch, range.end - begin);
    const bool wanted[2] = {row.lane < count, row.lane + 32 < count};
    const NodeId* const columns = s.col_ind + begin;
    const NodeId first = __ldg(columns + min(row.lane, count - 1));
    const NodeId column[2] = {first, count > 32 ? __ldg(columns + min(row.lane + 32, count - 1)) : first};
    const TwoWords word =
        s.kind == Kind::sparse_product ? weights_of(s, block, column, wanted) : told_of(s, row, block, column, wanted);
    __syncwarp();
    staged[0][row.lane] = word.of[0].x;
    staged[1][row.lane] = word.of[0].y;
    if (count > 32) {
      staged[0][row.lane + 32] = word.of[1].x;
      staged[1][row.lane + 32] = word.of[1].y;
    }
    __syncwarp();
    unsigned sums = 0;
    for (unsigned n = 0; n < count; n += 8) {
      const uint4 w = *reinterpret_cast<const uint4*>(from + n);
      sums += (w.x >> shift & each_byte) + (w.y >> shift & each_byte);
      sums += (w.z >> shift & each_byte) + (w.w >> shift & each_byte);
    }
    sums += __shfl_xor_sync(full_warp, sums, 16);
    sums >>= row.lane & 16U;
    low += sums & 255U;
    high += sums >> 8 & 255U;
  }
  return {static_cast<float>(low), static_cast<float>(high)};
}

/// The sum of a range's rows of floats: all lanes at one neighbour, several neighbours under way.
__device__ inline Columns add_wide(const RowStep& s, const Row& row, unsigned block, RowRange range) {
  constexpr unsigned under_way = 4;
  const std::uint64_t* const from = row.exchange + s.gathered + block * 64 + 2 * row.lane;
  const unsigned stride = words_of(s.out_width) * 64;
  Columns total;
  for (unsigned begin = range.begin; begin < range.end; begin += 32) {
    const unsigned count = min(32U, range.end - begin);
    const NodeId own = row.lane < count ? __ldg(s.col_ind + begin + row.lane) : 0;
    for (unsigned n = 0; n < count; n += under_way) {
      unsigned offset[under_way];
      unsigned low[under_way];
      unsigned high[under_way];
#pragma unroll
      for (unsigned u = 0; u < under_way; ++u) offset[u] = __shfl_sync(full_warp, own, (n + u) % 32) * stride;
      bool there = false;
      while (!there) {
        there = true;
#pragma unroll
        for (unsigned u = 0; u < under_way; ++u) {
          low[u] = high[u] = 0;
          if (n + u < count) there = ask(from + offset[u], row.run, low[u], high[u]) && there;
        }
      }
      __syncwarp();
#pragma unroll
      for (unsigned u = 0; u < under_way; ++u) {
        total.low += __uint_as_float(low[u]);
        total.high += __uint_as_float(high[u]);
      }
    }
  }
  return total;
}

/// The same of rows of at most 8 floats: eight lanes at a neighbour, four neighbours side by side.
__device__ inline Columns add_narrow(const RowStep& s, const Row& row, RowRange range) {
  constexpr unsigned under_way = 8;
  const unsigned column = row.lane % 8;
  const std::uint64_t* const from = row.exchange + s.gathered + column;
  float total = 0;
  for (unsigned begin = range.begin; begin < range.end; begin += 32) {
    const unsigned count = min(32U, range.end - begin);
    const unsigned mine = column < s.out_width ? count : 0;
    const NodeId own = row.lane < count ? __ldg(s.col_ind + begin + row.lane) : 0;
    NodeId neighbor[under_way];
    std::uint64_t told[under_way];
#pragma unroll
    for (unsigned u = 0; u < under_way; ++u) neighbor[u] = __shfl_sync(full_warp, own, 4 * u + row.lane / 8);
    bool there = false;
    while (!there) {
#pragma unroll
      for (unsigned u = 0; u < under_way; ++u) {
        told[u] = nothing_in(row.run);
        ask_if(4 * u + row.lane / 8 < mine, from + std::size_t{neighbor[u]} * narrow_columns, told[u]);
      }
      there = true;
#pragma unroll
      for (unsigned u = 0; u < under_way; ++u) there = is_of(told[u], row.run) && there;
    }
    __syncwarp();
#pragma unroll
    for (unsigned u = 0; u < under_way; ++u) total += __uint_as_float(static_cast<unsigned>(told[u]));
  }
  total += __shfl_xor_sync(full_warp, total, 8);
  total += __shfl_xor_sync(full_warp, total, 16);
  return {total, 0};
}

/// What 64 columns get from a range of entries.
__device__ inline Columns gather(const RowStep& s, const Row& row, unsigned block, RowRange range) {
  if (s.kind != Kind::sum) return count_bits(s, row, block, range);
  return s.out_width <= narrow_columns ? add_narrow(s, row, range) : add_wide(s, row, block, range);
}

/// The part of a row's entries that one warp of a team has.
__device__ inline RowRange part_of(Place place, RowRange all) {
  const unsigned part = ((all.end - all.begin + place.size - 1) / place.size + 7) / 8 * 8;
  const unsigned begin = min(all.begin + place.rank * part, all.end);
  return {begin, min(begin + part, all.end)};
}

/// Whether a team's warps share the entries of its row.
__device__ inline bool is_shared(const Row& row, RowRange range) {
  return row.place.size > 1 && range.end - range.begin > 32;
}

/// For a team: put(own) leaves what this warp found, 64 sums; then add(theirs) takes that of each warp, in the order of
/// their parts, in the first warp alone.
template <class Put, class Add>
__device__ void combine(Row& row, const Put& put, const Add& add) {
  auto& partial = row.shared.partial[row.half];
  put(partial[row.warp]);
  row.half ^= 1U;
  asm volatile("bar.sync %0, %1;" ::"r"(unsigned{row.place.barrier}), "r"(32U * row.place.size) : "memory");
  if (row.place.rank != 0) return;
  for (unsigned w = row.warp; w < row.warp + row.place.size; ++w) add(partial[w]);
}

/// Adds up what a team's warps found. Only the first gets it.
__device__ inline Columns combined(Row& row, Columns own) {
  Columns sum;
  combine(
      row, [&](float* to) { to[row.lane] = own.low, to[row.lane + 32] = own.high; },
      [&](const float* from) { sum.low += from[row.lane], sum.high += from[row.lane + 32]; });
  return sum;
}

__device__ inline void aggregate(const RowStep& s, Row& row) {
  const RowRange range = row.ranges[s.pattern];
  const bool together = is_shared(row, range);
  if (!together && row.place.rank != 0) return;
  const RowRange own = together ? part_of(row.place, range) : range;
  const float row_scale = row_scale_of(s, row);
  const auto entries = static_cast<float>(range.end - range.begin);
  for (unsigned first = 0; first < s.out_width; first += 64) {
    const unsigned c = first + column_of(row.lane);
    const Column low(s, c);
    const Column high(s, c + 8);
    Columns v = gather(s, row, first / 64, own);
    if (together) v = combined(row, v);
    if (row.place.rank != 0) continue;
    if (s.kind != Kind::sum) v = {2 * v.low - entries, 2 * v.high - entries};
    if (s.kind != Kind::vote) v = {low(row_scale, v.low), high(row_scale, v.high)};
    put(s, row, first, v);
  }
}

__device__ inline void binarize(const RowStep& s, const Row& row) {
  float magnitude = 0;
  for (unsigned first = 0; first < s.out_width; first += 64) {
    const unsigned c = first + column_of(row.lane);
    const float* const x = kept_floats(row, s.in) + first + row.lane;
    const Columns v{x[0], x[32]};
    magnitude += (c < s.out_width ? fabsf(v.low) : 0.0F) + (c + 8 < s.out_width ? fabsf(v.high) : 0.0F);
    put(s, row, first, v);
  }
#pragma unroll
  for (unsigned distance = 16; distance > 0; distance /= 2)
    magnitude += __shfl_xor_sync(full_warp, magnitude, distance);
  if (row.lane == 0) *kept_floats(row, s.scale) = magnitude / static_cast<float>(s.out_width);
}

__device__ inline void either(const RowStep& s, const Row& row) {
  for (unsigned k = row.lane; k < words_of(s.out_width); k += 32) {
    const std::uint64_t word = row.kept[s.out + k] | row.kept[s.in + k];
    put_word(s, row, k, static_cast<unsigned>(word), static_cast<unsigned>(word >> 32));
  }
}

__device__ inline void add(const RowStep& s, const Row& row) {
  for (unsigned first = 0; first < s.out_width; first += 64) {
    const float* const x = kept_floats(row, s.out) + first + row.lane;
    const float* const y = kept_floats(row, s.in) + first + row.lane;
    put(s, row, first, {x[0] + y[0], x[32] + y[32]});
  }
}

__device__ inline void place(const RowStep& s, const Row& row) {
  if (!s.makes_bits) {
    float* const to = kept_floats(row, s.out);
    const float* const from = kept_floats(row, s.in);
    for (unsigned c = row.lane; c < s.in_width; c += 32) to[kept_at(s.first_column + c)] = from[kept_at(c)];
    return;
  }
  const unsigned words = words_of(s.in_width);
  const unsigned skipped = s.first_column / 64;
  const unsigned shift = s.first_column % 64;
  for (unsigned k = row.lane; k < words_of(s.out_width); k += 32) {
    std::uint64_t word = s.first_column == 0 ? 0 : row.kept[s.out + k];
    if (k >= skipped && k - skipped < words) word |= row.kept[s.in + k - skipped] << shift;
    if (shift != 0 && k > skipped && k - skipped - 1 < words) word |= row.kept[s.in + k - skipped - 1] >> (64 - shift);
    row.kept[s.out + k] = word;
  }
}

__device__ inline void run_step(const RowStep& s, Row& row) {
  if (row.place.row == no_row) return;
  row.told_scale = s.published_scale == nullptr ? 1.0F : __ldg(s.published_scale + row.place.row);
  const bool aggregates = s.kind == Kind::vote || s.kind == Kind::sum || s.kind == Kind::sparse_product;
  if (aggregates) {
    aggregate(s, row);
  } else if (row.place.rank == 0) {
    switch (s.kind) {
      case Kind::product: product(s, row); break;
      case Kind::binarize: binarize(s, row); break;
      case Kind::either: either(s, row); break;
      case Kind::add: add(s, row); break;
      default: place(s, row); break;
    }
  }
  __syncwarp();
}

}  // namespace bitgraph::nn::row_cuda
