// SPDX-License-Identifier: Apache-2.0
// Bits of x over tiles: a tile's rows are anded with the word of x at its columns all at once. Any: the results of a
// tile row are ored into one accumulator of the tile's size, which is reduced once. Counts: their bits are counted lane
// by lane. Included once for each instruction set (Highway's convention: the guard toggles).
#if defined(BITGRAPH_OPS_MXV_CPU_BIT_TILES_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef BITGRAPH_OPS_MXV_CPU_BIT_TILES_INL_HPP
#undef BITGRAPH_OPS_MXV_CPU_BIT_TILES_INL_HPP
#else
#define BITGRAPH_OPS_MXV_CPU_BIT_TILES_INL_HPP
#endif

#include <hwy/highway.h>

#include "ops/mxv/cpu/strip-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

/// The rows of a tile side by side in vectors, for sides of 16 and more: V vectors of N rows.
template <int K>
struct TileLanes {
  using Word = TileWord<K>;
  using D = hn::CappedTag<Word, K>;
  static constexpr std::size_t N = HWY_MIN(HWY_LANES(Word), std::size_t{K});
  static constexpr std::size_t V = K / N;
};

/// One bit a nonzero lane of K lanes.
template <int K>
HWY_INLINE std::uint64_t nonzero_rows(const hn::Vec<typename TileLanes<K>::D> (&rows)[TileLanes<K>::V]) {
  using L = TileLanes<K>;
  const typename L::D d;
  std::uint64_t result = 0;
  for (std::size_t v = 0; v < L::V; ++v) {
    std::uint8_t bytes[8] = {};
    hn::StoreMaskBits(d, hn::Ne(rows[v], hn::Zero(d)), bytes);
    std::uint64_t bits;
    hwy::CopyBytes<sizeof(bits)>(bytes, &bits);
    result |= bits << (v * L::N);
  }
  return result;
}

/// The rows of one tile row with a neighbour in x.
template <int K>
HWY_INLINE std::uint64_t any_in_tile_row(const BitTileView<K>& a, const std::uint64_t* x, std::size_t tile_row) {
  const EdgeOffset begin = a.tile_row_ptr[tile_row];
  const EdgeOffset end = a.tile_row_ptr[tile_row + 1];
  if constexpr (K == 4) {
    unsigned sum = 0;
    for (EdgeOffset t = begin; t < end; ++t) {
      sum |= a.bit_tiles[t] & (static_cast<unsigned>(vector_bits<K>(x, a.tile_col_ind[t])) * 0x1111U);
    }
    sum |= sum >> 2;
    sum = (sum | sum >> 1) & 0x1111U;
    return (sum | sum >> 3 | sum >> 6 | sum >> 9) & 0xFU;
  } else if constexpr (K == 8) {
    std::uint64_t sum = 0;
    for (EdgeOffset t = begin; t < end; ++t) {
      std::uint64_t tile;
      hwy::CopyBytes<sizeof(tile)>(a.bit_tiles + t * K, &tile);
      sum |= tile & (vector_bits<K>(x, a.tile_col_ind[t]) * 0x0101010101010101U);
    }
    sum |= sum >> 4;
    sum |= sum >> 2;
    sum = (sum | sum >> 1) & 0x0101010101010101U;
    return (sum * 0x0102040810204080U) >> 56;
  } else {
    using L = TileLanes<K>;
    const typename L::D d;
    hn::Vec<typename L::D> sums[L::V];
    for (auto& sum : sums) sum = hn::Zero(d);
    for (EdgeOffset t = begin; t < end; ++t) {
      const auto word = static_cast<typename L::Word>(vector_bits<K>(x, a.tile_col_ind[t]));
      if (K >= 32 && word == 0) continue;
      const auto columns = hn::Set(d, word);
      for (std::size_t v = 0; v < L::V; ++v) {
        sums[v] = hn::Or(sums[v], hn::And(hn::LoadU(d, a.bit_tiles + t * K + v * L::N), columns));
      }
    }
    return nonzero_rows<K>(sums);
  }
}

template <int K>
HWY_INLINE std::uint64_t any_in_tiles(const GraphRef& a, const std::uint64_t* x, std::size_t s,
                                      std::uint64_t selected) {
  const BitTileView<K> view = a.view<K>();
  std::uint64_t result = 0;
  for_selected_tile_rows<K>(a, s, selected, [&](std::size_t tile_row, std::size_t n) HWY_ATTR {
    result |= any_in_tile_row<K>(view, x, tile_row) << (n * K);
  });
  return result;
}

