// SPDX-License-Identifier: Apache-2.0
// The kernels of connected components. They do not check and do not allocate.
#pragma once

#include <bitgraph/core/types.hpp>
#include <bitgraph/formats/bit_tile_matrix.hpp>
#include <bitgraph/formats/csr_pattern.hpp>

#include "core/devices/backend.hpp"

namespace bitgraph {

template <class Graph>
struct ComponentsArgs {
  Graph out;
  Graph in;                ///< out again where the graph is symmetric
  bool symmetric = false;  ///< in is out
  bool has_in = false;     ///< else in is not there
  NodeId* parent;          ///< out, n values: the smallest row of each row's component
};

/// Returns the number of components.
template <class Graph>
NodeId components(const Reference& backend, const ComponentsArgs<Graph>& args);
template <class Graph>
NodeId components(const Cpu& backend, const ComponentsArgs<Graph>& args);

}  // namespace bitgraph
