// SPDX-License-Identifier: Apache-2.0
// The overload of spmm for CUDA devices, which spmm.cpp names in a build with CUDA.
#pragma once

#include "ops/spmm/spmm.hpp"

namespace bitgraph {

/// For every graph but SellView.
template <class Graph, class In, class Out>
void spmm(const Cuda& backend, const SpmmArgs<Graph, In, Out>& args);

}  // namespace bitgraph
