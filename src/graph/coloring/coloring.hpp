// SPDX-License-Identifier: Apache-2.0
// The kernels of greedy colouring. They do not check and do not allocate.
#pragma once

#include "core/devices/backend.hpp"
#include "graph/priority_order.hpp"

namespace bitgraph {

template <class Graph>
struct ColoringArgs {
  UndirectedView<Graph> graph;
  const std::uint64_t* priority = nullptr;  ///< of rows, all different
  std::int32_t* color = nullptr;            ///< out
  NodeId* open = nullptr;                   ///< scratch for n rows
};

template <class Graph>
void color_rows(const Reference& backend, const ColoringArgs<Graph>& args);
template <class Graph>
void color_rows(const Cpu& backend, const ColoringArgs<Graph>& args);

}  // namespace bitgraph
