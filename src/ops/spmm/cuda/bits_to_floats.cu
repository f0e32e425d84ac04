// SPDX-License-Identifier: Apache-2.0
#include "ops/spmm/cuda/dispatch.cuh"
#include "ops/spmm/instances.hpp"

namespace bitgraph {

[[gnu::used]] constexpr auto spmm_cuda_bits_to_floats = spmm_kernels<Cuda, BitsIn, FloatOut>();

}  // namespace bitgraph
