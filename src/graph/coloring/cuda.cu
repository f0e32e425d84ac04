// SPDX-License-Identifier: Apache-2.0
// Greedy colouring in one cooperative launch. The neighbours of higher priority of each row are collected once.
// Priorities follow the degrees, so even a hub has few of them. A row looks for the first of these neighbours without
// a colour and continues there in the next round. If there is none, the row takes the smallest colour that these
// neighbours leave free.
#include "graph/coloring/cuda.cuh"

#include <bitgraph/graph/packed_graph.hpp>

#include "core/cuda/cooperative.cuh"
#include "graph/coloring/scramble.hpp"
#include "graph/priority_order.cuh"

#include <cooperative_groups.h>

#include <string>

namespace bitgraph {

namespace {

namespace cg = cooperative_groups;

constexpr unsigned block_threads = 512;
constexpr unsigned small_threads = 256;
constexpr unsigned warps_of_block = block_threads / 32;
constexpr unsigned long_row_blocks = 256;
constexpr EdgeOffset long_row = 4096;  ///< a row with more edges is shared out among all blocks

struct CollectArgs {
  CudaUndirectedView graph;
  const std::uint64_t* priority;
  NodeId* before;
  unsigned* num_before;
  NodeId* long_rows;
  unsigned* num_long;
};

__device__ EdgeOffset first_of(const CudaUndirectedView& graph, NodeId v) {
  return graph.out.row_ptr[v] + (graph.symmetric ? 0 : graph.in.row_ptr[v]);
}

/// As coloring.cpp has it.
__global__ void find_priorities(CudaUndirectedView graph, const NodeId* old_id, ScrambleKeys keys,
                                std::uint64_t* priority) {
  const NodeId v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= graph.nrows()) return;
  priority[v] = std::uint64_t{graph.degree(v)} << 32U | scrambled(old_id == nullptr ? v : old_id[v], keys);
}

/// One step of a warp along a row: lanes whose neighbour is of higher priority, and that neighbour.
__device__ unsigned higher_ones(const CollectArgs& a, const CudaUndirectedView::Row& row, EdgeOffset at,
                                std::uint64_t own, NodeId& neighbor) {
  neighbor = at < row.length ? row[at] : 0;
  return __ballot_sync(full_warp, at < row.length && __ldg(a.priority + neighbor) > own);
}

__device__ unsigned rank_in(unsigned lanes, unsigned lane) {
  return static_cast<unsigned>(__popc(lanes & ((1U << lane) - 1)));
}

/// A row a lane; longer ones by the warp, very long ones later.
__global__ void __launch_bounds__(small_threads) collect_before(CollectArgs a) {
  const NodeId v = blockIdx.x * small_threads + threadIdx.x;
  const unsigned lane = threadIdx.x % 32;
  CudaUndirectedView::Row row;
  if (v < a.graph.nrows()) {
    row = a.graph.row(v);
    unsigned count = 0;
    if (row.length <= lane_edges) {
      const std::uint64_t own = a.priority[v];
      NodeId* before = a.before + first_of(a.graph, v);
      for (EdgeOffset e = 0; e < row.length; ++e) {
        if (__ldg(a.priority + row[e]) > own) before[count++] = row[e];
      }
    }
    if (row.length <= lane_edges || row.length > long_row) a.num_before[v] = count;
    if (row.length > long_row) a.long_rows[atomicAdd(a.num_long, 1U)] = v;
  }
  const bool is_shared = row.length > lane_edges && row.length <= long_row;
  for (unsigned rest = __ballot_sync(full_warp, is_shared); rest != 0; rest &= rest - 1) {
    const NodeId shared = __shfl_sync(full_warp, v, __ffs(static_cast<int>(rest)) - 1);
    const CudaUndirectedView::Row edges = a.graph.row(shared);
    const std::uint64_t own = a.priority[shared];
    NodeId* before = a.before + first_of(a.graph, shared);
    unsigned count = 0;
    for (EdgeOffset e = 0; e < edges.length; e += 32) {
      NodeId neighbor = 0;
      const unsigned higher = higher_ones(a, edges, e + lane, own, neighbor);
      if ((higher >> lane & 1U) != 0) before[count + rank_in(higher, lane)] = neighbor;
      count += static_cast<unsigned>(__popc(higher));
    }
    if (lane == 0) a.num_before[shared] = count;
  }
}

/// In any order: a colour does not depend on it.
__global__ void __launch_bounds__(small_threads) collect_long(CollectArgs a) {
  const unsigned thread = blockIdx.x * small_threads + threadIdx.x;
  const unsigned lane = threadIdx.x % 32;
  const unsigned num_long = *a.num_long;
  for (unsigned i = 0; i < num_long; ++i) {
    const NodeId v = a.long_rows[i];
    const CudaUndirectedView::Row row = a.graph.row(v);
    const std::uint64_t own = a.priority[v];
    NodeId* before = a.before + first_of(a.graph, v);
    for (EdgeOffset first = thread - lane; first < row.length; first += EdgeOffset{gridDim.x} * small_threads) {
      NodeId neighbor = 0;
      const unsigned higher = higher_ones(a, row, first + lane, own, neighbor);
      if (higher == 0) continue;
      unsigned at = 0;
      if (lane == 0) at = atomicAdd(a.num_before + v, static_cast<unsigned>(__popc(higher)));
      at = __shfl_sync(full_warp, at, 0) + rank_in(higher, lane);
      if ((higher >> lane & 1U) != 0) before[at] = neighbor;
    }
  }
}

struct ColorArgs {
  CudaUndirectedView graph;
  const NodeId* before;
  const unsigned* num_before;
  unsigned* resume_at;  ///< of every row, how many of those before it have a colour; zeros before
  std::int32_t* color;  ///< of rows; -1 before
  OpenRows open;
};

class Painter {
 public:
  /// `taken` holds the colours that a warp looks at.
  __device__ Painter(const ColorArgs& args, unsigned* taken) : a_(args), taken_(taken), lane_(threadIdx.x % 32) {}

