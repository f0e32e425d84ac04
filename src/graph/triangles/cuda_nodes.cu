// SPDX-License-Identifier: Apache-2.0
// The triangles of each node, found in the way of cuda.cu. Every u > v > w is counted at all three nodes. A task adds
// up the counts of its w over all its v before it writes them. It holds these sums in bit slices: 32 sums take seven
// words.
#include "graph/triangles/cuda.cuh"

#include <bitgraph/core/kernel.cuh>
#include "graph/triangles/cuda_lookup.cuh"

namespace bitgraph {

namespace {

using Count = unsigned long long;

constexpr unsigned block_threads = 256;

/// How often each of 32 bits was set in the words added, at most 127 times: plane p has the bits worth 2^p.
class SlicedCounts {
 public:
  __device__ void add(const std::uint32_t (&words)[rows_at_once]) {
    static_assert(rows_at_once == 8);
    const std::uint32_t fours = add_four(words[0], words[1], words[2], words[3]);
    std::uint32_t carry = carry_save(plane_[2], fours, add_four(words[4], words[5], words[6], words[7]));
    for (unsigned p = 3; p < num_planes; ++p) {
      const std::uint32_t next = plane_[p] & carry;
      plane_[p] ^= carry;
      carry = next;
    }
  }

  /// fn(bit, count) for the bits that were set.
  template <class Fn>
  __device__ void each(Fn&& fn) const {
    std::uint32_t any = 0;
    for (const std::uint32_t plane : plane_) any |= plane;
    for (; any != 0; any &= any - 1) {
      const auto bit = static_cast<unsigned>(__ffs(static_cast<int>(any)) - 1);
      unsigned count = 0;
      for (unsigned p = 0; p < num_planes; ++p) count |= (plane_[p] >> bit & 1U) << p;
      fn(bit, count);
    }
  }

 private:
  static constexpr unsigned num_planes = 7;
  static_assert(hub_task < 1U << num_planes);

  /// Adds two words to a plane; the carry.
  __device__ static std::uint32_t carry_save(std::uint32_t& plane, std::uint32_t a, std::uint32_t b) {
    const std::uint32_t odd = plane ^ a;
    const std::uint32_t carry = (plane & a) | (odd & b);
    plane = odd ^ b;
    return carry;
  }

  __device__ std::uint32_t add_four(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
    const std::uint32_t twos = carry_save(plane_[0], a, b);
    return carry_save(plane_[1], twos, carry_save(plane_[0], c, d));
  }

