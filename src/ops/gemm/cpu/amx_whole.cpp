// SPDX-License-Identifier: Apache-2.0
// Whole numbers in floats times signs by AMX: a number is 256 h + l, and h and l are bytes. Sums of both are whole, and
// the result is that of the other kernels to the last bit.
#include "core/threads/parallel.hpp"
#include "ops/gemm/cpu/amx.hpp"

#if defined(__x86_64__) && defined(__linux__)

#include "ops/gemm/cpu/amx_tiles.hpp"

#include <algorithm>

namespace bitgraph {

namespace {

using amx::side;
using amx::tile;
using amx::weight_tiles;

using gemm_cpu::most_words_of_numbers;
constexpr std::size_t at_once = 3;  ///< groups of 16 outputs, with tiles for the sums of both bytes

struct Weights {
  alignas(64) std::uint32_t tiles[weight_tiles * tile / 4];  ///< [group of 16 outputs][word][4 columns][output]
};

/// 16 rows of x.
struct Rows {
  alignas(64)
      std::uint8_t low[most_words_of_numbers * tile] = {};  ///< [word][row][column]; columns that are not there stay 0
  alignas(64) std::int8_t high[most_words_of_numbers * tile] = {};
};

struct Sums {
  alignas(64) std::int32_t low[at_once][side * side];
  alignas(64) std::int32_t high[at_once][side * side];
};

void unpack_weights(const GemmOfFloats& args, std::size_t first, std::size_t outputs, Weights& to) {
  const std::size_t words = args.w.words_per_row;
  for (std::size_t n = 0; n < outputs; ++n) {
    for (std::size_t word = 0; word < words; ++word) {
      const std::uint64_t bits = first + n < args.w.nrows ? args.w.row(first + n)[word] : 0;
      std::uint32_t* column = to.tiles + (n / side * words + word) * (tile / 4) + n % side;
      for (std::size_t r = 0; r < side; ++r) {
        std::uint32_t bytes = 0;
        for (unsigned j = 0; j < 4; ++j) bytes |= ((bits >> (4 * r + j)) & 1U) != 0 ? 1U << (8 * j) : 0xFFU << (8 * j);
        column[r * side] = bytes;
      }
    }
  }
}

/// One row as bytes; false where it holds other numbers.
[[BITGRAPH_AMX]] inline bool unpack_row(const GemmOfFloats& args, std::size_t i, std::size_t r, Rows& to) {
  const float* row = args.x.row(i);
  const __m512i smallest = _mm512_set1_epi32(-(1 << 15));
  const __m512i largest = _mm512_set1_epi32((1 << 15) - 1);
  unsigned wrong = 0;
  for (std::size_t f = 0; f < args.x.ncols; f += side) {
    const __m512 x = _mm512_maskz_loadu_ps(amx::first_lanes(args.x.ncols - f), row + f);
    const __m512i whole = _mm512_cvtps_epi32(x);
    wrong |= _mm512_cmp_ps_mask(_mm512_cvtepi32_ps(whole), x, _CMP_NEQ_UQ);
    wrong |= _mm512_cmplt_epi32_mask(whole, smallest) | _mm512_cmpgt_epi32_mask(whole, largest);
    const std::size_t at = f / 64 * tile + r * 64 + f % 64;
    _mm_store_si128(reinterpret_cast<__m128i*>(to.low + at), _mm512_cvtepi32_epi8(whole));
    _mm_store_si128(reinterpret_cast<__m128i*>(to.high + at), _mm512_cvtepi32_epi8(_mm512_srai_epi32(whole, 8)));
  }
  return wrong == 0;
}

/// Sums of 16 rows by 48 outputs; of fewer, the last ones are of weights that are there for others.
[[BITGRAPH_AMX]] void multiply(const Rows& rows, std::size_t words, const std::uint32_t* const (&weights)[at_once],
                               Sums& sums) {
  amx::settle_memory();
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
  for (std::size_t word = 0; word < words; ++word) {
    const std::size_t at = word * (tile / 4);
    _tile_loadd(6, rows.low + word * tile, 64);
    _tile_loadd(7, weights[0] + at, 64);
    _tile_dpbusd(0, 6, 7);
    _tile_loadd(7, weights[1] + at, 64);
    _tile_dpbusd(1, 6, 7);
    _tile_loadd(7, weights[2] + at, 64);
    _tile_dpbusd(2, 6, 7);
    _tile_loadd(6, rows.high + word * tile, 64);
    _tile_dpbssd(5, 6, 7);
    _tile_loadd(7, weights[1] + at, 64);
    _tile_dpbssd(4, 6, 7);
    _tile_loadd(7, weights[0] + at, 64);
    _tile_dpbssd(3, 6, 7);
  }
  _tile_stored(0, sums.low[0], 64);
  _tile_stored(1, sums.low[1], 64);
  _tile_stored(2, sums.low[2], 64);
  _tile_stored(3, sums.high[0], 64);
  _tile_stored(4, sums.high[1], 64);
  _tile_stored(5, sums.high[2], 64);
  amx::settle_memory();
}

/// 16 outputs from `first` on, of `count` rows from i on.
[[BITGRAPH_AMX]] void store(const GemmOfFloats& args, std::size_t i, std::size_t count, std::size_t first,
                            const std::int32_t* low, const std::int32_t* high) {
  const __mmask16 exist = amx::first_lanes(args.w.nrows - first);
  const __m512 scale =
      args.col_scale == nullptr ? _mm512_set1_ps(1) : _mm512_maskz_loadu_ps(exist, args.col_scale + first);
  for (std::size_t r = 0; r < count; ++r) {
    const __m512i sum =
        _mm512_add_epi32(_mm512_load_si512(low + r * side), _mm512_slli_epi32(_mm512_load_si512(high + r * side), 8));
    __m512 y = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), scale);
    if (args.row_scale != nullptr) y = _mm512_mul_ps(y, _mm512_set1_ps(args.row_scale[i + r]));
    if (args.bias != nullptr) y = _mm512_add_ps(y, _mm512_maskz_loadu_ps(exist, args.bias + first));
    _mm512_mask_storeu_ps(args.out.row(i + r) + first, exist, y);
  }
}