  /// Whole warps; a row a lane. True where the row got a colour.
  __device__ bool operator()(NodeId v, bool takes_part) const {
    Waiting row;
    if (takes_part) {
      row = {a_.before + first_of(a_.graph, v), a_.num_before[v], a_.resume_at[v]};
      const unsigned end = min(row.length, row.at + static_cast<unsigned>(lane_edges));
      while (row.at < end && color_of(row, row.at) >= 0) ++row.at;
      row.is_undecided = row.at == end && end < row.length;
    }
    for (unsigned rest = __ballot_sync(full_warp, row.is_undecided); rest != 0; rest &= rest - 1) {
      const int owner = __ffs(static_cast<int>(rest)) - 1;
      const unsigned at = look_together(from_lane(row, owner));
      if (static_cast<int>(lane_) == owner) row.at = at;
    }
    const bool is_ready = takes_part && row.at == row.length;
    if (takes_part && !is_ready) a_.resume_at[v] = row.at;
    const bool is_short = row.length <= lane_edges;
    if (is_ready && is_short) __stcg(a_.color + v, free_alone(row));
    for (unsigned rest = __ballot_sync(full_warp, is_ready && !is_short); rest != 0; rest &= rest - 1) {
      const int owner = __ffs(static_cast<int>(rest)) - 1;
      const std::int32_t color = free_together(from_lane(row, owner));
      if (static_cast<int>(lane_) == owner) __stcg(a_.color + v, color);
    }
    return is_ready;
  }

  static constexpr unsigned window = 1024;  ///< colours that are looked at together

 private:
  static constexpr unsigned in_flight = 8;              ///< neighbours that a lane asks for at a time
  static constexpr std::int32_t no_color = 0x7FFFFFFF;  ///< above every window

  struct Waiting {
    const NodeId* before = nullptr;
    unsigned length = 0;
    unsigned at = 0;
    bool is_undecided = false;
  };

  __device__ static Waiting from_lane(const Waiting& row, int owner) {
    const auto before = __shfl_sync(full_warp, reinterpret_cast<unsigned long long>(row.before), owner);
    return {reinterpret_cast<const NodeId*>(before), __shfl_sync(full_warp, row.length, owner),
            __shfl_sync(full_warp, row.at, owner), false};
  }

