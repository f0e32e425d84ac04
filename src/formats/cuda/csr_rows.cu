// SPDX-License-Identifier: Apache-2.0
#include "formats/cuda/formats.hpp"

#include <bitgraph/core/kernel.cuh>

#include <bitgraph/formats/csr_pattern.hpp>

#include "formats/cuda/csr_chunks.cuh"

#include <algorithm>

namespace bitgraph::cuda_formats {

namespace {

__global__ void find_chunk_rows(NodeId* chunk_row, NodeId num_chunks, NodeId nrows, EdgeOffset nvals,
                                const EdgeOffset* row_ptr) {
  const NodeId c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c <= num_chunks) chunk_row[c] = csr_chunk_row(c, nrows, nvals, row_ptr);
}

__global__ void find_longest_row(NodeId nrows, const EdgeOffset* row_ptr, unsigned long long* longest_row) {
  unsigned long long longest = 0;
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < nrows; i += step) {
    longest = max(longest, static_cast<unsigned long long>(row_ptr[i + 1] - row_ptr[i]));
  }
  for (unsigned lanes = 16; lanes != 0; lanes /= 2) longest = max(longest, __shfl_xor_sync(full_warp, longest, lanes));
  if (threadIdx.x % 32 == 0) atomicMax(longest_row, longest);
}

}  // namespace

EdgeOffset csr_longest_row(const Cuda& backend, NodeId nrows, const EdgeOffset* row_ptr) {
  const Device& device = backend.device;
  const ScopedCudaDevice scope(device.index());
  Buffer<unsigned long long> longest(1, 0ULL, device);
  const unsigned blocks = std::min(blocks_for(nrows, 1024), 1024U);
  find_longest_row<<<blocks, 256, 0, stream_of(device)>>>(nrows, row_ptr, longest.data());
  cuda_check_launch("find_longest_row");
  return longest.to(Device{})[0];
}

Buffer<NodeId> csr_chunk_rows(const Cuda& backend, NodeId nrows, EdgeOffset nvals, const EdgeOffset* row_ptr) {
  const Device& device = backend.device;
  const ScopedCudaDevice scope(device.index());
  const EdgeOffset items = nrows + nvals;
  const auto num_chunks = static_cast<NodeId>((items + csr_chunk_items - 1) / csr_chunk_items);
  Buffer<NodeId> chunk_row(std::size_t{num_chunks} + 1, device);
  find_chunk_rows<<<blocks_for(std::size_t{num_chunks} + 1, 128), 128, 0, stream_of(device)>>>(
      chunk_row.data(), num_chunks, nrows, nvals, row_ptr);
  cuda_check_launch("find_chunk_rows");
  return chunk_row;
}

}  // namespace bitgraph::cuda_formats
