// SPDX-License-Identifier: Apache-2.0
// The CUDA backend of spmm; instantiated by the types of X and of the output in
// bits_to_bits.cu, bits_to_floats.cu and from_floats.cu.
#pragma once

#include "core/cuda/limits.hpp"
#include "ops/spmm/cuda/problem.hpp"
#include "ops/spmm/cuda/spmm.hpp"
#include "ops/spmm/cuda/sum/launch.cuh"
#include "ops/spmm/cuda/vote/tiles.cuh"

namespace bitgraph {

namespace spmm_cuda {

template <class Graph, class In, class Out>
void launch(const Device& device, const SpmmArgs<Graph, In, Out>& args) {
  const Problem problem = problem_of(args, cuda_limits(device).multiprocessors);
  const Plan chosen = plan(problem);
  if constexpr (std::is_same_v<In, BitsIn>) {
    if (problem.is_vote()) return launch_vote(device, args, chosen);
  }
  launch_sum(device, args, chosen);
}

template <int K>
AnyTiles graph_for_kernels(const BitTileView<K>& a) {
  return AnyTiles::of(a);
}
inline const CsrPatternView& graph_for_kernels(const CsrPatternView& a) { return a; }

}  // namespace spmm_cuda

template <class Graph, class In, class Out>
void spmm(const Cuda& backend, const SpmmArgs<Graph, In, Out>& args) {
  if (args.a.nrows == 0 || args.x.ncols == 0) return;
  const ScopedCudaDevice scope(backend.device.index());
  const auto& graph = spmm_cuda::graph_for_kernels(args.a);
  using Kernels = SpmmArgs<std::remove_cvref_t<decltype(graph)>, In, Out>;
  spmm_cuda::launch(backend.device, Kernels{graph, args.x, args.out, args.col_scale, args.epilogue, args.row_order});
}

}  // namespace bitgraph
