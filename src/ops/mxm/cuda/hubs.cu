// SPDX-License-Identifier: Apache-2.0
#include "ops/mxm/cuda/hubs.cuh"

namespace bitgraph::mxm_cuda {

namespace {

/// Numbers the hubs from 1 on.
__global__ void number_hubs(CsrPatternView a, std::size_t hub_size, unsigned most, std::uint32_t* place, NodeId* hubs,
                            unsigned* num_hubs) {
  const NodeId i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= a.nrows) return;
  std::uint32_t at = 0;
  if (__ldg(a.row_ptr + i + 1) - __ldg(a.row_ptr + i) >= hub_size) {
    at = atomicAdd(num_hubs, 1U) + 1;
    if (at > most) {
      at = 0;
    } else {
      hubs[at - 1] = i;
    }
  }
  place[i] = at;
}

/// A block a bit row.
__global__ void fill_hubs(CsrPatternView a, const NodeId* hubs, const unsigned* num_hubs, unsigned most,
                          std::uint32_t* bits, std::size_t row_words) {
  const unsigned end = min(*num_hubs, most);
  for (unsigned h = blockIdx.x; h < end; h += gridDim.x) {
    std::uint32_t* row = bits + h * row_words;
    for (std::size_t w = threadIdx.x; w < row_words; w += blockDim.x) row[w] = 0;
    __syncthreads();
    for (EdgeOffset e = __ldg(a.row_ptr + hubs[h]) + threadIdx.x; e < __ldg(a.row_ptr + hubs[h] + 1); e += blockDim.x) {
      const NodeId j = __ldg(a.col_ind + e);
      atomicOr(row + j / 32, 1U << (j % 32));
    }
  }
}

}  // namespace

HubBits HubPlan::make(const Device& device, const CsrPatternView& a, std::byte* memory) const {
  if (num_rows_ == 0) return {};
  const cudaStream_t stream = stream_of(device);
  auto* num_hubs = reinterpret_cast<unsigned*>(memory);
  std::uint32_t* place = num_hubs + 1;
  NodeId* hubs = place + num_rows_;
  std::uint32_t* bits = hubs + most_hubs_;
  const auto most = static_cast<unsigned>(most_hubs_);
  cuda_check(cudaMemsetAsync(num_hubs, 0, sizeof(unsigned), stream), "cudaMemsetAsync");
  number_hubs<<<blocks_for(num_rows_, 256), 256, 0, stream>>>(a, hub_size_, most, place, hubs, num_hubs);
  cuda_check_launch("number_hubs");
  fill_hubs<<<std::min(most, 2048U), 256, 0, stream>>>(a, hubs, num_hubs, most, bits, row_words_);
  cuda_check_launch("fill_hubs");
  return {place, bits, row_words_};
}

}  // namespace bitgraph::mxm_cuda
