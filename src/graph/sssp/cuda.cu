// SPDX-License-Identifier: Apache-2.0
// Shortest paths in one cooperative launch: delta-stepping without stored buckets.
//
// An edge sets the mark of a row whose distance it lowers. An edge does nothing more than this and the atomic minimum,
// and it waits for neither answer. Each round then scans the marks. It queues every marked row that is nearer than the
// end of the bucket, once, and counts its edges. Farther rows keep their marks. All warps follow equal parts of the
// queue's edges. The next bucket begins when the current one has few edges left, or none.
//
// Distances are compared as their bits: floats that are not negative have the same order as their bits.
#include "core/cuda/cooperative.cuh"
#include "graph/sssp/cuda.cuh"

#include <bitgraph/graph/weighted_graph.hpp>

#include <bitgraph/core/kernel.cuh>

#include <cooperative_groups.h>

#include <algorithm>
#include <limits>
#include <string>
#include <type_traits>

namespace bitgraph {

namespace {

namespace cg = cooperative_groups;

constexpr unsigned block_threads = 512;
constexpr unsigned blocks_at_once = 2;  ///< on a multiprocessor: more would leave too few registers
constexpr unsigned batch = 4;           ///< edges that a lane has under way at a time
constexpr unsigned window_slots = 32 * batch;
constexpr unsigned rows_a_thread = 4;        ///< in a look through the marks
constexpr unsigned long_row = 256;           ///< edges
constexpr double long_row_share = 8;         ///< of a bucket's width such rows have one part
constexpr EdgeOffset few_edges = 1U << 15U;  ///< less does not fill the device
constexpr unsigned long long edge_mask = (1ULL << sssp_edge_bits) - 1;

/// The queue's slots that a warp looks through for 128 edges. The first slot may have none left.
struct Window {
  static constexpr unsigned most_slots = window_slots + 32;
  EdgeOffset first[most_slots];  ///< of the slot's edges those in the window
  unsigned before[most_slots];   ///< edges of the window before them
  std::uint32_t distance[most_slots];
};

/// Rows nearer than `end` are taken on; those with many edges, which it would cost most to take on twice, only where
/// they are nearer than `long_end`.
struct Bucket {
  std::uint32_t end;
  std::uint32_t long_end;
};

struct BlockState {
  Window window[block_threads / 32];
  unsigned long long warp_sums[block_threads / 32];
  unsigned long long base;
};

template <class Weight, class Distance>
class Search {
 public:
  __device__ Search(const CudaSsspArgs<Weight, Distance>& args, BlockState& shared)
      : a_(args),
        shared_(shared),
        distance_(reinterpret_cast<std::uint32_t*>(args.distance)),
        n_(args.out.nrows),
        lane_(threadIdx.x % 32),
        warp_((blockIdx.x * block_threads + threadIdx.x) / 32),
        num_warps_(gridDim.x * block_threads / 32) {}

  __device__ void run() {
    const cg::grid_group grid = cg::this_grid();
    prepare();
    grid.sync();
    Bucket bucket = bucket_from(0);
    unsigned round = 0;
    for (;; ++round) {
      if (blockIdx.x == 0 && threadIdx.x == 0) forget((round + 1) % 3);
      make_queue(round % 3, bucket);
      grid.sync();
      const unsigned long long queued = __ldcg(&a_.control->queued[round % 3]);
      const std::uint32_t nearest = __ldcg(&a_.control->nearest[round % 3]);
      const EdgeOffset edges = queued & edge_mask;
      if (edges == 0 && nearest == unreached_bits()) break;
      if (edges <= a_.few_edges && nearest != unreached_bits()) bucket = bucket_from(nearest);
      if (edges == 0) continue;
      follow(static_cast<unsigned>(queued >> sssp_edge_bits), edges);
      grid.sync();
    }
    count_reached();
    if (blockIdx.x == 0 && threadIdx.x == 0) a_.control->rounds = round;
  }

 private:
  __device__ static std::uint32_t unreached_bits() {
    if constexpr (std::is_same_v<Distance, float>) {
      return 0x7F800000U;  // infinity
    } else {
      return std::numeric_limits<std::int32_t>::max();
    }
  }

  /// A distance one edge on. Whole ones do not pass 2^31 + 255.
  __device__ static std::uint32_t plus(std::uint32_t distance, Weight weight) {
    if constexpr (std::is_same_v<Distance, float>) {
      return __float_as_uint(__uint_as_float(distance) + weight);
    } else {
      return distance + weight;
    }
  }

  /// Where a width from a distance on ends: above it whatever the rounding, so that every bucket takes on a row at
  /// least.
  __device__ static std::uint32_t end_of(std::uint32_t distance, Distance width) {
    std::uint32_t end = 0;
    if constexpr (std::is_same_v<Distance, float>) {
      end = __float_as_uint(__uint_as_float(distance) + width);
    } else {
      end = distance + static_cast<std::uint32_t>(width);
    }
    return min(max(end, distance + 1), unreached_bits());
  }

