// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>

namespace bitgraph {

/// How a sum over rows is cut into parts: by the number of rows alone. The sums of the parts are joined in their order,
/// so it does not matter who adds up which part.
struct RowParts {
  static constexpr std::size_t least_rows = 128;
  static constexpr std::size_t most_parts = 512;

  std::size_t rows;  ///< of a part; the last one may have fewer
  std::size_t count;

  explicit RowParts(std::size_t nrows)
      : rows(std::max(least_rows, (nrows + most_parts - 1) / most_parts)), count((nrows + rows - 1) / rows) {}
};

}  // namespace bitgraph
