// SPDX-License-Identifier: Apache-2.0
// The kernels of strongly connected components. They do not check and do not allocate.
#pragma once

#include <bitgraph/core/types.hpp>
#include <bitgraph/formats/bit_tile_matrix.hpp>
#include <bitgraph/formats/csr_pattern.hpp>

#include "core/devices/backend.hpp"

#include <cstdint>

namespace bitgraph {

/// A row that is being walked, and how far.
struct StrongComponentsFrame {
  NodeId row = 0;
  NodeId index = 0;        ///< the how-manieth row that was entered
  EdgeOffset at = 0;       ///< position of an entry, or of a tile
  std::uint64_t bits = 0;  ///< of that tile's row, not walked yet
};

template <class Graph>
struct StrongComponentsArgs {
  Graph out;
  NodeId* component = nullptr;              ///< out: a number below the number of components
  NodeId* lowest = nullptr;                 ///< scratch for n rows
  NodeId* stack = nullptr;                  ///< scratch for n rows
  StrongComponentsFrame* frames = nullptr;  ///< scratch for n rows
};

/// Returns the number of components.
template <class Graph>
NodeId strong_components(const Reference& backend, const StrongComponentsArgs<Graph>& args);
template <class Graph>
NodeId strong_components(const Cpu& backend, const StrongComponentsArgs<Graph>& args);

}  // namespace bitgraph