  __device__ std::int32_t color_of(const Waiting& row, unsigned at) const {
    return __ldcg(a_.color + __ldg(row.before + at));
  }

  /// The colours of neighbours from `at` on, so many of them under way at a time; past the end one that nobody has.
  __device__ void load_colors(const Waiting& row, unsigned at, std::int32_t (&color)[in_flight]) const {
    NodeId before[in_flight];
#pragma unroll
    for (unsigned k = 0; k < in_flight; ++k)
      before[k] = at + k * 32 + lane_ < row.length ? __ldg(row.before + at + k * 32 + lane_) : 0;
#pragma unroll
    for (unsigned k = 0; k < in_flight; ++k)
      color[k] = at + k * 32 + lane_ < row.length ? __ldcg(a_.color + before[k]) : no_color;
  }

  /// The first neighbour without a colour; the length where all have one.
  __device__ unsigned look_together(Waiting row) const {
    for (; row.at < row.length; row.at += in_flight * 32) {
      std::int32_t color[in_flight];
      load_colors(row, row.at, color);
#pragma unroll
      for (unsigned k = 0; k < in_flight; ++k) {
        const unsigned bare = __ballot_sync(full_warp, color[k] < 0);
        if (bare != 0) return row.at + k * 32 + static_cast<unsigned>(__ffs(static_cast<int>(bare)) - 1);
      }
    }
    return row.length;
  }

  /// Of few neighbours: one of the first 64 colours is free.
  __device__ std::int32_t free_alone(const Waiting& row) const {
    unsigned long long taken = 0;
    for (unsigned e = 0; e < row.length; ++e) {
      const std::int32_t color = color_of(row, e);
      if (color < 64) taken |= 1ULL << static_cast<unsigned>(color);
    }
    return __ffsll(static_cast<long long>(~taken)) - 1;
  }

  __device__ std::int32_t free_together(const Waiting& row) const {
    for (std::int32_t first = 0;; first += static_cast<std::int32_t>(window)) {
      taken_[lane_] = 0;
      __syncwarp();
      for (unsigned at = 0; at < row.length; at += in_flight * 32) {
        std::int32_t color[in_flight];
        load_colors(row, at, color);
#pragma unroll
        for (unsigned k = 0; k < in_flight; ++k) {
          const auto in_window = static_cast<unsigned>(color[k] - first);  // huge where it is below the window
          if (in_window < window) atomicOr(&taken_[in_window / 32], 1U << (in_window % 32));
        }
      }
      __syncwarp();
      const unsigned own = taken_[lane_];
      __syncwarp();
      const unsigned with_room = __ballot_sync(full_warp, own != full_warp);
      if (with_room == 0) continue;
      const int word = __ffs(static_cast<int>(with_room)) - 1;
      const unsigned there = __shfl_sync(full_warp, own, word);
      return first + word * 32 + __ffs(static_cast<int>(~there)) - 1;
    }
  }

  const ColorArgs& a_;
  unsigned* taken_;
  unsigned lane_;
};

__global__ void __launch_bounds__(block_threads, 2) color_kernel(ColorArgs args) {
  __shared__ unsigned taken[warps_of_block][Painter::window / 32];
  const Painter painter(args, taken[threadIdx.x / 32]);
  decide_in_rounds(cg::this_grid(), args.graph.nrows(), args.open,
                   [&](NodeId v, bool takes_part) { return painter(v, takes_part); });
}

/// Puts colours into the caller's order and finds how many there are: greedy colours leave no gap.
__global__ void give_colors(NodeId n, const NodeId* new_id, const std::int32_t* of_row, std::int32_t* color,
                            unsigned* count) {
  const NodeId node = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned used = 0;
  if (node < n) {
    const std::int32_t own = of_row[new_id == nullptr ? node : new_id[node]];
    if (new_id != nullptr) color[node] = own;
    used = static_cast<unsigned>(own) + 1;
  }
  used = __reduce_max_sync(full_warp, used);
  if (threadIdx.x % 32 == 0 && used > __ldcg(count)) atomicMax(count, used);
}

}  // namespace

