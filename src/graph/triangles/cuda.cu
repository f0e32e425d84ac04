// SPDX-License-Identifier: Apache-2.0
// Counts the triangles u > v > w at u: the nodes that the lists of u and v share, for every v in the list of u.
//   short list of u  A thread tests each pair of the neighbours of u for an edge.
//   v is a hub       The hubs in the list of u are words of bits, and a warp holds 32 of them. For each v, the warp
//                    loads the same words of the bit row of v: AND and popcount.
//   v is not a hub   The list of v is short, as are all lists after the hubs. It streams past a filter of the list of
//                    u.
#include "graph/triangles/cuda.cuh"

#include <bitgraph/core/kernel.cuh>
#include "graph/triangles/cuda_lookup.cuh"

namespace bitgraph {

namespace {

constexpr unsigned block_threads = 256;

__device__ void add_of_block(unsigned long long found, unsigned long long* total) {
  __shared__ unsigned long long of_block;
  if (threadIdx.x == 0) of_block = 0;
  __syncthreads();
  found = warp_sum(found);
  if (threadIdx.x % 32 == 0 && found != 0) atomicAdd(&of_block, found);
  __syncthreads();
  if (threadIdx.x == 0 && of_block != 0) atomicAdd(total, of_block);
}

__global__ void __launch_bounds__(block_threads) count_tiny(TriangleLists a, unsigned long long* total) {
  const NodeId u = blockIdx.x * block_threads + threadIdx.x;
  unsigned found = 0;
  const ListPlace place{u < a.num_nodes ? a.place[u] : 0};
  if (place.length() >= 2 && place.length() <= tiny_list) {
    NodeId list[tiny_list];
    for (unsigned i = 0; i < tiny_list; ++i) list[i] = __ldg(a.neighbours + place.first() + min(i, place.length() - 1));
    for (unsigned j = 1; j < tiny_list; ++j) {
      for (unsigned i = 0; i < j; ++i) {
        if (j < place.length() && are_neighbours(a, list[j], list[i])) ++found;
      }
    }
  }
  add_of_block(found, total);
}

/// A warp a task; the bit rows of hubs.
__global__ void __launch_bounds__(block_threads) count_hubs(TriangleLists a, unsigned long long* total) {
  const unsigned task = (blockIdx.x * block_threads + threadIdx.x) / 32;
  const unsigned lane = threadIdx.x % 32;
  unsigned long long found = 0;
  if (task < a.num_hub_tasks) {
    const TriangleTask mine = a.hub_tasks[task];
    const std::uint64_t first = ListPlace{__ldg(a.place + mine.node)}.first();
    const unsigned end = min(mine.begin + hub_task, __ldg(a.num_near + mine.node));
    const unsigned num_words = __ldg(a.num_words + mine.node);
    const NodeId* list = a.neighbours + first;
    const NodeId lower = mine.begin + lane < end ? __ldg(list + mine.begin + lane) : 0;
    const NodeId upper = mine.begin + 32 + lane < end ? __ldg(list + mine.begin + 32 + lane) : 0;
    unsigned before = 0;  // neighbours in the words gone through
    for (unsigned base = 0; base < num_words && before < end; base += 32) {
      const std::uint64_t word = base + lane < num_words ? __ldg(a.words + first + base + lane) : 0;
      const auto at = static_cast<NodeId>(word >> 32U);
      const auto bits = static_cast<std::uint32_t>(word);
      // Neighbours before these words have nothing in them.
      for (unsigned j = max(mine.begin, before) - mine.begin; j < end - mine.begin; j += rows_at_once) {
        std::uint32_t row[rows_at_once];
        for (unsigned k = 0; k < rows_at_once; ++k) {
          const unsigned i = j + k;
          const NodeId v = __shfl_sync(full_warp, i < 32 ? lower : upper, i % 32);
          const bool looks = bits != 0 && at <= v / hub_word_bits && i < end - mine.begin;
          row[k] = looks ? __ldg(a.bits + v * a.row_words + at) : 0;
        }
        unsigned here = 0;
        for (unsigned k = 0; k < rows_at_once; ++k) here += __popc(row[k] & bits);
        found += here;
      }
      before += __reduce_add_sync(full_warp, __popc(bits));
    }
  }
  add_of_block(found, total);
}

/// A warp a task; eight lanes a list.
__global__ void __launch_bounds__(block_threads) count_far(TriangleLists a, unsigned long long* total) {
  __shared__ std::uint32_t filters[block_threads / 32][Filter::num_words];
  constexpr unsigned group = 8;
  const unsigned lane = threadIdx.x % 32;
  const unsigned task = (blockIdx.x * block_threads + threadIdx.x) / 32;
  unsigned long long found = 0;
  if (task < a.num_far_tasks) {
    const FarTask mine(a, task, filters[threadIdx.x / 32]);
    for (unsigned j = 0; j < mine.size(); j += 32 / group) {
      const ListPlace place = mine.place(j + lane / group);
      const NodeId* other = a.neighbours + place.first();
      for (unsigned e = lane % group; e < place.length(); e += 2 * group) {
        const bool second = e + group < place.length();
        const NodeId w = __ldg(other + e);
        const NodeId x = second ? __ldg(other + e + group) : w;
        if (mine.has(w)) ++found;
        if (second && mine.has(x)) ++found;
      }
    }
  }
  add_of_block(found, total);
}

}  // namespace

void launch_triangles(const Device& device, const TriangleLists& lists, std::uint64_t* total) {
  const ScopedCudaDevice scope(device.index());
  const cudaStream_t stream = stream_of(device);
  auto* sum = reinterpret_cast<unsigned long long*>(total);
  cuda_check(cudaMemsetAsync(sum, 0, sizeof(*sum), stream), "cudaMemsetAsync");
  if (lists.num_nodes == 0) return;
  const auto blocks = [](std::size_t warps) { return blocks_for(warps * 32, block_threads); };
  if (lists.num_hub_tasks != 0) {
    count_hubs<<<blocks(lists.num_hub_tasks), block_threads, 0, stream>>>(lists, sum);
    cuda_check_launch("count_hubs");
  }
  if (lists.num_far_tasks != 0) {
    count_far<<<blocks(lists.num_far_tasks), block_threads, 0, stream>>>(lists, sum);
    cuda_check_launch("count_far");
  }
  count_tiny<<<blocks_for(lists.num_nodes, block_threads), block_threads, 0, stream>>>(lists, sum);
  cuda_check_launch("count_tiny");
}

}  // namespace bitgraph
