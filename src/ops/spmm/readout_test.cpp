// SPDX-License-Identifier: Apache-2.0
// The readout of many graphs: the product with the matrix of graphs x nodes, and its transpose.
#include <bitgraph/formats/block_diagonal.hpp>
#include <bitgraph/ops/spmm.hpp>

#include "support/cuda_device.hpp"
#include "support/everywhere.hpp"
#include "support/random_matrices.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace bitgraph {
namespace {

using Floats = DenseMatrix<float>;

/// Whole numbers, whose sums are the same in any order.
Floats whole_numbers(std::size_t nrows, std::size_t ncols) {
  Floats x = test::random_dense(nrows, ncols, 1);
  for (float& value : x.values()) value = std::round(100 * value);
  return x;
}

void check(const Device& device) {
  const std::vector<NodeId> first_node{0, 1, 3, 67, 68, 1000};
  const CsrPattern readout = readout_matrix(first_node);
  readout.validate();
  const CsrPattern nodes = readout.to(device), graphs = transpose(readout).to(device);
  for (const std::size_t columns : {1U, 2U, 63U, 65U}) {
    const Floats x = whole_numbers(1000, columns);
    const Floats sums = spmm<DenseMatrix>(nodes, x.to(device));
    const Floats here = sums.to(Device()), back = spmm<DenseMatrix>(graphs, sums).to(Device());
    for (std::size_t g = 0; g + 1 < first_node.size(); ++g) {
      for (std::size_t f = 0; f < columns; ++f) {
        float sum = 0;
        for (NodeId i = first_node[g]; i < first_node[g + 1]; ++i) sum += x(i, f);
        ASSERT_EQ(here(g, f), sum) << "graph " << g << " column " << f;
        for (NodeId i = first_node[g]; i < first_node[g + 1]; ++i) ASSERT_EQ(back(i, f), sum);
      }
    }
  }
}

TEST(Readout, AddsUpTheNodesOfEachGraph) { test::everywhere(check); }

TEST(Readout, TheSameOnADevice) {
  BITGRAPH_REQUIRE_CUDA();
  check(*test::cuda_device());
}

}  // namespace
}  // namespace bitgraph
