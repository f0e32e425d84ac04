// SPDX-License-Identifier: Apache-2.0
// out = A x for pattern CSR on a CUDA device: the kernel for each kind of matrix.
#pragma once

#include "ops/mxv/cuda/chunk_bits.cuh"
#include "ops/mxv/cuda/chunk_values.cuh"
#include "ops/mxv/cuda/problem.hpp"
#include "ops/mxv/cuda/short_rows.cuh"

namespace bitgraph::mxv_cuda {

/// A chunk a warp. The pattern's part is there before the kernels before this one are done.
template <class Kernel, unsigned Warps>
__global__ void __launch_bounds__(32 * Warps) mxv_chunks(const __grid_constant__ typename Kernel::Args args,
                                                         const __grid_constant__ Tails<typename Kernel::T> tails) {
  using Place = typename Kernel::Place;
  using FirstColumns = typename Kernel::FirstColumns;
  __shared__ typename Kernel::Storage storage[Warps];
  trigger_dependent_launch();
  const NodeId c = blockIdx.x * Warps + threadIdx.x / 32;
  if (c >= Place::count(args.a)) return;
  const Place chunk = Place::at(args.a, c);
  const bool all_selected = args.rule.mask == nullptr;
  FirstColumns columns;
  if (all_selected) columns = FirstColumns::load(args.a, chunk, 0);
  Kernel kernel(args, chunk, storage + threadIdx.x / 32);
  wait_for_previous_kernel();
  const bool is_selected = any_selected(args.rule, chunk);
  if (is_selected && !all_selected) columns = FirstColumns::load(args.a, chunk, 0);
  kernel.run(columns, is_selected, c, tails);
}

template <class Kernel, unsigned Warps>
void launch_chunks(const Device& device, const typename Kernel::Args& args) {
  using T = typename Kernel::T;
  static ProgrammaticKernel kernel(mxv_chunks<Kernel, Warps>, "mxv_chunks");
  const NodeId count = Kernel::Place::count(args.a);
  const std::size_t bytes = std::size_t{count} * Tails<T>::words_a_value * sizeof(std::uint64_t);
  const Tails<T> tails{static_cast<std::uint64_t*>(device.zeroed_workspace(bytes))};
  kernel.launch(device, blocks_for(count, Warps), 32 * Warps, 0, args, tails);
}

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

}  // namespace bitgraph::mxv_cuda
