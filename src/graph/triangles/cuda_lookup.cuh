// SPDX-License-Identifier: Apache-2.0
// Device functions that the triangle kernels share. For .cu files only.
#pragma once

#include "graph/triangles/cuda.cuh"

namespace bitgraph {

inline constexpr unsigned rows_at_once = 8;  ///< bit rows that a warp looks at in one step

/// True if an ascending list has a node.
__device__ inline bool contains(const NodeId* list, unsigned length, NodeId node) {
  unsigned low = 0;
  for (unsigned size = length; size > 1;) {
    const unsigned half = size / 2;
    low += __ldg(list + low + half) <= node ? half : 0;
    size -= half;
  }
  return length != 0 && __ldg(list + low) == node;
}

/// True if w is in the list of v.
__device__ inline bool are_neighbours(const TriangleLists& a, NodeId v, NodeId w) {
  if (v < a.num_hubs) {
    const std::uint32_t word = __ldg(a.bits + v * a.row_words + w / hub_word_bits);
    return ((word >> (w % hub_word_bits)) & 1U) != 0;
  }
  const ListPlace place{__ldg(a.place + v)};
  return contains(a.neighbours + place.first(), place.length(), w);
}

/// A warp's filter: a bit for each value of a hash.
class Filter {
 public:
  static constexpr unsigned num_words = 256;

  __device__ explicit Filter(std::uint32_t* words) : words_(words) {}
  __device__ void clear(unsigned lane) {
    for (unsigned i = lane; i < num_words; i += 32) words_[i] = 0;
  }
  __device__ void insert(NodeId w) { atomicOr(&words_[hash(w) / 32], 1U << (hash(w) % 32)); }
  __device__ bool may_have(NodeId w) const { return ((words_[hash(w) / 32] >> (hash(w) % 32)) & 1U) != 0; }

 private:
  static_assert(num_words * 32 == 1U << 13U);
  __device__ static unsigned hash(NodeId w) { return w * 2654435769U >> (32U - 13U); }
  std::uint32_t* words_;
};

/// A task beyond the hubs, for a warp: the list of its node, of which a filter is made, and the lists of the neighbours
/// that the task is about.
class FarTask {
 public:
  __device__ FarTask(const TriangleLists& a, unsigned task, std::uint32_t* filter_words) : filter_(filter_words) {
    const unsigned lane = threadIdx.x % 32;
    filter_.clear(lane);
    task_ = a.far_tasks[task];
    const ListPlace own{__ldg(a.place + task_.node)};
    list_ = a.neighbours + own.first();
    length_ = own.length();
    end_ = min(task_.begin + far_task, length_);
    __syncwarp();
    for (unsigned i = lane; i < end_; i += 32) filter_.insert(__ldg(list_ + i));
    places_ = task_.begin + lane < end_ ? __ldg(a.place + __ldg(list_ + task_.begin + lane)) : 0;
    __syncwarp();
  }

  [[nodiscard]] __device__ NodeId node() const { return task_.node; }
  [[nodiscard]] __device__ unsigned size() const { return end_ - task_.begin; }  ///< neighbours

  /// Neighbour j, and where its list is: whole warps; nothing behind the last.
  [[nodiscard]] __device__ NodeId neighbour(unsigned j) const { return __ldg(list_ + task_.begin + j); }
  [[nodiscard]] __device__ ListPlace place(unsigned j) const { return {__shfl_sync(full_warp, places_, j)}; }

  /// Whether the node's list has w.
  [[nodiscard]] __device__ bool has(NodeId w) const { return filter_.may_have(w) && contains(list_, length_, w); }

 private:
  TriangleTask task_;
  const NodeId* list_;
  unsigned length_;
  unsigned end_;
  std::uint64_t places_;
  Filter filter_;
};

}  // namespace bitgraph
