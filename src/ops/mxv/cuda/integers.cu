// SPDX-License-Identifier: Apache-2.0
#include "ops/mxv/cuda/kernels.cuh"
#include "ops/mxv/instances.hpp"

namespace bitgraph {

[[gnu::used]] constexpr auto mxv_cuda_integers = mxv_kernels_of_values<Cuda, std::int32_t>();

}  // namespace bitgraph
