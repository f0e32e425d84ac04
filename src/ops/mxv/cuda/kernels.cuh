// SPDX-License-Identifier: Apache-2.0
// The CUDA backend of mxv and vxm; instantiated by type of vector in cuda_*.cu.
#pragma once

#include "ops/mxv/cuda/push.cuh"
#include "ops/mxv/cuda/rows.cuh"
#include "ops/mxv/cuda/tiles.cuh"

namespace bitgraph {

template <class S, class Graph, class In, class Out>
void mxv(const Cuda& backend, const MxvArgs<S, Graph, In, Out>& args) {
  const ScopedCudaDevice scope(backend.device.index());
  mxv_cuda::launch_rows(backend.device, args);
}

template <class S, class Graph, class In, class Out>
void vxm(const Cuda& backend, const MxvArgs<S, Graph, In, Out>& args) {
  const ScopedCudaDevice scope(backend.device.index());
  mxv_cuda::launch_push(backend.device, args);
}

}  // namespace bitgraph
