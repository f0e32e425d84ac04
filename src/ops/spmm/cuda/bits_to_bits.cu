// SPDX-License-Identifier: Apache-2.0
#include "ops/spmm/cuda/dispatch.cuh"
#include "ops/spmm/instantiate.hpp"

namespace bitgraph {

BITGRAPH_INSTANTIATE_SPMM_TO(Cuda, BitsIn, BitsOut)

}  // namespace bitgraph
