// SPDX-License-Identifier: Apache-2.0
// The kernels of maximal independent sets. They do not check and do not allocate.
#pragma once

#include "core/devices/backend.hpp"
#include "graph/independent_set/state.hpp"
#include "graph/priority_order.hpp"

namespace bitgraph {

template <class Graph>
struct IndependentSetArgs {
  UndirectedView<Graph> graph;
  const std::uint64_t* priority = nullptr;  ///< of rows, all different
  std::uint8_t* state = nullptr;            ///< out: inside or outside
  NodeId* open = nullptr;                   ///< scratch for n rows
};

template <class Graph>
void independent_set(const Reference& backend, const IndependentSetArgs<Graph>& args);
template <class Graph>
void independent_set(const Cpu& backend, const IndependentSetArgs<Graph>& args);

}  // namespace bitgraph
