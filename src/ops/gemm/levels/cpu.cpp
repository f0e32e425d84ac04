// SPDX-License-Identifier: Apache-2.0
// Products of levels as products of bytes: four columns at a time, 16 outputs a panel of weights. A block of rows of X
// is unpacked to bytes, meets all panels of a slice of outputs, and its sums go through the epilogue while they are in
// the first cache. Where levels have more than 8 bits their two bytes are multiplied one by one.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/gemm/levels/cpu.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/gemm/levels/cpu_rows-inl.hpp"
#include "ops/gemm/levels/levels.hpp"

#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t panel_outputs = LevelWeights::panel_outputs;
constexpr std::size_t group = LevelWeights::group;
constexpr std::size_t tile_rows = 6;               ///< rows whose sums are in registers together
constexpr std::size_t block_rows = 4 * tile_rows;  ///< rows that are multiplied by a panel while it is in the L1 cache
static_assert(slice_outputs % panel_outputs == 0);
constexpr std::size_t chunk_columns = 512;               ///< a multiple of `group`
constexpr std::size_t byte_stride = chunk_columns + 64;  ///< rows of bytes do not meet in the same sets of the L1 cache
constexpr std::size_t line_bytes = 64;                   ///< of the caches

/// Some rows of bytes by some panels.
struct Factors {
  const std::uint8_t* x[block_rows];
  std::size_t groups;
  const std::int8_t* panels;
  std::size_t panel_bytes;
  std::size_t num_panels;
};

/// Memory that is read later, of which each tile of products asks for a part.
struct Ahead {
  const std::uint8_t* from;
  const std::uint8_t* end;
  std::size_t part;

  HWY_INLINE void fetch() {
    const std::uint8_t* const stop = from + HWY_MIN(part, static_cast<std::size_t>(end - from));
    for (; from < stop; from += line_bytes) hwy::Prefetch(from);
    from = stop;
  }
};

/// Where their products go: to[row][output]. start[row] is added to each sum.
struct TileSums {
  std::int32_t* to;
  const std::int32_t* start;
  bool fresh;  ///< `to` holds nothing yet; else sums are added to it
};

#if HWY_TARGET == HWY_SCALAR

constexpr std::size_t lanes = 1, tile_vectors = panel_outputs;

/// Products of `rows` rows from `row` on with panel `tile`.
template <std::size_t rows>
HWY_INLINE void multiply_tile(const Factors& factors, std::size_t row, std::size_t tile, const TileSums& sums) {
  const std::int8_t* const panel = factors.panels + tile * factors.panel_bytes;
  for (std::size_t r = row; r < row + rows; ++r) {
    std::int32_t* const to = sums.to + r * slice_outputs + tile * panel_outputs;
    for (std::size_t f = 0; f < panel_outputs; ++f) to[f] = (sums.fresh ? 0 : to[f]) + sums.start[r];
    for (std::size_t g = 0; g < factors.groups; ++g) {
      for (std::size_t f = 0; f < panel_outputs; ++f) {
        for (std::size_t c = 0; c < group; ++c)
          to[f] += factors.x[r][g * group + c] * panel[(g * panel_outputs + f) * group + c];
      }
    }
  }
}

#else

using Sums = hn::CappedTag<std::int32_t, panel_outputs>;
using Pairs = hn::Repartition<std::int16_t, Sums>;
using Bytes = hn::Repartition<std::int8_t, Sums>;
constexpr std::size_t lanes = HWY_MIN(HWY_LANES(std::int32_t), panel_outputs);
constexpr std::size_t panel_vectors = panel_outputs / lanes;
/// Vectors of outputs whose sums are in registers together. GCC 12 keeps larger arrays of vectors than 6 by 2 on the
/// stack, which costs half the speed.
constexpr std::size_t tile_vectors = 2;

#if HWY_TARGET == HWY_AVX3_DL

/// Sums of products of four bytes without a sign by four with one, 16 outputs side by side.
struct Products {
  hn::Vec<Sums> sum;

