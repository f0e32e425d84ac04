// SPDX-License-Identifier: Apache-2.0
#include "formats/cuda_formats.hpp"

#include "core/cuda.cuh"

#include <bitgraph/formats/csr_pattern.hpp>

#include <algorithm>
#include <array>

namespace bitgraph::cuda_formats {

namespace {

/// Where the diagonal c * csr_chunk_items crosses the merge path of row ends and entries (Merrill and Garland 2016).
__global__ void find_chunk_rows(NodeId* chunk_row, NodeId num_chunks, NodeId nrows, EdgeOffset nvals,
                                const EdgeOffset* row_ptr) {
  const NodeId c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c > num_chunks) return;
  const EdgeOffset diagonal = min(EdgeOffset{c} * csr_chunk_items, EdgeOffset{nrows} + nvals);
  EdgeOffset low = diagonal > nvals ? diagonal - nvals : 0;
  EdgeOffset high = min(diagonal, EdgeOffset{nrows});
  while (low < high) {
    const EdgeOffset middle = (low + high) / 2;
    if (row_ptr[middle + 1] <= diagonal - middle - 1) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  chunk_row[c] = static_cast<NodeId>(low);
}

__global__ void find_facts(NodeId nrows, const EdgeOffset* row_ptr, EdgeOffset nvals, const NodeId* col_ind,
                           CsrFacts* facts) {
  unsigned long long longest = 0;
  unsigned near = 0;
  const std::size_t me = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = me; i < nrows; i += step) {
    longest = max(longest, static_cast<unsigned long long>(row_ptr[i + 1] - row_ptr[i]));
  }
  for (std::size_t e = me; e < nvals; e += step) near += col_ind[e] < csr_near_columns ? 1 : 0;
  for (unsigned lanes = 16; lanes != 0; lanes /= 2)
    longest = max(longest, __shfl_xor_sync(0xFFFFFFFFU, longest, lanes));
  near = __reduce_add_sync(0xFFFFFFFFU, near);
  if (threadIdx.x % 32 != 0) return;
  atomicMax(&facts->longest_row, longest);
  atomicAdd(&facts->near_entries, near);
}

}  // namespace

CsrFacts csr_facts(const Device& device, NodeId nrows, const EdgeOffset* row_ptr, EdgeOffset nvals,
                   const NodeId* col_ind) {
  const ScopedCudaDevice scope(device.index());
  Buffer<CsrFacts> facts = Buffer<CsrFacts>::copy_of(std::array<CsrFacts, 1>{}, device);
  const unsigned blocks = std::min(blocks_for(nrows + nvals, 1024), 1024U);
  find_facts<<<blocks, 256, 0, stream_of(device)>>>(nrows, row_ptr, nvals, col_ind, facts.data());
  cuda_check_launch("find_facts");
  return facts.to(Device{})[0];
}

Buffer<NodeId> csr_chunk_rows(const Device& device, NodeId nrows, EdgeOffset nvals, const EdgeOffset* row_ptr) {
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
