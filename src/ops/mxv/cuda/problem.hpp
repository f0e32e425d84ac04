// SPDX-License-Identifier: Apache-2.0
// The problem that a product on a CUDA device is, from its operands.
#pragma once

#include "ops/mxv/cuda/plan.hpp"
#include "ops/mxv/mxv.hpp"

#include <cstdint>
#include <type_traits>

namespace bitgraph::mxv_cuda {

/// Of mxv; vxm pushes.
template <class S, class Graph, class In, class Out>
Problem problem_of(const MxvArgs<S, Graph, In, Out>& args) {
  Problem problem{.tiles = !std::is_same_v<Graph, CsrPatternView>,
                  .nrows = args.a.nrows,
                  .bits_in = std::is_same_v<In, BitVectorView<>>,
                  .bits_out = std::is_same_v<Out, BitVectorView<std::uint64_t>>};
  if constexpr (std::is_same_v<Graph, CsrPatternView>) {
    problem.entries = args.a.num_entries;
    problem.longest_row = args.a.longest_row;
  }
  return problem;
}

}  // namespace bitgraph::mxv_cuda
