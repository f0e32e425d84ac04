// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/planes/row_pairs.hpp"

#include <algorithm>

namespace bitgraph {

namespace {

void take_planes(RowPairs& pairs, const PlaneGemmArgs& args, Range rows) {
  pairs.slabs.resize(args.x.num_slabs());
  for (std::size_t s = 0; s < pairs.slabs.size(); ++s) pairs.slabs[s] = s;
  pairs.planes = args.a.bits;
  pairs.words.assign(rows.size() * pairs.row_words(), 0);
  const std::size_t words = words_for_bits(args.a.ncols);
  std::uint64_t* to = pairs.words.data();
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (int p = 0; p < pairs.planes; ++p, to += pairs.plane_words())
      std::copy_n(args.a.row(rows.begin + r, p), words, to);
  }
}

void take_tiles(RowPairs& pairs, const PlaneGemmArgs& args, Range rows) {
  constexpr std::size_t slab_words = RowPairs::slab_words;
  const BitTileView<64>& tiles = args.tiles;
  const std::size_t tile_row = rows.begin / RowPairs::chunk_rows;
  const EdgeOffset first = tiles.tile_row_ptr[tile_row], last = tiles.tile_row_ptr[tile_row + 1];
  pairs.slabs.clear();
  for (EdgeOffset t = first; t < last; ++t) {
    const std::size_t slab = tiles.tile_col_ind[t] / slab_words;
    if (pairs.slabs.empty() || pairs.slabs.back() != slab) pairs.slabs.push_back(slab);
  }
  pairs.planes = 1;
  pairs.words.assign(rows.size() * pairs.row_words(), 0);
  std::size_t s = 0;
  for (EdgeOffset t = first; t < last; ++t) {
    const std::size_t column = tiles.tile_col_ind[t];
    while (pairs.slabs[s] != column / slab_words) ++s;
    std::uint64_t* const to = pairs.words.data() + s * slab_words + column % slab_words;
    for (std::size_t r = 0; r < rows.size(); ++r) to[r * pairs.row_words()] = tiles.tile_row(t, static_cast<int>(r));
  }
}

}  // namespace

void RowPairs::take(const PlaneGemmArgs& args, Range rows) {
  args.has_tiles() ? take_tiles(*this, args, rows) : take_planes(*this, args, rows);
}

}  // namespace bitgraph
