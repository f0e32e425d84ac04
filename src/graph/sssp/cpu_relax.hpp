// SPDX-License-Identifier: Apache-2.0
// Which columns of a row come nearer: all distances of a vector of columns are gathered and compared at once.
#pragma once

#include <bitgraph/core/types.hpp>

#include <cstddef>
#include <cstdint>

namespace bitgraph::sssp_cpu {

inline constexpr std::size_t least_columns = 12;  ///< shorter rows are not worth a call
inline constexpr std::size_t most_columns = 256;

template <class Distance>
struct Nearer {
  NodeId column[most_columns + 16];
  Distance distance[most_columns + 16];
};

/// Finds the columns of `columns[0 .. size)` whose distance is more than `from` and the weight; returns how many.
template <class Weight, class Distance>
using RelaxColumns = std::size_t (*)(const NodeId* columns, const Weight* weights, std::size_t size, Distance from,
                                     const Distance* distance, Nearer<Distance>& found);

/// For the instruction set in use.
template <class Weight, class Distance>
[[nodiscard]] RelaxColumns<Weight, Distance> relax_columns();

}  // namespace bitgraph::sssp_cpu
