// SPDX-License-Identifier: Apache-2.0
// Makes each edge belong to the later of its two nodes.
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/formats/csr_pattern.hpp>

#include "graph/triangles/triangles.hpp"

#include <span>

namespace bitgraph {

/// What OrientedView looks at. In the order of the graph, start and cols are the graph's own.
struct Oriented {
  Buffer<EdgeOffset> start;
  Buffer<NodeId> low, cols;
  Buffer<NodeId> row_of;  ///< the graph's row of each node; empty where the order was left alone
  NodeId num_bit_rows = 0;
  Buffer<std::uint64_t> bits;
};

/// True where sorting by degree would not repay itself: degrees are alike, and not so high that bit rows pay.
[[nodiscard]] bool degrees_are_alike(std::span<const EdgeOffset> row_ptr);

/// In the order of the rows: finds where each row passes its own number.
[[nodiscard]] Oriented orient_in_place(const CsrPattern& a);

/// By falling degree, with bit rows. Rows of the lists are not sorted.
[[nodiscard]] Oriented orient_by_degree(const CsrPattern& a);

}  // namespace bitgraph
