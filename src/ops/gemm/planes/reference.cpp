// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/planes/planes.hpp"
#include "ops/level_epilogue.hpp"

#include <algorithm>

namespace bitgraph {

namespace {

std::int64_t level_of_a(const PlaneGemmArgs& args, std::size_t i, std::size_t c) {
  std::int64_t level = 0;
  if (!args.has_tiles()) {
    for (int p = 0; p < args.a.bits; ++p)
      level |= static_cast<std::int64_t>(args.a.row(i, p)[c / 64] >> (c % 64) & 1U) << p;
    return level;
  }
  const std::size_t tile_row = i / 64;
  for (EdgeOffset t = args.tiles.tile_row_ptr[tile_row]; t < args.tiles.tile_row_ptr[tile_row + 1]; ++t) {
    if (args.tiles.tile_col_ind[t] == c / 64)
      level = static_cast<std::int64_t>(args.tiles.tile_row(t, static_cast<int>(i % 64)) >> (c % 64) & 1U);
  }
  return level;
}

std::int64_t level_of_x(const BitPlanesView<>& x, std::size_t c, std::size_t j) {
  std::int64_t level = 0;
  for (int q = 0; q < x.bits; ++q) {
    const std::uint64_t word = x.column(c / x.slab_rows, q, j)[c % x.slab_rows / 64];
    level |= static_cast<std::int64_t>(word >> (c % 64) & 1U) << q;
  }
  return level;
}

}  // namespace

void plane_gemm(const Reference&, const PlaneGemmArgs& args) {
  for (std::size_t i = 0; i < args.a.nrows; ++i) {
    std::size_t neighbors = 0;
    for (std::size_t c = 0; c < args.x.nrows; ++c) neighbors += level_of_a(args, i, c) == 0 ? 0 : 1;
    clear_levels(args.out, i);
    for (std::size_t j = 0; j < args.x.ncols; ++j) {
      std::int64_t sum = 0;
      for (std::size_t c = 0; c < args.x.nrows; ++c) sum += level_of_a(args, i, c) * level_of_x(args.x, c, j);
      put_sum(args, i, j, sum, neighbors);
    }
  }
}

void pack_planes(const Reference&, const PackPlanesArgs& args) {
  const BitPlanesView<std::uint64_t>& out = args.out;
  std::fill_n(out.words, out.num_slabs() * out.num_octets() * out.octet_words(), std::uint64_t{0});
  for (std::size_t i = 0; i < args.x.nrows; ++i) {
    for (std::size_t j = 0; j < args.x.ncols; ++j) {
      const std::uint64_t level = level_at(args.x.row(i), j, args.x.bits);
      for (int p = 0; p < out.bits; ++p)
        out.column(i / out.slab_rows, p, j)[i % out.slab_rows / 64] |= (level >> p & 1U) << (i % 64);
    }
  }
}

}  // namespace bitgraph