/// Row counts of one tile row of side 4: four tiles to a word, a row's nibbles under one mask.
template <bool kAll>
HWY_INLINE void count_tile_row_of_nibbles(const BitTileView<4>& a, const std::uint64_t* x, std::size_t tile_row,
                                          std::uint32_t* counts) {
  const EdgeOffset end = a.tile_row_ptr[tile_row + 1];
  for (std::size_t r = 0; r < 4; ++r) counts[r] = 0;
  for (EdgeOffset t = a.tile_row_ptr[tile_row]; t < end; t += 4) {
    std::uint64_t bits = 0;
    const std::size_t tiles = HWY_MIN(end - t, EdgeOffset{4});
    for (std::size_t n = 0; n < tiles; ++n) {
      const auto columns = kAll ? 0xFFFFU : static_cast<unsigned>(vector_bits<4>(x, a.tile_col_ind[t + n])) * 0x1111U;
      bits |= std::uint64_t{a.bit_tiles[t + n] & columns} << (16 * n);
    }
    for (std::size_t r = 0; r < 4; ++r) {
      counts[r] += static_cast<std::uint32_t>(__builtin_popcountll(bits & (0x000F000F000F000FU << (4 * r))));
    }
  }
}

/// Side 8: the counts of the eight bytes of a word side by side in its bytes, moved out before they could overflow.
template <bool kAll>
HWY_INLINE void count_tile_row_of_bytes(const BitTileView<8>& a, const std::uint64_t* x, std::size_t tile_row,
                                        std::uint32_t* counts) {
  constexpr EdgeOffset tiles_in_byte = 31;
  const EdgeOffset end = a.tile_row_ptr[tile_row + 1];
  for (std::size_t r = 0; r < 8; ++r) counts[r] = 0;
  for (EdgeOffset t = a.tile_row_ptr[tile_row]; t < end;) {
    const EdgeOffset stop = HWY_MIN(end, t + tiles_in_byte);
    std::uint64_t sums = 0;
    for (; t < stop; ++t) {
      std::uint64_t bits;
      hwy::CopyBytes<sizeof(bits)>(a.bit_tiles + t * 8, &bits);
      if (!kAll) bits &= vector_bits<8>(x, a.tile_col_ind[t]) * 0x0101010101010101U;
      bits -= (bits >> 1) & 0x5555555555555555U;
      bits = (bits & 0x3333333333333333U) + ((bits >> 2) & 0x3333333333333333U);
      sums += (bits + (bits >> 4)) & 0x0F0F0F0F0F0F0F0FU;
    }
    for (std::size_t r = 0; r < 8; ++r) counts[r] += static_cast<std::uint32_t>((sums >> (8 * r)) & 0xFFU);
  }
}

/// Sides of 16 and more: lanes hold a row's count; those of 16 bits are moved out before they could overflow.
template <bool kAll, int K>
HWY_INLINE void count_tile_row_of_lanes(const BitTileView<K>& a, const std::uint64_t* x, std::size_t tile_row,
                                        std::uint32_t* counts) {
  using L = TileLanes<K>;
  const typename L::D d;
  constexpr EdgeOffset tiles_in_lane = K == 16 ? 4095 : EdgeOffset{1} << 20;
  const EdgeOffset end = a.tile_row_ptr[tile_row + 1];
  for (std::size_t r = 0; r < K; ++r) counts[r] = 0;
  for (EdgeOffset t = a.tile_row_ptr[tile_row]; t < end;) {
    const EdgeOffset stop = HWY_MIN(end, t + tiles_in_lane);
    hn::Vec<typename L::D> sums[L::V];
    for (auto& sum : sums) sum = hn::Zero(d);
    for (; t < stop; ++t) {
      const auto word = kAll ? static_cast<typename L::Word>(~std::uint64_t{0})
                             : static_cast<typename L::Word>(vector_bits<K>(x, a.tile_col_ind[t]));
      if (K >= 32 && word == 0) continue;
      const auto columns = hn::Set(d, word);
      for (std::size_t v = 0; v < L::V; ++v) {
        const auto bits = hn::And(hn::LoadU(d, a.bit_tiles + t * K + v * L::N), columns);
        sums[v] = hn::Add(sums[v], hn::PopulationCount(bits));
      }
    }
    HWY_ALIGN typename L::Word lanes[K];
    for (std::size_t v = 0; v < L::V; ++v) hn::Store(sums[v], d, lanes + v * L::N);
    for (std::size_t r = 0; r < K; ++r) counts[r] += static_cast<std::uint32_t>(lanes[r]);
  }
}

template <bool kAll, int K>
HWY_INLINE void count_in_tiles(const GraphRef& a, const std::uint64_t* x, std::size_t s, std::uint64_t selected,
                               std::uint32_t* counts) {
  const BitTileView<K> view = a.view<K>();
  for_selected_tile_rows<K>(a, s, selected, [&](std::size_t tile_row, std::size_t n) HWY_ATTR {
    if constexpr (K == 4) {
      count_tile_row_of_nibbles<kAll>(view, x, tile_row, counts + n * K);
    } else if constexpr (K == 8) {
      count_tile_row_of_bytes<kAll>(view, x, tile_row, counts + n * K);
    } else {
      count_tile_row_of_lanes<kAll, K>(view, x, tile_row, counts + n * K);
    }
  });
}

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
