// SPDX-License-Identifier: Apache-2.0
// Graphs that every algorithm on a CUDA device is tried on, and results there beside those on the host.
#pragma once

#include "support/cuda_device.hpp"
#include "support/graph_cases.hpp"

#include <utility>
#include <vector>

namespace bitgraph::test {

/// The host's cases, and what kernels do otherwise for: rows of very many edges, one direction without the other, more
/// rows than run at a time.
inline std::vector<GraphCase> cases_for_cuda() {
  std::vector<GraphCase> cases = undirected_cases();
  for (GraphCase& directed : directed_cases()) cases.push_back(std::move(directed));
  std::vector<NodeId> rows;
  std::vector<NodeId> cols;
  for (NodeId i = 0; i < 27000; ++i) rows.push_back(29999 - i % 3), cols.push_back(i);
  cases.push_back({"stars of 9000 side by side", csr_from_edges(30000, 30000, rows, cols, {.symmetrize = true})});
  rows.clear();
  cols.clear();
  for (NodeId i = 0; i < 20000; ++i) rows.push_back(24990 + i % 2), cols.push_back(i);
  for (NodeId i = 0; i < 9000; ++i) rows.push_back(i), cols.push_back(24992);
  cases.push_back({"arcs from and to hubs", csr_from_edges(25000, 25000, rows, cols)});
  cases.push_back({"uniform", generate_uniform(20000, 200000, 2)});
  cases.push_back({"directed of some size", random_pattern(20000, 20000, 2e-4, 11)});
  cases.push_back({"R-MAT of some size", generate_rmat(14, 12, 3)});
  return cases;
}

/// Equal values, and on the device.
template <class T>
void expect_same(const Buffer<T>& expected, const Buffer<T>& there, const Device& device) {
  ASSERT_EQ(expected.size(), there.size());
  if (!there.empty()) {
    EXPECT_EQ(there.device(), device);
  }
  const Buffer<T> actual = there.to(Device{});
  for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(expected[i], actual[i]) << "node " << i;
}

}  // namespace bitgraph::test