CudaColoring::CudaColoring(const PackedGraph& graph, std::uint64_t seed)
    : device_(graph.device()), rows_(graph), symmetric_(graph.symmetric()) {
  const NodeId n = graph.num_nodes();
  if (n >= NodeId{1} << 31U) {
    fail(ErrorCode::not_possible,
         "greedy colouring on a CUDA device: " + std::to_string(n) + " nodes, and fewer than 2^31 can be coloured");
  }
  num_before_ = Buffer<unsigned>(n, device_);
  resume_at_ = Buffer<unsigned>(n, device_);
  for (Buffer<NodeId>& open : open_) open = Buffer<NodeId>(n, device_);
  if (rows_.new_id() != nullptr) color_ = Buffer<std::int32_t>(n, device_);
  control_ = Buffer<unsigned>(sizeof(OpenRowsControl) / sizeof(unsigned), device_);
  if (n != 0) collect(graph, seed);
}

void CudaColoring::collect(const PackedGraph& graph, std::uint64_t seed) {
  const NodeId n = graph.num_nodes();
  const EdgeOffset edges = graph.num_edges() * (symmetric_ ? 1 : 2);
  before_ = Buffer<NodeId>(edges, device_);
  const Buffer<NodeId> old_id = Buffer<NodeId>::copy_of(graph.old_id(), device_);
  Buffer<std::uint64_t> priority(n, device_);
  Buffer<NodeId> long_rows(edges / long_row + 1, device_);
  Buffer<unsigned> num_long(1, 0U, device_);
  const CollectArgs args{.graph = {rows_.out(), rows_.in(), symmetric_},
                         .priority = priority.data(),
                         .before = before_.data(),
                         .num_before = num_before_.data(),
                         .long_rows = long_rows.data(),
                         .num_long = num_long.data()};
  const ScopedCudaDevice scope(device_.index());
  const cudaStream_t stream = stream_of(device_);
  const unsigned blocks = blocks_for(n, small_threads);
  find_priorities<<<blocks, small_threads, 0, stream>>>(args.graph, old_id.data(), scramble_keys(seed),
                                                        priority.data());
  cuda_check_launch("find_priorities");
  collect_before<<<blocks, small_threads, 0, stream>>>(args);
  cuda_check_launch("collect_before");
  collect_long<<<long_row_blocks, small_threads, 0, stream>>>(args);
  cuda_check_launch("collect_long");
}

std::int32_t CudaColoring::run(std::int32_t* color) {
  const NodeId n = rows_.out().nrows;
  if (n == 0) return 0;
  std::int32_t* of_row = color_.empty() ? color : color_.data();
  const ScopedCudaDevice scope(device_.index());
  const cudaStream_t stream = stream_of(device_);
  cuda_check(cudaMemsetAsync(of_row, 0xFF, n * sizeof(std::int32_t), stream), "cudaMemsetAsync");
  resume_at_.fill(0);
  control_.fill(0);
  auto* control = reinterpret_cast<OpenRowsControl*>(control_.data());
  launch_cooperative<block_threads>(device_, color_kernel, n,
                                    ColorArgs{.graph = {rows_.out(), rows_.in(), symmetric_},
                                              .before = before_.data(),
                                              .num_before = num_before_.data(),
                                              .resume_at = resume_at_.data(),
                                              .color = of_row,
                                              .open = {{open_[0].data(), open_[1].data()}, control}},
                                    "color_kernel");
  give_colors<<<blocks_for(n, small_threads), small_threads, 0, stream>>>(n, rows_.new_id(), of_row, color,
                                                                          &control->result);
  cuda_check_launch("give_colors");
  OpenRowsControl found{};
  Device::copy(&found, Device{}, control, device_, sizeof(found));
  return static_cast<std::int32_t>(found.result);
}

std::unique_ptr<ColoringEngine> make_coloring_engine(const Cuda&, const PackedGraph& graph, std::uint64_t seed) {
  return std::make_unique<CudaColoring>(graph, seed);
}

}  // namespace bitgraph
