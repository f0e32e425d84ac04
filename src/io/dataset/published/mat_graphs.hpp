// SPDX-License-Identifier: Apache-2.0
// Data sets of many graphs in MATLAB files of version 5, as those of Shervashidze et al. 2011 (MUTAG, PROTEINS, ...).
#pragma once

#include <bitgraph/io/dataset.hpp>

#include <cstddef>
#include <span>
#include <string>

namespace bitgraph {

/// Reads a MATLAB file with two variables: a struct array with an element for each graph, and the numbers that are the
/// graphs' classes. The struct has the fields
///   am  the adjacency matrix, dense or sparse: what is not 0 is an edge,
///   nl  perhaps: a struct whose field `values` has the label of each node.
/// Other fields and variables count for nothing. Variables may be compressed. Classes are in rising order of the
/// numbers; features as dataset_of() says. Throws bad_input naming the file, the graph and the field. Memory is bounded
/// by the size of the file times 1,040, the most that deflate expands to. O(bytes that it unpacks to).
[[nodiscard]] Dataset read_mat_graphs(std::span<const std::byte> bytes, const std::string& name, const Device& device);

}  // namespace bitgraph