  __device__ Bucket bucket_from(std::uint32_t distance) const {
    return {end_of(distance, a_.delta), end_of(distance, a_.long_delta)};
  }

  __device__ void forget(unsigned at) {
    a_.control->queued[at] = 0;
    a_.control->nearest[at] = unreached_bits();
  }

  __device__ void prepare() {
    const std::size_t step = std::size_t{gridDim.x} * block_threads;
    const std::size_t me = std::size_t{blockIdx.x} * block_threads + threadIdx.x;
    for (std::size_t v = me; v < n_; v += step) distance_[v] = v == a_.source ? 0 : unreached_bits();
    for (std::size_t w = me; w < (std::size_t{n_} + 31) / 32; w += step)
      a_.pending[w] = w == a_.source / 32 ? 1U << (a_.source % 32) : 0U;
    if (me == 0) {
      forget(0);
      a_.control->reached = 0;
    }
  }

  /// Queues the marked rows of the bucket and takes their marks away; of the others the nearest is found. A row without
  /// edges needs no place in the queue.
  __device__ void make_queue(unsigned at, const Bucket& bucket) {
    constexpr unsigned words_a_block = block_threads / 32 * rows_a_thread;
    const std::size_t num_words = (std::size_t{n_} + 31) / 32;
    std::uint32_t nearest = unreached_bits();
    for (std::size_t tile = blockIdx.x; tile * words_a_block < num_words; tile += gridDim.x) {
      const std::size_t first_word = tile * words_a_block + threadIdx.x / 32 * rows_a_thread;
      std::uint32_t marks[rows_a_thread];
      bool any = false;
      for (unsigned k = 0; k < rows_a_thread; ++k) {
        marks[k] = first_word + k < num_words ? __ldcg(a_.pending + first_word + k) : 0;
        any |= marks[k] != 0;
      }
      if (__syncthreads_or(any) == 0) continue;
      queue_tile(at, bucket, static_cast<NodeId>(first_word), marks, nearest);
    }
    nearest = __reduce_min_sync(full_warp, nearest);
    if (lane_ == 0 && nearest != unreached_bits()) atomicMin(&a_.control->nearest[at], nearest);
  }

  __device__ void queue_tile(unsigned at, const Bucket& bucket, NodeId first_word,
                             const std::uint32_t (&marks)[rows_a_thread], std::uint32_t& nearest) {
    std::uint32_t distance[rows_a_thread];
    EdgeOffset first[rows_a_thread];
    unsigned long long edges[rows_a_thread];
    unsigned long long mine = 0;
    for (unsigned k = 0; k < rows_a_thread; ++k) {
      const NodeId v = (first_word + k) * 32 + lane_;
      const bool marked = ((marks[k] >> lane_) & 1U) != 0;
      distance[k] = marked ? __ldcg(distance_ + v) : unreached_bits();
    }
    for (unsigned k = 0; k < rows_a_thread; ++k) {
      const NodeId v = (first_word + k) * 32 + lane_;
      bool near = distance[k] < bucket.end;
      first[k] = near ? __ldg(a_.out.row_ptr + v) : 0;
      edges[k] = near ? __ldg(a_.out.row_ptr + v + 1) - first[k] : 0;
      if (edges[k] >= long_row && distance[k] >= bucket.long_end) {
        near = false;
        edges[k] = 0;
      }
      const unsigned taken = __ballot_sync(full_warp, near);
      if (lane_ == 0 && taken != 0) a_.pending[first_word + k] = marks[k] & ~taken;
      if (!near) nearest = min(nearest, distance[k]);
      if (edges[k] != 0) mine += (1ULL << sssp_edge_bits) + edges[k];
    }
    unsigned long long place = place_in_queue(at, mine);
    for (unsigned k = 0; k < rows_a_thread; ++k) {
      if (edges[k] == 0) continue;
      const auto slot = static_cast<std::size_t>(place >> sssp_edge_bits);
      a_.queue.first[slot] = first[k];
      a_.queue.edges_before[slot] = place & edge_mask;
      a_.queue.distance[slot] = distance[k];
      place += (1ULL << sssp_edge_bits) + edges[k];
    }
  }

