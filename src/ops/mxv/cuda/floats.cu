// SPDX-License-Identifier: Apache-2.0
#include "ops/mxv/cuda/kernels.cuh"
#include "ops/mxv/instantiate.hpp"

namespace bitgraph {

BITGRAPH_INSTANTIATE_MXV_VALUES(Cuda, float)

}  // namespace bitgraph
