// SPDX-License-Identifier: Apache-2.0
// The CUDA backend of mxv and vxm; instantiated by type of vector in cuda_*.cu.
#pragma once

#include "ops/mxv/cuda/chunk_bits.cuh"
#include "ops/mxv/cuda/chunk_values.cuh"
#include "ops/mxv/cuda/problem.hpp"
#include "ops/mxv/cuda/push.cuh"
#include "ops/mxv/cuda/rows.cuh"
#include "ops/mxv/cuda/short_rows.cuh"
#include "ops/mxv/cuda/tiles.cuh"

namespace bitgraph {

namespace mxv_cuda {

/// Of pattern CSR: the kernel for each kind of matrix.
template <class S, class In, class Out>
void launch_rows(const Device& device, const MxvArgs<S, CsrPatternView, In, Out>& args) {
  using T = typename ValueOf<Out>::type;
  if (args.a.nrows == 0) return;
  const Plan chosen = plan(problem_of(args));
  if (chosen.kernel == Kernel::short_rows) return launch_short_rows(device, args, chosen.lanes);
  // Of small chunks, values are gathered at once.
  const bool is_small = chosen.items == small_chunk;
  if constexpr (is_bits<In>) {
    if (is_small) return launch_chunks<BitChunk<S, Out, small_chunk, 512>, 8>(device, args);
    launch_chunks<BitChunk<S, Out, chunk_of_bits, 512>, 4>(device, args);
  } else {
    if (is_small) return launch_chunks<ValueChunk<S, T, small_chunk, 128, 256>, 8>(device, args);
    launch_chunks<ValueChunk<S, T, chunk_of_values, 512, 128>, 8>(device, args);
  }
}

}  // namespace mxv_cuda

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
