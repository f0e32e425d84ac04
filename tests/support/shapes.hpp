// SPDX-License-Identifier: Apache-2.0
// Shapes of matrices that tests and benchmarks of several operators share.
#pragma once

#include <cstddef>
#include <ostream>
#include <vector>

namespace bitgraph::test {

struct Shape {
  std::size_t nrows;
  std::size_t ncols;

  friend std::ostream& operator<<(std::ostream& out, const Shape& s) { return out << s.nrows << " x " << s.ncols; }
};

/// Nothing in one direction or both, one row, one column, widths around a word, and more rows than any loop takes
/// serially, so that threads do share them.
inline std::vector<Shape> odd_shapes() {
  return {{0, 0},  {0, 70}, {5, 0},    {1, 1},     {1, 17},   {700, 1},  {3, 15},   {3, 16},   {9, 63},
          {9, 64}, {9, 65}, {517, 33}, {300, 129}, {20, 191}, {20, 192}, {2, 1433}, {601, 200}};
}

/// The features of the citation graphs, and a hidden layer: what a training epoch passes through an operator.
inline std::vector<Shape> training_shapes() { return {{2708, 64}, {2708, 1433}, {3327, 3703}}; }

}  // namespace bitgraph::test