  HWY_INLINE void clear() { sum = hn::Zero(Sums()); }
  HWY_INLINE void add(std::uint32_t x, hn::Vec<Bytes> w) {
    // VNNI is a part of this level, but Highway does not let the compiler use it.
    asm("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(_mm512_set1_epi32(static_cast<int>(x))), "v"(w.raw));
  }
  HWY_INLINE hn::Vec<Sums> total() const { return sum; }
};

#else

/// The same, even and odd columns apart, as numbers of 16 bits.
struct Products {
  hn::Vec<Sums> low, high;

  HWY_INLINE void clear() { low = high = hn::Zero(Sums()); }
  HWY_INLINE void add(std::uint32_t x, hn::Vec<Bytes> w) {
    const Pairs d;
    const auto odd = hn::ShiftRight<8>(hn::BitCast(d, w));
    const auto even = hn::ShiftRight<8>(hn::ShiftLeft<8>(hn::BitCast(d, w)));
    const auto bytes = [](std::uint32_t four) {
      return hn::BitCast(Pairs(), hn::Set(Sums(), static_cast<std::int32_t>(four & 0x00FF00FFU)));
    };
    low = hn::ReorderWidenMulAccumulate(Sums(), bytes(x), even, low, high);
    low = hn::ReorderWidenMulAccumulate(Sums(), bytes(x >> 8), odd, low, high);
  }
  HWY_INLINE hn::Vec<Sums> total() const { return hn::RearrangeToOddPlusEven(low, high); }
};

#endif

/// Products of `rows` rows from `row` on with `vectors` vectors of outputs from number `first` on.
template <std::size_t rows, std::size_t vectors>
HWY_INLINE void multiply_vectors(const Factors& factors, std::size_t row, std::size_t first, const TileSums& sums) {
  const Bytes d;
  const std::int8_t* panels[vectors];
  for (std::size_t v = 0; v < vectors; ++v) {
    const std::size_t panel = (first + v) / panel_vectors, place = (first + v) % panel_vectors * lanes;
    panels[v] = factors.panels + panel * factors.panel_bytes + place * group;
  }
  Products products[rows][vectors];
  for (auto& of_row : products) {
    for (Products& each : of_row) each.clear();
  }
  for (std::size_t g = 0; g < factors.groups; ++g) {
    hn::Vec<Bytes> w[vectors];
    for (std::size_t v = 0; v < vectors; ++v) w[v] = hn::LoadU(d, panels[v] + g * panel_outputs * group);
    for (std::size_t r = 0; r < rows; ++r) {
      std::uint32_t four = 0;
      std::memcpy(&four, factors.x[row + r] + g * group, sizeof(four));
      for (std::size_t v = 0; v < vectors; ++v) products[r][v].add(four, w[v]);
    }
  }
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t v = 0; v < vectors; ++v) {
      std::int32_t* const to = sums.to + (row + r) * slice_outputs + (first + v) * lanes;
      const auto sum = hn::Add(products[r][v].total(), hn::Set(Sums(), sums.start[row + r]));
      hn::StoreU(sums.fresh ? sum : hn::Add(sum, hn::LoadU(Sums(), to)), Sums(), to);
    }
  }
}

/// The same of tile number `tile`: of one vector where there are no more.
template <std::size_t rows>
HWY_INLINE void multiply_tile(const Factors& factors, std::size_t row, std::size_t tile, const TileSums& sums) {
  const std::size_t first = tile * tile_vectors;
  if (panel_vectors % tile_vectors == 0 || first + tile_vectors <= factors.num_panels * panel_vectors) {
    multiply_vectors<rows, tile_vectors>(factors, row, first, sums);
  } else {
    multiply_vectors<rows, 1>(factors, row, first, sums);
  }
}

#endif

HWY_INLINE void multiply_rows_by_tile(const Factors& factors, std::size_t row, std::size_t rows, std::size_t tile,
                                      const TileSums& sums) {
  switch (rows) {
    case 1: return multiply_tile<1>(factors, row, tile, sums);
    case 2: return multiply_tile<2>(factors, row, tile, sums);
    case 3: return multiply_tile<3>(factors, row, tile, sums);
    case 4: return multiply_tile<4>(factors, row, tile, sums);
    case 5: return multiply_tile<5>(factors, row, tile, sums);
    default: return multiply_tile<6>(factors, row, tile, sums);
  }
}

