// SPDX-License-Identifier: Apache-2.0
#include "ops/spmm/cuda/dispatch.cuh"
#include "ops/spmm/instances.hpp"

namespace bitgraph {

[[gnu::used]] constexpr auto spmm_cuda_bits_to_bits = spmm_kernels<Cuda, BitsIn, BitsOut>();

}  // namespace bitgraph
