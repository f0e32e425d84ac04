// SPDX-License-Identifier: Apache-2.0
// Sums over the rows of a matrix on the host: losses, gradients, statistics.
#pragma once

#include "core/threads/parallel.hpp"
#include "ops/row_parts.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace bitgraph {

/// `width` sums over [0, nrows). add(sums, first, end) adds rows first .. end - 1 to the sums of a part.
template <class Add>
[[nodiscard]] std::vector<double> sum_over_rows(const Device& device, std::size_t nrows, std::size_t width,
                                                const Add& add) {
  const RowParts parts(nrows);
  std::vector<double> partial(std::max<std::size_t>(1, parts.count) * width, 0);
  parallel_chunks(device, parts.count, 1, [&](Range range) {
    for (std::size_t part = range.begin; part < range.end; ++part)
      add(partial.data() + part * width, part * parts.rows, std::min(nrows, (part + 1) * parts.rows));
  });
  for (std::size_t part = 1; part < parts.count; ++part) {
    for (std::size_t f = 0; f < width; ++f) partial[f] += partial[part * width + f];
  }
  partial.resize(width);
  return partial;
}

}  // namespace bitgraph
