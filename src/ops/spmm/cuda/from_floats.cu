// SPDX-License-Identifier: Apache-2.0
#include "ops/spmm/cuda/dispatch.cuh"
#include "ops/spmm/instances.hpp"

namespace bitgraph {

[[gnu::used]] constexpr auto spmm_cuda_floats_to_bits = spmm_kernels<Cuda, FloatIn, BitsOut>();
[[gnu::used]] constexpr auto spmm_cuda_floats_to_floats = spmm_kernels<Cuda, FloatIn, FloatOut>();

}  // namespace bitgraph
