// SPDX-License-Identifier: Apache-2.0
// out = A x for pattern CSR on a CUDA device, chunk by chunk.
#pragma once

#include "core/cuda/launch.cuh"
#include "ops/mxv/cuda/rules.cuh"
#include "ops/mxv/cuda/tails.cuh"

#include <cstddef>
#include <cstdint>

namespace bitgraph::mxv_cuda {

/// False where all rows of the chunk lie outside the mask. For a whole warp.
template <class Place>
__device__ bool any_selected(const OutputRule& rule, const Place& chunk) {
  if (rule.mask == nullptr) return true;
  bool any = false;
  for (NodeId w = chunk.row / 32 + threadIdx.x % 32; w <= (chunk.end_of_all - 1) / 32; w += 32) {
    any |= (selected_word(rule, w) & rows_of_word(w, chunk.row, chunk.end_of_all)) != 0;
  }
  return __any_sync(full_warp, any) != 0;
}

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

}  // namespace bitgraph::mxv_cuda
