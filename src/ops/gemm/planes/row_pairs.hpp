// SPDX-License-Identifier: Apache-2.0
// What products of planes on the host read of A.
#pragma once

#include "core/threads/parallel.hpp"
#include "ops/gemm/planes/planes.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bitgraph {

/// Rows of A as pairs of words, one for each slab of X that they meet: all slabs, or those of a row of tiles.
struct RowPairs {
  static constexpr std::size_t chunk_rows = 64;  ///< that are taken together: a row of tiles
  static constexpr std::size_t slab_words = BitPlanesView<>::slab_words;

  std::vector<std::size_t> slabs;
  std::vector<std::uint64_t> words;  ///< [row][plane][slab][word]
  int planes = 1;

  [[nodiscard]] std::size_t plane_words() const noexcept { return slabs.size() * slab_words; }
  [[nodiscard]] std::size_t row_words() const noexcept { return plane_words() * static_cast<std::size_t>(planes); }
  [[nodiscard]] const std::uint64_t* of(std::size_t row, int plane) const noexcept {
    return words.data() + row * row_words() + static_cast<std::size_t>(plane) * plane_words();
  }

  /// `rows` begin at a multiple of chunk_rows, and there are no more of them.
  void take(const PlaneGemmArgs& args, Range rows);
};

}  // namespace bitgraph
