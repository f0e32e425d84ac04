// SPDX-License-Identifier: Apache-2.0
// Sparse matrices as plain sets of entries: what the formats are checked against, and arbitrary ones for properties.
#pragma once

#include <bitgraph/formats/csr_pattern.hpp>

#include <rapidcheck.h>

#include <set>
#include <utility>
#include <vector>

namespace bitgraph::test {

struct EntrySet {
  NodeId nrows = 0;
  NodeId ncols = 0;
  std::set<std::pair<NodeId, NodeId>> entries;

  bool operator==(const EntrySet&) const = default;
};

inline EntrySet entries_of(const CsrPattern& a) {
  EntrySet result{a.nrows(), a.ncols(), {}};
  for (NodeId i = 0; i < a.nrows(); ++i) {
    for (const NodeId j : a.row(i)) result.entries.emplace(i, j);
  }
  return result;
}

inline CsrPattern csr_of(const EntrySet& a, const Device& device = {}) {
  Buffer<EdgeOffset> row_ptr(std::size_t{a.nrows} + 1, EdgeOffset{0}, device);
  Buffer<NodeId> col_ind(a.entries.size(), device);
  for (const auto& [i, j] : a.entries) ++row_ptr[i + 1];
  for (std::size_t i = 0; i < a.nrows; ++i) row_ptr[i + 1] += row_ptr[i];
  std::size_t next = 0;
  for (const auto& [i, j] : a.entries) col_ind[next++] = j;
  return {a.nrows, a.ncols, std::move(row_ptr), std::move(col_ind)};
}

inline EntrySet transposed(const EntrySet& a) {
  EntrySet result{a.ncols, a.nrows, {}};
  for (const auto& [i, j] : a.entries) result.entries.emplace(j, i);
  return result;
}

/// Sides nobody would choose, around the sides of tiles and words.
inline NodeId arbitrary_side() {
  return *rc::gen::oneOf(
      rc::gen::element<NodeId>(0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 200),
      rc::gen::inRange<NodeId>(0, 300));
}

/// Uniform, clustered (entries in few rows and columns, so that rows and tiles stay empty) or full.
inline EntrySet arbitrary_entries(NodeId nrows, NodeId ncols) {
  EntrySet a{nrows, ncols, {}};
  if (nrows == 0 || ncols == 0) return a;
  const int kind = *rc::gen::inRange(0, 4);
  if (kind == 0 && nrows <= 70 && ncols <= 70) {
    for (NodeId i = 0; i < nrows; ++i) {
      for (NodeId j = 0; j < ncols; ++j) a.entries.emplace(i, j);
    }
    return a;
  }
  const NodeId height = kind == 1 ? std::min<NodeId>(nrows, 3) : nrows;
  const NodeId width = kind == 2 ? std::min<NodeId>(ncols, 3) : ncols;
  const NodeId top = *rc::gen::inRange<NodeId>(0, nrows - height + 1);
  const NodeId left = *rc::gen::inRange<NodeId>(0, ncols - width + 1);
  const auto pairs = *rc::gen::container<std::vector<std::pair<NodeId, NodeId>>>(
      rc::gen::pair(rc::gen::inRange<NodeId>(top, top + height), rc::gen::inRange<NodeId>(left, left + width)));
  a.entries.insert(pairs.begin(), pairs.end());
  return a;
}

inline EntrySet arbitrary_matrix() { return arbitrary_entries(arbitrary_side(), arbitrary_side()); }

inline EntrySet arbitrary_square() {
  const NodeId side = arbitrary_side();
  return arbitrary_entries(side, side);
}

/// A permutation of 0 .. n-1.
inline std::vector<NodeId> arbitrary_permutation(NodeId n) {
  std::vector<NodeId> ids(n);
  for (NodeId i = 0; i < n; ++i) ids[i] = i;
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  std::uint64_t state = seed;
  for (NodeId i = n; i > 1; --i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    std::swap(ids[i - 1], ids[(state >> 33) % i]);
  }
  return ids;
}

}  // namespace bitgraph::test
