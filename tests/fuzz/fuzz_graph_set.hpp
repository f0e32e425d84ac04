// SPDX-License-Identifier: Apache-2.0
// What readers of data sets of many graphs promise beside fuzz_promise.hpp.
#pragma once

#include "fuzz_promise.hpp"

#include <bitgraph/io/dataset.hpp>

namespace bitgraph::fuzz {

/// Calls read(), which returns a data set or refuses. Returns 0.
template <class Read>
int check_graph_set(Read&& read) {
  Dataset dataset;
  if (!accepted([&] { dataset = read(); })) return 0;
  dataset.graph.validate();
  dataset.features.pattern.validate();
  dataset.validate();
  expect(dataset.num_graphs() != 0 && dataset.num_classes != 0, "graphs with classes");
  expect(is_symmetric(dataset.graph), "undirected");
  for (NodeId i = 0; i < dataset.graph.nrows(); ++i)
    expect(dataset.features.pattern.row(i).size() == 1, "one feature a node");
  return 0;
}

}  // namespace bitgraph::fuzz
