// SPDX-License-Identifier: Apache-2.0
#include "ops/mxv/cuda/kernels.cuh"
#include "ops/mxv/instances.hpp"

namespace bitgraph {

[[gnu::used]] constexpr auto mxv_cuda_doubles = mxv_kernels_of_values<Cuda, double>();

}  // namespace bitgraph
