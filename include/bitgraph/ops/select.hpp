// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/core/parallel_loop.hpp>
#include <bitgraph/formats/bit_tile_matrix.hpp>
#include <bitgraph/formats/bit_vector.hpp>
#include <bitgraph/formats/csr_pattern.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace bitgraph {

// Entries of a matrix by where they are. Graph is CsrPattern or BitTileMatrix; the result has the same format, and
// arrays exactly their size. Column j of row i lies on diagonal j - i. O(nvals), for tiles by way of pattern CSR.

/// The entries (i, j) for which keep(i, j) holds. keep is called twice an entry, from the device's threads.
template <class Graph>
[[nodiscard]] Graph select(const Graph& a, const std::function<bool(NodeId i, NodeId j)>& keep);

/// The lower triangle: the entries on `diagonal` and below it. tril(a, -1) leaves the main diagonal out.
template <class Graph>
[[nodiscard]] Graph tril(const Graph& a, std::int64_t diagonal = 0);

/// The upper triangle: the entries on `diagonal` and above it.
template <class Graph>
[[nodiscard]] Graph triu(const Graph& a, std::int64_t diagonal = 0);

/// The entries on a diagonal; those that are not.
template <class Graph>
[[nodiscard]] Graph on_diagonal(const Graph& a, std::int64_t diagonal = 0);
template <class Graph>
[[nodiscard]] Graph off_diagonal(const Graph& a, std::int64_t diagonal = 0);

/// The elements of a vector for which keep(value) holds, as a set. keep is called from the device's threads. O(n).
template <class T, class Keep>
[[nodiscard]] BitVector select(const Buffer<T>& x, Keep&& keep) {
  BitVector kept(x.size(), x.device());
  parallel_loop(x.device(), kept.words().size(), 256, [&](std::size_t begin, std::size_t end) {
    for (std::size_t w = begin; w < end; ++w) {
      std::uint64_t word = 0;
      for (std::size_t i = w * 64; i < std::min(x.size(), w * 64 + 64); ++i) {
        word |= static_cast<std::uint64_t>(keep(x[i]) ? 1 : 0) << (i % 64);
      }
      kept.words()[w] = word;
    }
  });
  return kept;
}

}  // namespace bitgraph