  /// Rows and edges that come before a thread's own: one atomic operation a block.
  __device__ unsigned long long place_in_queue(unsigned at, unsigned long long mine) {
    unsigned long long sum = mine;
    sum = warp_inclusive_sum(sum);
    if (lane_ == 31) shared_.warp_sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
      const unsigned long long of_warp = lane_ < block_threads / 32 ? shared_.warp_sums[lane_] : 0;
      unsigned long long before = of_warp;
      before = warp_inclusive_sum(before);
      if (lane_ == 31) shared_.base = before == 0 ? 0 : atomicAdd(&a_.control->queued[at], before);
      if (lane_ < block_threads / 32) shared_.warp_sums[lane_] = before - of_warp;
    }
    __syncthreads();
    const unsigned long long place = shared_.base + shared_.warp_sums[threadIdx.x / 32] + sum - mine;
    __syncthreads();
    return place;
  }

  /// The queue's edges in equal parts.
  __device__ void follow(unsigned count, EdgeOffset edges) {
    const EdgeOffset share = (edges / num_warps_ / window_slots + 1) * window_slots;
    const EdgeOffset begin = warp_ * share;
    if (begin >= edges) return;
    const EdgeOffset end = min(edges, begin + share);
    unsigned slot = slot_of(count, begin);
    Window& window = shared_.window[threadIdx.x / 32];
    for (EdgeOffset base = begin; base < end; base += window_slots) {
      const unsigned slots = look_at(window, slot, count, base);
      const auto here = static_cast<unsigned>(min(EdgeOffset{window_slots}, end - base));
      slot += follow_window(window, slots, here);
    }
  }

  /// Brings the slots that 128 edges from `base` on lie in, the first of them in `slot`; their number.
  __device__ unsigned look_at(Window& window, unsigned slot, unsigned count, EdgeOffset base) {
    __syncwarp();
    unsigned slots = 0;
    bool more = true;
    while (more && slots < Window::most_slots) {
      const unsigned n = slots + lane_;
      const bool there = slot + n < count;
      const EdgeOffset before = there ? __ldcg(a_.queue.edges_before + slot + n) : base + window_slots;
      // What lies before the window stands at its beginning, which the edges before it make up for.
      const EdgeOffset skipped = before < base ? base - before : 0;
      window.before[n] = static_cast<unsigned>(min(before + skipped - base, EdgeOffset{window_slots}));
      window.first[n] = there ? __ldcg(a_.queue.first + slot + n) + skipped : 0;
      window.distance[n] = there ? __ldcg(a_.queue.distance + slot + n) : 0;
      slots += 32;
      more = __shfl_sync(full_warp, before < base + window_slots, 31);
    }
    __syncwarp();
    return slots;
  }

  /// Follows the window's edges; by how many slots the next window begins later.
  __device__ unsigned follow_window(const Window& window, unsigned slots, unsigned edges) {
    NodeId to[batch];
    std::uint32_t through[batch];
    unsigned last = 0;
    for (unsigned k = 0; k < batch; ++k) {
      const unsigned e = k * 32 + lane_;
      to[k] = n_;
      last = slot_in(window.before, slots, e);
      if (e >= edges) continue;
      const EdgeOffset at = window.first[last] + (e - window.before[last]);
      to[k] = __ldg(a_.out.col_ind + at);
      through[k] = plus(window.distance[last], __ldg(a_.weights + at));
    }
    bool nearer[batch];  // than the nearest cache knows: what has fallen since costs an operation in vain
    for (unsigned k = 0; k < batch; ++k) nearer[k] = to[k] != n_ && through[k] < distance_[to[k]];
    for (unsigned k = 0; k < batch; ++k) {
      if (!nearer[k]) continue;
      atomicMin(distance_ + to[k], through[k]);
      atomicOr(a_.pending + to[k] / 32, 1U << (to[k] % 32));
    }
    return __shfl_sync(full_warp, last, 31);
  }

  /// The last of `slots` slots, a multiple of 32, with before <= edge; the first one has.
  __device__ static unsigned slot_in(const unsigned* before, unsigned slots, unsigned edge) {
    unsigned low = 0;
    for (unsigned size = slots; size > 1;) {
      const unsigned half = size / 2;
      low += before[low + half] <= edge ? half : 0;
      size -= half;
    }
    return low;
  }

  /// The last slot of the queue with edges_before <= edge; the warp looks together.
  __device__ unsigned slot_of(unsigned count, EdgeOffset edge) const {
    unsigned low = 0;
    unsigned high = count;
    while (high - low > 1) {
      const unsigned step = (high - low + 31) / 32;
      const unsigned at = low + lane_ * step;
      const bool below = at < high && __ldcg(a_.queue.edges_before + at) <= edge;
      const unsigned last = 31 - __clz(static_cast<int>(__ballot_sync(full_warp, below)));
      high = min(high, low + (last + 1) * step);
      low += last * step;
    }
    return low;
  }

