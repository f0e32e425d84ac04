// SPDX-License-Identifier: Apache-2.0
// Reductions among the lanes of a warp.
#pragma once

#include <bitgraph/core/kernel.cuh>

namespace bitgraph::mxv_cuda {

/// The reduction of the values of `lanes` lanes side by side, a power of two, in a fixed order; all of them have it.
template <class S, class T>
__device__ T reduce_among(T value, unsigned lanes) {
  for (unsigned step = lanes / 2; step != 0; step /= 2) value = S::add(value, __shfl_xor_sync(full_warp, value, step));
  return value;
}

}  // namespace bitgraph::mxv_cuda
