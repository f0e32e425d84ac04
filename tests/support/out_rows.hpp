// SPDX-License-Identifier: Apache-2.0
// Rows of a result that are stored in other places.
#pragma once

#include <bitgraph/core/types.hpp>
#include <bitgraph/formats/dense_matrix.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace bitgraph::test {

/// Places of so many rows: each once, and the way back is another one.
inline std::vector<NodeId> other_places(std::size_t nrows) {
  std::vector<NodeId> places(nrows);
  for (std::size_t i = 0; i < nrows; ++i) places[i] = static_cast<NodeId>((i + nrows / 3 + 1) % nrows);
  return places;
}

/// Row i is row places[i] of the result.
inline DenseMatrix<float> stored_at(const DenseMatrix<float>& values, std::span<const NodeId> places) {
  DenseMatrix<float> stored(values.nrows(), values.ncols());
  for (std::size_t i = 0; i < places.size(); ++i) std::ranges::copy(values.row(i), stored.row(places[i]).begin());
  return stored;
}

}  // namespace bitgraph::test
