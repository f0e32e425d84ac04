// SPDX-License-Identifier: Apache-2.0
// What the tests of sums of levels go over, on the host and on a CUDA device.
#pragma once

#include "ops/spmm/levels/levels.hpp"
#include "support/random_levels.hpp"
#include "support/random_matrices.hpp"

#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/ops/level_spmm.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace bitgraph::level_cases {

struct GraphCase {
  std::string name;
  CsrPattern a;
};

/// One row of all columns, behind rows of none: more neighbours than counters of 8 bits hold, and than those of 16.
inline CsrPattern one_long_row(NodeId columns) {
  std::vector<NodeId> rows(columns, 3), cols(columns);
  for (NodeId j = 0; j < columns; ++j) cols[j] = j;
  return csr_from_edges(5, columns, rows, cols);
}

inline std::vector<GraphCase> graphs() {
  std::vector<GraphCase> all;
  all.push_back({"nothing", test::random_pattern(0, 0, 0, 1)});
  all.push_back({"no entries", test::random_pattern(4, 9, 0, 1)});
  all.push_back({"rectangular", test::random_pattern(90, 33, 0.2, 1)});
  all.push_back({"skewed", test::rmat_pattern(7, 1000, 2)});
  all.push_back({"300 neighbours", one_long_row(300)});
  all.push_back({"5000 neighbours", one_long_row(5000)});
  return all;
}

/// An aggregation with everything that an epilogue has.
struct Aggregation {
  QuantizedMatrix x;
  std::vector<float> row_scale, bias;
  LevelSpmmOptions options;

  Aggregation(const CsrPattern& a, std::size_t width, int bits, ScaleExtent extent, bool offsets)
      : x(test::random_levels(a.ncols(), width, bits, 3)),
        row_scale(test::random_floats(a.nrows(), 4, 0.1F, 1)),
        bias(test::random_floats(width, 5, -1, 1)) {
    x.set_scale(test::random_scale(extent, num_scales(extent, a.ncols(), width), offsets, 6));
    options = {.row_scale = row_scale, .bias = bias, .activation = offsets ? Activation::relu : Activation::none};
  }

  [[nodiscard]] LevelSpmmArgs args(const CsrPattern& a) const {
    LevelSpmmArgs args = level_spmm_args(a, x, a.nrows(), x.ncols(), Device{});
    args.row_scale = row_scale.data();
    args.epilogue.bias = bias.data();
    args.epilogue.activation = options.activation;
    args.epilogue.rounding = options.rounding;
    return args;
  }
};

/// Every graph, width and number of features, with the scales of X in turn.
template <class Fn>
void for_each_aggregation(Fn&& fn) {
  constexpr ScaleExtent extents[] = {ScaleExtent::none, ScaleExtent::tensor, ScaleExtent::column};
  std::size_t turn = 0;
  for (const GraphCase& graph : graphs()) {
    for (const int bits : {2, 4, 8, 12}) {
      for (const std::size_t width : {7U, 63U, 64U, 65U, 129U, 300U}) {
        const ScaleExtent extent = extents[(turn + turn / 6) % 3];
        ++turn;
        SCOPED_TRACE(testing::Message() << graph.name << ", " << bits << " bits, " << width << " features, extent "
                                        << static_cast<int>(extent));
        Aggregation aggregation(graph.a, width, bits, extent, extent == ScaleExtent::column);
        fn(graph.a, aggregation);
      }
    }
  }
}

}  // namespace bitgraph::level_cases
