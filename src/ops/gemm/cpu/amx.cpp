// SPDX-License-Identifier: Apache-2.0
// Products of bits by AMX. x goes into tiles as bytes of 0 and -1, w as bytes of -2 and 2, so that the sums of products
// are 2 sum w over the set bits of x; the sum of w, which all rows have in common, is subtracted after. Whole numbers
// until the scales: the results of the other kernels to the last bit.
#include "ops/gemm/cpu/amx.hpp"
#include "core/threads/parallel.hpp"

#if defined(__x86_64__) && defined(__linux__)

#include "ops/gemm/cpu/amx_tiles.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace bitgraph {

namespace {

using amx::side;
using amx::tile;
using amx::weight_tiles;

constexpr std::size_t pair = 2 * side;  ///< rows and outputs taken together: four tiles of sums

/// Weights of as many outputs as there are tiles for, ready to be multiplied.
struct Weights {
  alignas(64) std::uint32_t tiles[weight_tiles * tile / 4];  ///< [group of 16 outputs][word of x][4 columns][output]
  alignas(64) std::int32_t sums[weight_tiles * side];        ///< of an output's weights
};

struct Rows {
  alignas(64) std::int8_t tiles[2 * gemm_cpu::most_words_of_bits * tile];  ///< [group of 16 rows][word][row][column]
};

struct Sums {
  alignas(64) std::int32_t of[4][side * side];
};

/// -2 or 2 for each of four bits.
constexpr std::uint32_t doubled_signs(unsigned four_bits) {
  std::uint32_t bytes = 0;
  for (unsigned j = 0; j < 4; ++j) bytes |= ((four_bits >> j) & 1U) != 0 ? 0xFEU << (8 * j) : 0x02U << (8 * j);
  return bytes;
}

void unpack_weights(const GemmToBits& args, std::size_t first, std::size_t outputs, Weights& to) {
  static constexpr std::array<std::uint32_t, 16> signs = [] {
    std::array<std::uint32_t, 16> all{};
    for (unsigned bits = 0; bits < 16; ++bits) all[bits] = doubled_signs(bits);
    return all;
  }();
  const std::size_t words = args.x.words_per_row;
  for (std::size_t n = 0; n < outputs; ++n) {
    const bool exists = first + n < args.w.nrows;
    std::int32_t ones = 0;
    for (std::size_t word = 0; word < words; ++word) {
      const std::uint64_t bits = exists ? args.w.row(first + n)[word] : 0;
      ones += std::popcount(bits);
      std::uint32_t* column = to.tiles + (n / side * words + word) * (tile / 4) + n % side;
      for (std::size_t r = 0; r < side; ++r) column[r * side] = signs[(bits >> (4 * r)) & 15U];
    }
    to.sums[n] = 2 * ones - static_cast<std::int32_t>(args.x.ncols);
  }
}

/// Rows i .. i + count. Those behind them are whatever was there: nobody looks at their sums.
[[BITGRAPH_AMX]] void unpack_rows(const GemmToBits& args, std::size_t i, std::size_t count, Rows& to) {
  const std::size_t words = args.x.words_per_row;
  for (std::size_t r = 0; r < count; ++r) {
    const std::uint64_t* row = args.x.row(i + r);
    std::int8_t* bytes = to.tiles + r / side * words * tile + r % side * 64;
    for (std::size_t word = 0; word < words; ++word)
      _mm512_store_si512(bytes + word * tile, _mm512_movm_epi8(row[word]));
  }
}

/// Sums of 32 rows by 32 outputs that wait to become results.
struct Block {
  const Sums* sums = nullptr;
  std::size_t row = 0, count = 0;  ///< rows that there are
  std::size_t first = 0;           ///< output
  const std::int32_t* of_weights = nullptr;
};

/// What 16 outputs have in common in all rows. An absent scale is 1 and an absent bias 0, which change no sign.
struct Outputs {
  __m512 scale, bias;
  __m512i of_weights;
  __mmask16 exist;
};

[[BITGRAPH_AMX]] inline Outputs outputs_from(const GemmToBits& args, std::size_t first,
                                             const std::int32_t* of_weights) {
  const std::size_t count = args.w.nrows > first ? args.w.nrows - first : 0;
  const __mmask16 exist = amx::first_lanes(count);
  Outputs outputs{_mm512_set1_ps(1), _mm512_setzero_ps(), _mm512_load_si512(of_weights), exist};
  if (args.col_scale != nullptr) outputs.scale = _mm512_maskz_loadu_ps(exist, args.col_scale + first);
  if (args.bias != nullptr) outputs.bias = _mm512_maskz_loadu_ps(exist, args.bias + first);
  return outputs;
}

[[BITGRAPH_AMX]] inline std::uint64_t signs_of(const Outputs& outputs, const std::int32_t* sums, __m512 row_scale) {
  const __m512 sum = _mm512_cvtepi32_ps(_mm512_sub_epi32(_mm512_load_si512(sums), outputs.of_weights));
  const __m512 y = _mm512_add_ps(_mm512_mul_ps(_mm512_mul_ps(sum, outputs.scale), row_scale), outputs.bias);
  return _mm512_mask_cmp_ps_mask(outputs.exist, y, _mm512_setzero_ps(), _CMP_GE_OQ);
}

/// Rows begin .. end of a block.
[[BITGRAPH_AMX]] void store_rows(const GemmToBits& args, const Block& block, std::size_t begin, std::size_t end) {
  if (begin >= end) return;
  const Outputs left = outputs_from(args, block.first, block.of_weights);
  const Outputs right = outputs_from(args, block.first + side, block.of_weights + side);
  const std::size_t shift = block.first % 64;
  for (std::size_t r = begin; r < end; ++r) {
    const std::size_t i = block.row + r;
    const std::int32_t* sums = block.sums->of[r / side * 2] + r % side * side;
    const __m512 row_scale = _mm512_set1_ps(args.row_scale != nullptr ? args.row_scale[i] : 1.0F);
    const std::uint64_t bits =
        signs_of(left, sums, row_scale) | (signs_of(right, sums + side * side, row_scale) << side);
    std::uint64_t& word = args.out.row(i)[block.first / 64];
    word = shift == 0 ? bits : word | (bits << shift);
  }
}

/// Sums of 32 rows by 32 outputs. Tiles take their time: the block before becomes results meanwhile.
[[BITGRAPH_AMX]] void multiply_block(const GemmToBits& args, const Rows& rows, const std::uint32_t* weights, Sums& sums,
                                     const Block& before) {
  const std::size_t words = args.x.words_per_row;
  const std::size_t step = (before.count + words - 1) / words;
  const std::int8_t* lower = rows.tiles + words * tile;
  const std::uint32_t* right = weights + words * (tile / 4);
  amx::settle_memory();
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (std::size_t word = 0; word < words; ++word) {
    _tile_loadd(4, rows.tiles + word * tile, 64);
    _tile_loadd(6, weights + word * (tile / 4), 64);
    _tile_dpbssd(0, 4, 6);
    _tile_loadd(7, right + word * (tile / 4), 64);
    _tile_dpbssd(1, 4, 7);
    _tile_loadd(5, lower + word * tile, 64);
    _tile_dpbssd(2, 5, 6);
    _tile_dpbssd(3, 5, 7);
    store_rows(args, before, std::min(word * step, before.count), std::min((word + 1) * step, before.count));
  }
  _tile_stored(0, sums.of[0], 64);
  _tile_stored(1, sums.of[1], 64);
  _tile_stored(2, sums.of[2], 64);
  _tile_stored(3, sums.of[3], 64);
}

[[BITGRAPH_AMX]] void multiply_rows(const GemmToBits& args, std::size_t begin, std::size_t end) {
  amx::begin_tiles();
  Weights weights;
  Rows rows;
  Sums sums[2];  // of this block and the one before
  unsigned turn = 0;
  const std::size_t words = args.x.words_per_row;
  const std::size_t at_once = weight_tiles / words / 2 * pair;  // outputs
  for (std::size_t first = 0; first < args.w.nrows; first += at_once) {
    const std::size_t outputs = std::min(at_once, (args.w.nrows - first + pair - 1) / pair * pair);
    unpack_weights(args, first, outputs, weights);
    Block before;
    for (std::size_t i = begin; i < end; i += pair) {
      const std::size_t count = std::min(pair, end - i);
      unpack_rows(args, i, count, rows);
      for (std::size_t n = 0; n < outputs; n += pair) {
        turn ^= 1U;
        multiply_block(args, rows, weights.tiles + n / side * words * (tile / 4), sums[turn], before);
        before = {&sums[turn], i, count, first + n, weights.sums + n};
      }
    }
    store_rows(args, before, 0, before.count);
  }
  _tile_release();
}

}  // namespace

void gemm_by_tiles(const Cpu& backend, const GemmToBits& args) {
  parallel_ranges(backend.device, args.x.nrows, cpu_gemm_tuning().rows_for_tiles,
                  [&](Range rows) { multiply_rows(args, rows.begin, rows.end); });
}

}  // namespace bitgraph

#else

namespace bitgraph {

void gemm_by_tiles(const Cpu&, const GemmToBits&) { fail(ErrorCode::internal, "gemm: no matrix unit here"); }

}  // namespace bitgraph

#endif
