// SPDX-License-Identifier: Apache-2.0
// What products cost in each format, as measured: the constants of choice.cpp.
#pragma once

#include <bitgraph/graph/packed_graph.hpp>

#include <array>
#include <cstddef>

namespace bitgraph {

/// Pattern CSR, then the tile sides.
inline constexpr std::size_t num_formats = 1 + tile_dims.size();

/// Nanoseconds of a product in one format on one thread.
struct Cost {
  double call;  ///< whatever the size
  double unit;  ///< an entry of pattern CSR, or a tile
  double row;   ///< a row, or a row of tiles
  double byte;  ///< a byte of the matrix that does not stay in the second-level cache
  double far;   ///< a unit whose part of x is elsewhere than that of the unit before, and not in the first-level cache
};

using Costs = std::array<Cost, num_formats>;

/// Bytes that stay in a cache from one product to the next, beside what else is there: of x, and of the matrix.
inline constexpr double first_level_bytes = 24e3, second_level_bytes = 0.8e6;

/// Of a workload that is a product: ranks (one iteration), values, bits or counts.
[[nodiscard]] const Costs& costs_of(Workload workload);

}  // namespace bitgraph
