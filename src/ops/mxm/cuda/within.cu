// SPDX-License-Identifier: Apache-2.0
// The product within a mask on a CUDA device: entry (i, j) of the mask is counted once for each k with a(i, k) and
// b(k, j), that is whenever row i of the mask and row k of B meet there. What was not counted is left out.
#include "ops/mxm/cuda/hubs.cuh"
#include "ops/mxm/cuda/meet.cuh"
#include "ops/mxm/cuda/product.cuh"

#include <algorithm>

namespace bitgraph::mxm_cuda {

namespace {

constexpr unsigned block_threads = cuda_mxm_tuning().block_threads;

/// A warp a row: counts the entries of the mask that were met or, with `fill`, writes them from the row's position on.
template <bool fill>
__global__ void __launch_bounds__(block_threads)
    keep_met(CsrPatternView mask, const std::uint32_t* met, EdgeOffset* sizes, NodeId* col_ind, std::uint32_t* counts) {
  const auto i = static_cast<NodeId>((std::size_t{blockIdx.x} * block_threads + threadIdx.x) / 32);
  const unsigned lane = threadIdx.x % 32;
  if (i >= mask.nrows) return;
  const EdgeOffset end = __ldg(mask.row_ptr + i + 1);
  EdgeOffset at = fill ? sizes[i] : 0;
  for (EdgeOffset base = __ldg(mask.row_ptr + i); base < end; base += 32) {
    const EdgeOffset e = base + lane;
    const std::uint32_t count = e < end ? __ldg(met + e) : 0;
    const unsigned kept = __ballot_sync(full_warp, count != 0);
    if (fill && count != 0) {
      const EdgeOffset to = at + __popc(kept & ((1U << lane) - 1));
      col_ind[to] = __ldg(mask.col_ind + e);
      if (counts != nullptr) counts[to] = count;
    }
    at += __popc(kept);
  }
  if (!fill && lane == 0) sizes[i] = at;
}

/// How often each entry of the mask is met.
Buffer<std::uint32_t> count_met(const Device& device, const CsrPatternView& a, const CsrPatternView& b,
                                const CsrPatternView& mask) {
  Buffer<std::uint32_t> met(mask.num_entries, 0U, device);
  const HubPlan mask_plan(mask, a.num_entries);
  const HubPlan b_plan(b, a.num_entries);
  auto* memory = static_cast<std::byte*>(device.workspace(mask_plan.bytes() + b_plan.bytes()));
  const HubBits mask_hubs = mask_plan.make(device, mask, memory);
  const HubBits b_hubs = b_plan.make(device, b, memory + mask_plan.bytes());
  launch_meet(device, a, {mask.row_ptr, mask.col_ind, mask_hubs}, {b.row_ptr, b.col_ind, b_hubs},
              std::max(mask.longest_row, b.longest_row), CountEach{met.data()});
  return met;
}

}  // namespace

SparseRows product_within(const Device& device, const CsrPatternView& a, const CsrPatternView& b,
                          const CsrPatternView& mask, bool counted) {
  SparseRows rows{Buffer<EdgeOffset>(std::size_t{a.nrows} + 1, EdgeOffset{0}, device), Buffer<NodeId>(0, device),
                  Buffer<std::uint32_t>(0, device)};
  if (a.num_entries == 0 || b.num_entries == 0 || mask.num_entries == 0) return rows;
  const Buffer<std::uint32_t> met = count_met(device, a, b, mask);
  const unsigned blocks = blocks_for(std::size_t{mask.nrows} * 32, block_threads);
  const cudaStream_t stream = stream_of(device);
  keep_met<false><<<blocks, block_threads, 0, stream>>>(mask, met.data(), rows.row_ptr.data(), nullptr, nullptr);
  cuda_check_launch("keep_met");
  const EdgeOffset nvals = scan_sizes(device, rows.row_ptr);
  rows.col_ind = Buffer<NodeId>(nvals, device);
  if (counted) rows.counts = Buffer<std::uint32_t>(nvals, device);
  keep_met<true><<<blocks, block_threads, 0, stream>>>(mask, met.data(), rows.row_ptr.data(), rows.col_ind.data(),
                                                       counted ? rows.counts.data() : nullptr);
  cuda_check_launch("keep_met");
  return rows;
}

}  // namespace bitgraph::mxm_cuda
