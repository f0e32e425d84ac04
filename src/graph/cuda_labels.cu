// SPDX-License-Identifier: Apache-2.0
#include "graph/cuda_labels.cuh"

#include <bitgraph/core/kernel.cuh>

namespace bitgraph {

namespace {

constexpr unsigned block_threads = 256;

__device__ NodeId row_of(const NodeId* new_id, NodeId node) { return new_id == nullptr ? node : new_id[node]; }

__global__ void find_smallest(NodeId n, const NodeId* new_id, const NodeId* root, NodeId* smallest) {
  const NodeId node = blockIdx.x * block_threads + threadIdx.x;
  if (node >= n) return;
  NodeId* of_root = smallest + root[row_of(new_id, node)];
  if (*of_root > node) atomicMin(of_root, node);
}

__global__ void give_labels(NodeId n, const NodeId* new_id, const NodeId* root, const NodeId* smallest, NodeId* label) {
  const NodeId node = blockIdx.x * block_threads + threadIdx.x;
  if (node < n) label[node] = smallest[root[row_of(new_id, node)]];
}

}  // namespace

void give_smallest_labels(const Device& device, NodeId n, const NodeId* new_id, const NodeId* root, NodeId* smallest,
                          NodeId* label) {
  const ScopedCudaDevice scope(device.index());
  const cudaStream_t stream = stream_of(device);
  const unsigned blocks = blocks_for(n, block_threads);
  cuda_check(cudaMemsetAsync(smallest, 0xFF, std::size_t{n} * sizeof(NodeId), stream), "cudaMemsetAsync");
  find_smallest<<<blocks, block_threads, 0, stream>>>(n, new_id, root, smallest);
  cuda_check_launch("find_smallest");
  give_labels<<<blocks, block_threads, 0, stream>>>(n, new_id, root, smallest, label);
  cuda_check_launch("give_labels");
}

}  // namespace bitgraph
