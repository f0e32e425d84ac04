// SPDX-License-Identifier: Apache-2.0
// What all kernels of spmm agree on.
#pragma once

#include <bitgraph/core/types.hpp>

#include "ops/spmm/tuning.hpp"

namespace bitgraph::spmm_cuda {

constexpr unsigned block_threads = cuda_spmm_tuning().block_threads;
constexpr unsigned block_warps = block_threads / 32;
constexpr NodeId no_row = ~NodeId{0};

}  // namespace bitgraph::spmm_cuda
