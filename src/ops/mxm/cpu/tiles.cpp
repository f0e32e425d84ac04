// SPDX-License-Identifier: Apache-2.0
// The boolean product of tiles: a row of a result tile is the OR of those rows of a tile of B whose bits are set in the
// row of A's tile. A tile row of the result is gathered side by side, a place for each tile column.
#include "core/instances.hpp"
#include "core/threads/thread_chunks.hpp"
#include "ops/mxm/column_set.hpp"
#include "ops/mxm/mxm.hpp"

#include <algorithm>
#include <atomic>
#include <bit>

namespace bitgraph {

namespace {

/// to |= a (x) b.
template <int K>
void or_product(TileWord<K>* to, const BitTileView<K>& a, EdgeOffset t, const BitTileView<K>& b, EdgeOffset s) {
  if constexpr (K == 4) {
    // Column c of A's tile, a bit a row, times row c of B's, four times side by side.
    unsigned sum = 0;
    for (int c = 0; c < 4; ++c) {
      const unsigned column = (static_cast<unsigned>(a.bit_tiles[t]) >> c) & 0x1111U;
      sum |= column * static_cast<unsigned>(b.tile_row(s, c));
    }
    *to = static_cast<TileWord<K>>(*to | sum);
  } else {
    for (int r = 0; r < K; ++r) {
      TileWord<K> sum = 0;
      for (std::uint64_t bits = a.tile_row(t, r); bits != 0; bits &= bits - 1) {
        sum = static_cast<TileWord<K>>(sum | b.tile_row(s, std::countr_zero(bits)));
      }
      to[r] = static_cast<TileWord<K>>(to[r] | sum);
    }
  }
}

/// What a thread gathers a tile row in.
template <int K>
struct TileRow {
  ColumnSet set;
  TileWord<K>* tiles;
  std::uint64_t* marks;

  [[nodiscard]] bool marked(NodeId j) const noexcept { return ((marks[j / 64] >> (j % 64)) & 1U) != 0; }
  void flip_mark(NodeId j) noexcept { marks[j / 64] ^= std::uint64_t{1} << (j % 64); }
};

/// Gathers tile row i; no tiles that the mask has not, where the product is to be within it.
template <int K>
void gather_tiles(const TileProductArgs<K>& args, TileRow<K>& row, NodeId i) {
  const bool is_within = args.mask_use == MaskUse::inside;
  const auto flip_mask_row = [&] {
    if (!is_within) return;
    for (EdgeOffset m = args.mask.tile_row_ptr[i]; m < args.mask.tile_row_ptr[i + 1]; ++m)
      row.flip_mark(args.mask.tile_col_ind[m]);
  };
  flip_mask_row();
  for (EdgeOffset t = args.a.tile_row_ptr[i]; t < args.a.tile_row_ptr[i + 1]; ++t) {
    const NodeId k = args.a.tile_col_ind[t];
    for (EdgeOffset s = args.b.tile_row_ptr[k]; s < args.b.tile_row_ptr[k + 1]; ++s) {
      const NodeId j = args.b.tile_col_ind[s];
      if (is_within && !row.marked(j)) continue;
      row.set.insert(j);
      or_product<K>(row.tiles + j * tile_words<K>, args.a, t, args.b, s);
    }
  }
  flip_mask_row();
}

/// Gathers tile row i and calls fn(tile column, words) for each non-empty tile, in order.
template <int K, class Fn>
void for_each_result_tile(const TileProductArgs<K>& args, TileRow<K>& row, NodeId i, Fn&& fn) {
  constexpr std::size_t words = tile_words<K>;
  gather_tiles(args, row, i);
  EdgeOffset m = args.mask_use == MaskUse::none ? 0 : args.mask.tile_row_ptr[i];
  row.set.drain([&](std::size_t j) {
    TileWord<K>* tile = row.tiles + j * words;
    if (args.mask_use != MaskUse::none) {
      const EdgeOffset end = args.mask.tile_row_ptr[i + 1];
      while (m < end && args.mask.tile_col_ind[m] < j) ++m;
      const TileWord<K>* mask = m < end && args.mask.tile_col_ind[m] == j ? args.mask.bit_tiles + m * words : nullptr;
      for (std::size_t w = 0; w < words; ++w) {
        const auto inside = static_cast<TileWord<K>>(mask == nullptr ? 0 : mask[w]);
        const auto kept = args.mask_use == MaskUse::inside ? inside : static_cast<TileWord<K>>(~inside);
        tile[w] = static_cast<TileWord<K>>(tile[w] & kept);
      }
    }
    if (std::any_of(tile, tile + words, [](TileWord<K> w) { return w != 0; })) {
      fn(static_cast<NodeId>(j), tile);
      std::fill_n(tile, words, TileWord<K>{0});
    }
  });
}

/// fn(row, i) for every tile row.
template <int K, class Fn>
void for_each_tile_row(const Cpu& backend, const TileProductArgs<K>& args, Fn&& fn) {
  const std::size_t columns = (std::size_t{args.b.ncols} + K - 1) / K;
  for_chunks_of_threads(backend.device, args.a.num_tile_rows, product_chunk, [&](std::size_t number, Range rows) {
    std::uint64_t* words = args.workspace.words + number * args.workspace.words_each;
    std::uint64_t* tiles = words + args.workspace.set_words;
    TileRow<K> row{ColumnSet(columns, words), reinterpret_cast<TileWord<K>*>(tiles),
                   tiles + TileRowSpace<K>(columns).tile_words};
    for (std::size_t i = rows.begin; i < rows.end; ++i) fn(row, static_cast<NodeId>(i));
  });
}

}  // namespace

template <int K>
void tile_product_sizes(const Cpu& backend, const TileProductArgs<K>& args, EdgeOffset* sizes) {
  for_each_tile_row(backend, args, [&](TileRow<K>& row, NodeId i) {
    EdgeOffset size = 0;
    for_each_result_tile(args, row, i, [&](NodeId, const TileWord<K>*) { ++size; });
    sizes[i] = size;
  });
}

template <int K>
EdgeOffset tile_product_fill(const Cpu& backend, const TileProductArgs<K>& args, const TileProductOut<K>& out) {
  std::atomic<EdgeOffset> nvals{0};
  for_each_tile_row(backend, args, [&](TileRow<K>& row, NodeId i) {
    EdgeOffset to = out.tile_row_ptr[i];
    EdgeOffset entries = 0;
    for_each_result_tile(args, row, i, [&](NodeId j, const TileWord<K>* tile) {
      out.tile_col_ind[to] = j;
      std::copy_n(tile, tile_words<K>, out.bit_tiles + to * tile_words<K>);
      for (int w = 0; w < tile_words<K>; ++w) entries += static_cast<EdgeOffset>(std::popcount(tile[w]));
      ++to;
    });
    nvals += entries;
  });
  return nvals;
}

namespace {

template <int K>
constexpr auto tile_products() {
  return instances_of(&tile_product_sizes<K>, &tile_product_fill<K>);
}

[[gnu::used]] constexpr auto instances =
    instances_of(tile_products<4>(), tile_products<8>(), tile_products<16>(), tile_products<32>(), tile_products<64>());

}  // namespace

}  // namespace bitgraph
