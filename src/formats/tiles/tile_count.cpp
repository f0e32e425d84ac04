// SPDX-License-Identifier: Apache-2.0
// Exact numbers of tiles, without building them.
#include <bitgraph/formats/bit_tile_matrix.hpp>

#include "core/devices/backend.hpp"
#include "core/threads/parallel.hpp"
#include "formats/cuda/formats.hpp"
#include "formats/tiles/tile_marks.hpp"

#include <array>
#include <atomic>
#include <cstddef>

namespace bitgraph {

namespace {

constexpr NodeId group_rows = 64;
constexpr std::size_t window = std::size_t{1} << 18;

/// Counts the tiles of every side in one walk over groups of 64 rows. An entry that finds its tile marked at one side
/// has no news for the larger ones either.
class TileCounter {
 public:
  using Counts = std::array<EdgeOffset, tile_dims.size()>;

  void add_group(const CsrPatternView& a, NodeId first_row) {
    for (RowWindows<group_rows, window> windows(a, first_row); windows.next();) {
      for (NodeId r = 0; r < windows.rows(); ++r) {
        std::size_t at = ~std::size_t{0};
        windows.for_each(r, [&](NodeId j) {
          if (at == j / 4) return;
          at = j / 4;
          mark(at);
        });
        forget_after(r + 1 == windows.rows() ? group_rows : r + 1);
      }
    }
  }

  [[nodiscard]] const Counts& counts() const noexcept { return counts_; }

 private:
  /// c is a tile column of side 4.
  void mark(std::size_t c) {
    if (!side4_.add(c)) return;
    ++counts_[0];
    if (!side8_.add(c / 2)) return;
    ++counts_[1];
    if (!side16_.add(c / 4)) return;
    ++counts_[2];
    if (!side32_.add(c / 8)) return;
    ++counts_[3];
    if (side64_.add(c / 16)) ++counts_[4];
  }

  /// Clears the marks of the tile rows that end after `rows` rows of the group.
  void forget_after(NodeId rows) {
    if (rows % 4 == 0) side4_.clear();
    if (rows % 8 == 0) side8_.clear();
    if (rows % 16 == 0) side16_.clear();
    if (rows % 32 == 0) side32_.clear();
    if (rows % 64 == 0) side64_.clear();
  }

  Counts counts_{};
  MarkSet<window / 4> side4_;
  MarkSet<window / 8> side8_;
  MarkSet<window / 16> side16_;
  MarkSet<window / 32> side32_;
  MarkSet<window / 64> side64_;
};

}  // namespace

std::array<EdgeOffset, tile_dims.size()> count_tiles_all(const CsrPattern& a) {
  if (!a.device().is_host()) {
    std::array<EdgeOffset, tile_dims.size()> there{};
    for (std::size_t side = 0; side < there.size(); ++side)
      there[side] = with_cuda<EdgeOffset>(a.device(), "count_tiles", [&](const auto& cuda) {
        return cuda_formats::count_tiles(cuda, a, tile_dims[side]);
      });
    return there;
  }
  std::array<std::atomic<EdgeOffset>, tile_dims.size()> totals{};
  const std::size_t groups = (std::size_t{a.nrows()} + group_rows - 1) / group_rows;
  parallel_chunks(a.device(), groups, 16, [&](Range range) {
    TileCounter counter;
    for (std::size_t g = range.begin; g < range.end; ++g) {
      counter.add_group(a.view(), static_cast<NodeId>(g) * group_rows);
    }
    for (std::size_t side = 0; side < totals.size(); ++side) totals[side] += counter.counts()[side];
  });
  std::array<EdgeOffset, tile_dims.size()> counts{};
  for (std::size_t side = 0; side < counts.size(); ++side) counts[side] = totals[side];
  return counts;
}

EdgeOffset count_tiles(const CsrPattern& a, int tile_dim) {
  if (!a.device().is_host())
    return with_cuda<EdgeOffset>(a.device(), "count_tiles",
                                 [&](const auto& cuda) { return cuda_formats::count_tiles(cuda, a, tile_dim); });
  return with_tile_dim(tile_dim, [&](auto k) {
    constexpr int K = k();
    std::atomic<EdgeOffset> total{0};
    const std::size_t tile_rows = (std::size_t{a.nrows()} + K - 1) / K;
    parallel_chunks(a.device(), tile_rows, 4096 / K, [&](Range range) {
      TileRowMarks<K> marks;
      EdgeOffset tiles = 0;
      for (std::size_t i = range.begin; i < range.end; ++i) tiles += marks.count(a.view(), static_cast<NodeId>(i));
      total += tiles;
    });
    return total.load();
  });
}

}  // namespace bitgraph