HWY_INLINE void multiply_block(const Factors& factors, std::size_t rows, const TileSums& sums, Ahead& ahead) {
  constexpr std::size_t tile_outputs = tile_vectors * lanes;
  const std::size_t tiles = (factors.num_panels * panel_outputs + tile_outputs - 1) / tile_outputs;
  for (std::size_t tile = 0; tile < tiles; ++tile) {
    ahead.fetch();
    for (std::size_t row = 0; row < rows; row += tile_rows)
      multiply_rows_by_tile(factors, row, HWY_MIN(tile_rows, rows - row), tile, sums);
  }
}

/// Pairs of nibbles as pairs of bytes.
HWY_INLINE void unpack_nibbles(const std::uint8_t* from, std::size_t pairs, std::uint8_t* to) {
  std::size_t n = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<std::uint16_t> d;
  const hn::Rebind<std::uint8_t, decltype(d)> half;
  const hn::Repartition<std::uint8_t, decltype(d)> whole;
  for (; n + hn::Lanes(d) <= pairs; n += hn::Lanes(d)) {
    hn::StoreU(hn::BitCast(whole, apart(hn::PromoteTo(d, hn::LoadU(half, from + n)))), whole, to + 2 * n);
  }
#endif
  for (; n < pairs; ++n) {
    to[2 * n] = from[n] & 0xFU;
    to[2 * n + 1] = static_cast<std::uint8_t>(from[n] >> 4);
  }
}

/// Levels in planes, from a whole piece on, as bytes.
HWY_INLINE void unpack_planes(const std::uint8_t* row, std::size_t first, std::size_t columns, std::uint8_t* to) {
#if HWY_TARGET == HWY_SCALAR
  for (std::size_t j = 0; j < columns; ++j) to[j] = static_cast<std::uint8_t>(plane_level_at(row, first + j));
#else
  const hn::CappedTag<std::uint8_t, plane_piece_columns> d;
  for (std::size_t j = 0; j < columns; j += hn::Lanes(d)) hn::StoreU(bytes_of_planes(d, row, first + j), d, to + j);
#endif
}

/// One byte of each of some levels of 16 bits.
HWY_INLINE void unpack_halves(const std::uint8_t* from, int byte, std::size_t count, std::uint8_t* to) {
  for (std::size_t j = 0; j < count; ++j) to[j] = from[2 * j + static_cast<std::size_t>(byte)];
}

HWY_INLINE std::int32_t sum_of_bytes(const std::uint8_t* x, std::size_t count) {
  std::size_t n = 0;
  std::uint64_t sum = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<std::uint8_t> d;
  const hn::Repartition<std::uint64_t, decltype(d)> quads;
  auto sums = hn::Zero(quads);
  for (; n + hn::Lanes(d) <= count; n += hn::Lanes(d)) sums = hn::Add(sums, hn::SumsOf8(hn::LoadU(d, x + n)));
  sum = hn::GetLane(hn::SumOfLanes(quads, sums));
#endif
  for (; n < count; ++n) sum += x[n];
  return static_cast<std::int32_t>(sum);
}

/// The sums of a block of rows and a slice of outputs. `Total` holds the largest sum.
template <class Total>
struct Block {
  std::size_t first_row = 0, rows = 0;
  std::size_t first_output = 0, outputs = 0;
  HWY_ALIGN Total sums[block_rows][slice_outputs];
  Total x_sums[block_rows];  ///< zeros where the epilogue has no use for them
};

/// Rows of X as bytes, for `columns` columns from `first` on; `bytes` has room for them.
template <class Total>
HWY_INLINE void unpack_block(const LevelGemmArgs& args, const Block<Total>& block, std::size_t first, int x_byte,
                             Factors& factors, std::uint8_t (*bytes)[byte_stride]) {
  // Rows have whole words with zeros behind the last column: groups are whole.
  const std::size_t columns = factors.groups * group;
  for (std::size_t r = 0; r < block.rows; ++r) {
    const std::uint8_t* const row = args.x.row(block.first_row + r);
    factors.x[r] = bytes[r];
    if (args.x.in_planes()) {
      unpack_planes(row, first, columns, bytes[r]);
    } else if (args.x.bits > 8) {
      unpack_halves(row + 2 * first, x_byte, columns, bytes[r]);
    } else if (args.x.bits > 4) {
      factors.x[r] = row + first;
    } else {
      unpack_nibbles(row + first / 2, columns / 2, bytes[r]);
    }
  }
}