[[BITGRAPH_AMX]] void multiply_rows(const GemmOfFloats& args, std::size_t begin, std::size_t end,
                                    void (*rest)(const GemmOfFloats&, std::size_t, std::size_t)) {
  amx::begin_tiles();
  const std::size_t words = args.w.words_per_row;
  const std::size_t groups = (args.w.nrows + side - 1) / side;
  Weights weights;
  unpack_weights(args, 0, groups * side, weights);
  Rows rows;
  Sums sums;
  for (std::size_t i = begin; i < end; i += side) {
    const std::size_t count = std::min(side, end - i);
    bool whole = true;
    for (std::size_t r = 0; r < count; ++r) whole = unpack_row(args, i + r, r, rows) && whole;
    if (!whole) {
      rest(args, i, i + count);
      continue;
    }
    for (std::size_t group = 0; group < groups; group += at_once) {
      const std::uint32_t* from[at_once];
      for (std::size_t g = 0; g < at_once; ++g)
        from[g] = weights.tiles + std::min(group + g, groups - 1) * words * (tile / 4);
      multiply(rows, words, from, sums);
      for (std::size_t g = 0; g < std::min(at_once, groups - group); ++g)
        store(args, i, count, (group + g) * side, sums.low[g], sums.high[g]);
    }
  }
  _tile_release();
}

[[BITGRAPH_AMX]] bool is_whole(const GemmOfFloats& args, std::size_t row) {
  Rows rows;
  return unpack_row(args, row, 0, rows);
}

}  // namespace

bool begins_with_whole_numbers(const GemmOfFloats& args) { return is_whole(args, 0); }

void gemm_of_whole_numbers(const Cpu& backend, const GemmOfFloats& args,
                           void (*rest)(const GemmOfFloats&, std::size_t, std::size_t)) {
  parallel_ranges(backend.device, args.x.nrows, cpu_gemm_tuning().rows_for_tiles,
                  [&](Range rows) { multiply_rows(args, rows.begin, rows.end, rest); });
}

}  // namespace bitgraph

#else

namespace bitgraph {

bool begins_with_whole_numbers(const GemmOfFloats&) { return false; }

void gemm_of_whole_numbers(const Cpu&, const GemmOfFloats&, void (*)(const GemmOfFloats&, std::size_t, std::size_t)) {
  fail(ErrorCode::internal, "gemm: no matrix unit here");
}

}  // namespace bitgraph

#endif