  __device__ void count_reached() {
    NodeId reached = 0;
    const std::size_t step = std::size_t{gridDim.x} * block_threads;
    for (std::size_t v = std::size_t{blockIdx.x} * block_threads + threadIdx.x; v < n_; v += step)
      reached += __ldcg(distance_ + v) != unreached_bits() ? 1 : 0;
    reached = __reduce_add_sync(full_warp, reached);
    if (lane_ == 0 && reached != 0) atomicAdd(&a_.control->reached, reached);
  }

  const CudaSsspArgs<Weight, Distance>& a_;
  BlockState& shared_;
  std::uint32_t* distance_;
  NodeId n_;
  unsigned lane_;
  unsigned warp_;
  unsigned num_warps_;
};

template <class Weight, class Distance>
__global__ void __launch_bounds__(block_threads, blocks_at_once) search_kernel(CudaSsspArgs<Weight, Distance> args) {
  extern __shared__ __align__(16) unsigned char shared[];
  Search<Weight, Distance>(args, *reinterpret_cast<BlockState*>(shared)).run();
}

}  // namespace

template <class Weight, class Distance>
void launch_sssp(const Device& device, const CudaSsspArgs<Weight, Distance>& args) {
  const ScopedCudaDevice scope(device.index());
  const auto kernel = search_kernel<Weight, Distance>;
  constexpr std::size_t shared = sizeof(BlockState);
  allow_shared_bytes(kernel, shared, "search_kernel");
  const unsigned blocks = resident_blocks(device, kernel, block_threads, shared, "search_kernel");
  CudaSsspArgs<Weight, Distance> copy = args;
  void* parameters[] = {&copy};
  cuda_check(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(kernel), dim3(blocks), dim3(block_threads), parameters,
                                         shared, stream_of(device)),
             "search_kernel");
}

template void launch_sssp(const Device&, const CudaSsspArgs<std::uint8_t, std::int32_t>&);
template void launch_sssp(const Device&, const CudaSsspArgs<float, float>&);

template <class Distance>
CudaSssp<Distance>::CudaSssp(const WeightedGraph& graph)
    : device_(graph.graph().device()), rows_(graph.graph()), control_(1, device_) {
  const std::size_t n = rows_.out().nrows;
  const EdgeOffset edges = graph.graph().num_edges();
  if (n >= std::size_t{1} << sssp_count_bits || edges >= EdgeOffset{1} << sssp_edge_bits) {
    fail(ErrorCode::not_possible, "sssp on a CUDA device: " + std::to_string(n) + " nodes and " +
                                      std::to_string(edges) + " edges, and fewer than 2^30 and 2^34 can be searched");
  }
  if (graph.has_integers()) {
    const Buffer<std::uint8_t> bytes = unpack_weights(graph.integers());
    Buffer<Weight> weights(bytes.size());
    std::copy(bytes.begin(), bytes.end(), weights.begin());
    weights_ = weights.to(device_);
  } else if constexpr (std::is_same_v<Weight, float>) {
    weights_ = Buffer<float>::copy_of(graph.reals(), device_);
  }
  if (rows_.new_id() != nullptr) row_distance_ = Buffer<Distance>(n, device_);
  pending_ = Buffer<std::uint32_t>((n + 31) / 32, device_);
  first_ = Buffer<EdgeOffset>(n, device_);
  edges_before_ = Buffer<EdgeOffset>(n, device_);
  queued_distance_ = Buffer<std::uint32_t>(n, device_);
}

template <class Distance>
NodeId CudaSssp<Distance>::run(NodeId source_row, double delta, Distance* distance) {
  constexpr double widest = std::numeric_limits<std::int32_t>::max();
  const auto width = [=](double value) { return static_cast<Distance>(std::min(value, widest)); };
  const bool reordered = rows_.new_id() != nullptr;
  const CudaSsspArgs<Weight, Distance> args{.out = rows_.out(),
                                            .weights = weights_.data(),
                                            .source = source_row,
                                            .delta = width(delta),
                                            .long_delta = width(delta / long_row_share),
                                            .few_edges = few_edges,
                                            .distance = reordered ? row_distance_.data() : distance,
                                            .pending = pending_.data(),
                                            .queue = {first_.data(), edges_before_.data(), queued_distance_.data()},
                                            .control = control_.data()};
  launch_sssp(device_, args);
  if (reordered) rows_.order(row_distance_.data(), distance);
  SsspControl found{};
  Device::copy(&found, Device{}, control_.data(), device_, sizeof(found));
  return found.reached;
}

template <class Distance>
std::unique_ptr<SsspEngine<Distance>> make_sssp_engine(const Cuda&, const WeightedGraph& graph) {
  return std::make_unique<CudaSssp<Distance>>(graph);
}

template std::unique_ptr<SsspEngine<std::int32_t>> make_sssp_engine(const Cuda&, const WeightedGraph&);
template std::unique_ptr<SsspEngine<float>> make_sssp_engine(const Cuda&, const WeightedGraph&);

}  // namespace bitgraph