  std::uint32_t plane_[num_planes] = {};
};

__device__ void add_to(Count* count, Count found) {
  if (found != 0) atomicAdd(count, found);
}

__global__ void __launch_bounds__(block_threads) nodes_of_tiny(TriangleLists a, Count* counts) {
  const NodeId u = blockIdx.x * block_threads + threadIdx.x;
  const ListPlace place{u < a.num_nodes ? a.place[u] : 0};
  if (place.length() < 2 || place.length() > tiny_list) return;
  NodeId list[tiny_list];
  unsigned found[tiny_list] = {};
  unsigned all = 0;
  for (unsigned i = 0; i < tiny_list; ++i) list[i] = __ldg(a.neighbours + place.first() + min(i, place.length() - 1));
  for (unsigned j = 1; j < tiny_list; ++j) {
    for (unsigned i = 0; i < j; ++i) {
      if (j >= place.length() || !are_neighbours(a, list[j], list[i])) continue;
      ++found[i];
      ++found[j];
      ++all;
    }
  }
  add_to(counts + u, all);
  for (unsigned i = 0; i < tiny_list; ++i) add_to(counts + list[i], found[i]);
}

/// A warp a task; the bit rows of hubs. A lane counts for the neighbours of its own number.
__global__ void __launch_bounds__(block_threads) nodes_of_hubs(TriangleLists a, Count* counts) {
  const unsigned task = (blockIdx.x * block_threads + threadIdx.x) / 32;
  const unsigned lane = threadIdx.x % 32;
  if (task >= a.num_hub_tasks) return;
  const TriangleTask mine = a.hub_tasks[task];
  const std::uint64_t first = ListPlace{__ldg(a.place + mine.node)}.first();
  const unsigned size = min(mine.begin + hub_task, __ldg(a.num_near + mine.node)) - mine.begin;
  const unsigned num_words = __ldg(a.num_words + mine.node);
  const NodeId* list = a.neighbours + first + mine.begin;
  const NodeId lower = lane < size ? __ldg(list + lane) : 0;
  const NodeId upper = 32 + lane < size ? __ldg(list + 32 + lane) : 0;
  unsigned of_lower = 0;
  unsigned of_upper = 0;
  unsigned before = 0;  // neighbours in the words gone through
  for (unsigned base = 0; base < num_words && before < mine.begin + size; base += 32) {
    const std::uint64_t word = base + lane < num_words ? __ldg(a.words + first + base + lane) : 0;
    const auto at = static_cast<NodeId>(word >> 32U);
    const auto bits = static_cast<std::uint32_t>(word);
    SlicedCounts of_bits;
    for (unsigned j = max(mine.begin, before) - mine.begin; j < size; j += rows_at_once) {
      std::uint32_t row[rows_at_once];
      for (unsigned k = 0; k < rows_at_once; ++k) {
        const unsigned i = j + k;
        const NodeId v = __shfl_sync(full_warp, i < 32 ? lower : upper, i % 32);
        const bool looks = bits != 0 && at <= v / hub_word_bits && i < size;
        row[k] = looks ? __ldg(a.bits + v * a.row_words + at) & bits : 0;
      }
      for (unsigned k = 0; k < rows_at_once; ++k) {
        const unsigned of_row = __reduce_add_sync(full_warp, static_cast<unsigned>(__popc(row[k])));
        if (lane == (j + k) % 32) (j + k < 32 ? of_lower : of_upper) += of_row;
      }
      of_bits.add(row);
    }
    of_bits.each([&](unsigned bit, unsigned count) { atomicAdd(counts + at * hub_word_bits + bit, Count{count}); });
    before += __reduce_add_sync(full_warp, static_cast<unsigned>(__popc(bits)));
  }
  if (lane < size) add_to(counts + lower, of_lower);
  if (32 + lane < size) add_to(counts + upper, of_upper);
  const Count of_node = warp_sum(Count{of_lower} + of_upper);
  if (lane == 0) add_to(counts + mine.node, of_node);
}

/// A warp a task; eight lanes a list.
__global__ void __launch_bounds__(block_threads) nodes_of_far(TriangleLists a, Count* counts) {
  __shared__ std::uint32_t filters[block_threads / 32][Filter::num_words];
  constexpr unsigned group = 8;
  const unsigned lane = threadIdx.x % 32;
  const unsigned task = (blockIdx.x * block_threads + threadIdx.x) / 32;
  if (task >= a.num_far_tasks) return;
  const FarTask mine(a, task, filters[threadIdx.x / 32]);
  Count of_node = 0;
  for (unsigned j = 0; j < mine.size(); j += 32 / group) {
    const unsigned i = j + lane / group;
    const ListPlace place = mine.place(i);
    const NodeId* other = a.neighbours + place.first();
    unsigned of_other = 0;
    for (unsigned e = lane % group; e < place.length(); e += group) {
      const NodeId w = __ldg(other + e);
      if (!mine.has(w)) continue;
      ++of_other;
      atomicAdd(counts + w, Count{1});
    }
    of_node += of_other;
    of_other = warp_sum(of_other, group);
    if (lane % group == 0 && i < mine.size()) add_to(counts + mine.neighbour(i), of_other);
  }
  of_node = warp_sum(of_node);
  if (lane == 0) add_to(counts + mine.node(), of_node);
}

__device__ NodeId row_of(const NodeId* new_id, NodeId node) { return new_id == nullptr ? node : new_id[node]; }

__global__ void give_counts(NodeId n, const NodeId* new_id, const NodeId* rank, const Count* of_rank, Count* counts) {
  const NodeId node = blockIdx.x * block_threads + threadIdx.x;
  if (node < n) counts[node] = of_rank[rank[row_of(new_id, node)]];
}

__device__ void add_of_block(Count found, Count* total) {
  __shared__ Count of_block;
  if (threadIdx.x == 0) of_block = 0;
  __syncthreads();
  found = warp_sum(found);
  if (threadIdx.x % 32 == 0 && found != 0) atomicAdd(&of_block, found);
  __syncthreads();
  if (threadIdx.x == 0) add_to(total, of_block);
  __syncthreads();
}

/// Coefficients; totals[0] gets the sum of the counts, totals[1] that of the pairs of neighbours.
__global__ void give_coefficients(NodeId n, const NodeId* new_id, const unsigned* num_others, const Count* counts,
                                  double* local, Count* totals) {
  const NodeId node = blockIdx.x * block_threads + threadIdx.x;
  Count pairs = 0;
  Count triangles = 0;
  if (node < n) {
    const Count others = num_others[row_of(new_id, node)];
    pairs = others == 0 ? 0 : others * (others - 1) / 2;
    triangles = counts[node];
    local[node] = pairs == 0 ? 0 : static_cast<double>(triangles) / static_cast<double>(pairs);
  }
  add_of_block(triangles, &totals[0]);
  add_of_block(pairs, &totals[1]);
}

Count* as_counts(std::uint64_t* values) { return reinterpret_cast<Count*>(values); }

}  // namespace

void CudaTriangles::count_of_nodes(const NodeId* new_id, std::uint64_t* counts) {
  const NodeId n = lists_.num_nodes;
  if (n == 0) return;
  if (of_rank_.size() != n) of_rank_ = Buffer<std::uint64_t>(n, device_);
  of_rank_.fill(0);
  Count* of_rank = as_counts(of_rank_.data());
  const ScopedCudaDevice scope(device_.index());
  const cudaStream_t stream = stream_of(device_);
  const auto blocks = [](std::size_t warps) { return blocks_for(warps * 32, block_threads); };
  if (lists_.num_hub_tasks != 0) {
    nodes_of_hubs<<<blocks(lists_.num_hub_tasks), block_threads, 0, stream>>>(lists_, of_rank);
    cuda_check_launch("nodes_of_hubs");
  }
  if (lists_.num_far_tasks != 0) {
    nodes_of_far<<<blocks(lists_.num_far_tasks), block_threads, 0, stream>>>(lists_, of_rank);
    cuda_check_launch("nodes_of_far");
  }
  nodes_of_tiny<<<blocks_for(n, block_threads), block_threads, 0, stream>>>(lists_, of_rank);
  cuda_check_launch("nodes_of_tiny");
  give_counts<<<blocks_for(n, block_threads), block_threads, 0, stream>>>(n, new_id, rank_.data(), of_rank,
                                                                          as_counts(counts));
  cuda_check_launch("give_counts");
}

TriangleTotals CudaTriangles::coefficients(const NodeId* new_id, const std::uint64_t* counts, double* local) {
  const NodeId n = lists_.num_nodes;
  if (n == 0) return {};
  Buffer<std::uint64_t> totals(2, 0U, device_);
  const ScopedCudaDevice scope(device_.index());
  give_coefficients<<<blocks_for(n, block_threads), block_threads, 0, stream_of(device_)>>>(
      n, new_id, num_others_.data(), reinterpret_cast<const Count*>(counts), local, as_counts(totals.data()));
  cuda_check_launch("give_coefficients");
  const Buffer<std::uint64_t> found = totals.to(Device{});
  return {found[0] / 3, found[1]};
}

}  // namespace bitgraph