/// The rows of X behind a block, as many as it has, in parts for its tiles of products.
template <class Total>
HWY_INLINE Ahead rows_after(const LevelGemmArgs& args, const Block<Total>& block) {
  constexpr std::size_t tile_outputs = tile_vectors * lanes;
  const std::size_t first = block.first_row + block.rows, last = HWY_MIN(first + block.rows, args.x.nrows);
  const std::size_t tiles = (block.outputs + tile_outputs - 1) / tile_outputs;
  const std::size_t chunks = (args.x.ncols + chunk_columns - 1) / chunk_columns;
  const std::size_t bytes = (last - HWY_MIN(first, last)) * args.x.row_bytes;
  const std::uint8_t* const from = args.x.data + first * args.x.row_bytes;
  const std::size_t lines = bytes / line_bytes / HWY_MAX(tiles * chunks, std::size_t{1}) + 1;
  return {from, from + bytes, lines * line_bytes};
}

template <class Total>
HWY_INLINE void make_sums(const LevelGemmArgs& args, Block<Total>& block) {
  HWY_ALIGN std::uint8_t bytes[block_rows][byte_stride];
  HWY_ALIGN std::int32_t parts[block_rows * slice_outputs];
  std::int32_t start[block_rows] = {};
  const int x_bytes = args.x.bits > 8 ? 2 : 1, w_bytes = args.w_bits > 8 ? 2 : 1;
  const int shift = LevelWeights::shift_of(args.w_bits);
  const bool sums_x = shift != 0 || args.w_scale.offsets != nullptr;
  for (std::size_t r = 0; r < block.rows; ++r) block.x_sums[r] = 0;
  bool fresh = true;  // nothing is there yet to add to
  Ahead ahead = rows_after(args, block);
  for (std::size_t first = 0; first < args.x.ncols; first += chunk_columns) {
    Factors factors;
    factors.groups = (HWY_MIN(chunk_columns, args.x.ncols - first) + group - 1) / group;
    factors.panel_bytes = args.panel_bytes;
    factors.num_panels = (block.outputs + panel_outputs - 1) / panel_outputs;
    for (int x_byte = 0; x_byte < x_bytes; ++x_byte) {
      unpack_block(args, block, first, x_byte, factors, bytes);
      for (std::size_t r = 0; sums_x && r < block.rows; ++r) {
        const std::int32_t sum = sum_of_bytes(factors.x[r], factors.groups * group);
        start[r] = shift * sum;
        block.x_sums[r] += static_cast<Total>(sum) * (Total{1} << (8 * x_byte));
      }
      for (int w_byte = 0; w_byte < w_bytes; ++w_byte) {
        const std::size_t panel =
            static_cast<std::size_t>(w_byte) * args.num_panels + block.first_output / panel_outputs;
        factors.panels = args.panels + panel * args.panel_bytes + first * panel_outputs;
        if constexpr (sizeof(Total) == sizeof(std::int32_t)) {
          if (x_bytes == 1 && w_bytes == 1) {
            multiply_block(factors, block.rows, {block.sums[0], start, fresh}, ahead);
            fresh = false;
            continue;
          }
        }
        multiply_block(factors, block.rows, {parts, start, true}, ahead);
        const Total weight = Total{1} << (8 * (x_byte + w_byte));
        for (std::size_t r = 0; r < block.rows; ++r) {
          for (std::size_t f = 0; f < factors.num_panels * panel_outputs; ++f) {
            const Total part = weight * static_cast<Total>(parts[r * slice_outputs + f]);
            block.sums[r][f] = fresh ? part : block.sums[r][f] + part;
          }
        }
        fresh = false;
      }
    }
  }
  for (std::size_t r = 0; fresh && r < block.rows; ++r) {  // no columns
    for (std::size_t f = 0; f < block.outputs; ++f) block.sums[r][f] = 0;
  }
}

/// The same of a sparse X: its entries, each less the level of 0, times rows of the table; then what all other places
/// have in common.
template <class Total>
HWY_INLINE void make_sparse_sums(const LevelGemmArgs& args, Block<Total>& block) {
  const std::size_t stride = args.num_panels * panel_outputs;
  const std::size_t width = HWY_MIN(slice_outputs, stride - block.first_output);
  const Total middle = Total{1} << (args.w_bits - 1);
  for (std::size_t r = 0; r < block.rows; ++r) {
    const std::size_t i = block.first_row + r;
    const auto zero = static_cast<Total>(zero_level(args.x_scale.step(i), args.x_scale.offset(i), args.x.bits));
    Total* HWY_RESTRICT const sums = block.sums[r];
    for (std::size_t f = 0; f < width; ++f) sums[f] = 0;
    Total above = 0;
    for (EdgeOffset e = args.sparse.row_ptr[i]; e < args.sparse.row_ptr[i + 1]; ++e) {
      const Total level = static_cast<Total>(args.sparse.levels[e]) - zero;
      const std::int16_t* HWY_RESTRICT const w = args.w_table + args.sparse.col_ind[e] * stride + block.first_output;
      above += level;
      for (std::size_t f = 0; f < width; ++f) sums[f] += level * static_cast<Total>(w[f]);
    }
    block.x_sums[r] = above + zero * static_cast<Total>(args.x.ncols);
    for (std::size_t f = 0; f < block.outputs; ++f)
      sums[f] += middle * above + zero * static_cast<Total>(args.w_sums[block.first_output + f]);
  }
}

template <class Total>
HWY_INLINE void multiply_range(const LevelGemmArgs& args, std::size_t begin, std::size_t end) {
  Block<Total> block;
  for (std::size_t first = 0; first < args.outputs; first += slice_outputs) {
    block.first_output = first;
    block.outputs = HWY_MIN(slice_outputs, args.outputs - first);
    const SliceWeights w(args, first, block.outputs);
    for (std::size_t i = begin; i < end; i += block_rows) {
      block.first_row = i;
      block.rows = HWY_MIN(block_rows, end - i);
      if (args.sparse.row_ptr != nullptr) {
        make_sparse_sums(args, block);
      } else {
        make_sums(args, block);
      }
      for (std::size_t r = 0; r < block.rows; ++r)
        finish_row<Total>(args, w, {i + r, first, block.outputs, block.sums[r], block.x_sums[r]});
    }
  }
}

void multiply_rows(const LevelGemmArgs& args, std::size_t begin, std::size_t end) {
  multiply_range<std::int32_t>(args, begin, end);
}
void multiply_rows_wide(const LevelGemmArgs& args, std::size_t begin, std::size_t end) {
  multiply_range<std::int64_t>(args, begin, end);
}

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/threads/parallel.hpp"

namespace bitgraph {

namespace {
HWY_EXPORT(multiply_rows);
HWY_EXPORT(multiply_rows_wide);
}  // namespace

void level_gemm(const Cpu& backend, const LevelGemmArgs& args) {
  if (args.sparse.row_ptr == nullptr && plan(level_gemm_problem(args.x.nrows, args.x.ncols, args.outputs, args.x.bits,
                                                                args.w_bits)) == gemm_cpu::Kernel::levels_by_tiles) {
    return level_gemm_by_tiles(backend, args);
  }
  const bool wide = !sums_fit(args.x.bits, args.w_bits, args.x.ncols, 31);
  parallel_ranges(backend.device, args.x.nrows, 16, [&](Range rows) {
    if (wide) {
      HWY_DYNAMIC_DISPATCH(multiply_rows_wide)(args, rows.begin, rows.end);
    } else {
      HWY_DYNAMIC_DISPATCH(multiply_rows)(args, rows.begin, rows.end);
    }
  });
}

}  // namespace bitgraph
#endif  // HWY_ONCE
