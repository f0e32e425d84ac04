// SPDX-License-Identifier: Apache-2.0
// Searches from many sources in one cooperative launch. Every level is pulled: a row that lacks a source ORs the rows
// of the neighbours that the last level reached, until nothing is missing. A row of 512 bits is two sectors of the
// cache, and four lanes fetch it. So a warp has eight neighbours of a row in flight, and rows of like length are side
// by side in a warp. The bits of active rows are in shared memory where they fit.
#include "core/cuda/cooperative.cuh"
#include "graph/multi_source_bfs/cuda.cuh"

#include <bitgraph/graph/packed_graph.hpp>

#include <bitgraph/core/kernel.cuh>
#include <bitgraph/formats/bit_matrix.hpp>

#include <cooperative_groups.h>

#include <algorithm>
#include <array>
#include <bit>

namespace bitgraph {

namespace {

namespace cg = cooperative_groups;

constexpr unsigned block_threads = 768;
constexpr unsigned block_warps = block_threads / 32;
constexpr unsigned batch = 8;                ///< neighbours that a group of lanes looks at together
constexpr EdgeOffset warp_row = 65;          ///< rows at least so long take a warp
constexpr EdgeOffset block_row = 2049;       ///< and a block
constexpr unsigned num_length_classes = 34;  ///< by the binary length of the row's length, the two above apart

/// A lane's part of a row of sources.
template <unsigned Words>
struct alignas(8 * Words) Piece {
  unsigned long long word[Words];

  __device__ static Piece none() {
    Piece piece;
    for (unsigned w = 0; w < Words; ++w) piece.word[w] = 0;
    return piece;
  }
  __device__ void or_with(const Piece& other) {
    for (unsigned w = 0; w < Words; ++w) word[w] |= other.word[w];
  }
  __device__ Piece without(const Piece& other) const {
    Piece piece;
    for (unsigned w = 0; w < Words; ++w) piece.word[w] = word[w] & ~other.word[w];
    return piece;
  }
  __device__ Piece and_with(const Piece& other) const {
    Piece piece;
    for (unsigned w = 0; w < Words; ++w) piece.word[w] = word[w] & other.word[w];
    return piece;
  }
  __device__ bool any() const {
    unsigned long long all = 0;
    for (unsigned w = 0; w < Words; ++w) all |= word[w];
    return all != 0;
  }
  __device__ void or_from_lane(unsigned distance) {
    for (unsigned w = 0; w < Words; ++w) word[w] |= __shfl_xor_sync(full_warp, word[w], distance);
  }
};

/// What the warps of a block put together.
struct BlockState {
  unsigned long long gathered[most_source_words];
  unsigned long long found[most_source_words];
};

template <unsigned W>
class Searches {
  static constexpr unsigned lanes = W < 2 ? 1 : W / 2;  ///< of a group, which has a row
  static constexpr unsigned groups = 32 / lanes;
  static constexpr unsigned columns_a_lane = batch / lanes;
  using Part = Piece<W / lanes>;

 public:
  __device__ Searches(const CudaMultiSourceArgs& args, BlockState& block, std::uint32_t* shared_active)
      : a_(args),
        block_(block),
        shared_active_(shared_active),
        front_(args.front),
        next_(args.next),
        words_of_set_((args.in.nrows + 31) / 32),
        lane_(threadIdx.x % 32),
        part_(lane_ % lanes),
        group_(lane_ / lanes),
        warp_(threadIdx.x / 32) {}

  __device__ void run() {
    const cg::grid_group grid = cg::this_grid();
    clear();
    grid.sync();
    start();
    grid.sync();
    while (read_wanted()) {
      ++depth_;
      run_level();
      grid.sync();
      note_eccentricities();
      std::uint64_t* front = front_;
      front_ = next_;
      next_ = front;
    }
  }

 private:
  __device__ Part& part_of(std::uint64_t* rows, NodeId row) const {
    return *reinterpret_cast<Part*>(rows + std::size_t{row} * W + part_ * (W / lanes));
  }

  __device__ void clear() {
    const std::size_t step = std::size_t{gridDim.x} * block_threads;
    const std::size_t me = std::size_t{blockIdx.x} * block_threads + threadIdx.x;
    for (std::size_t i = me; i < std::size_t{a_.in.nrows} * W; i += step) a_.seen[i] = 0;
    for (std::size_t i = me; i < std::size_t{3} * words_of_set_; i += step) a_.active[i] = 0;
    for (std::size_t i = me; i < std::size_t{a_.num_sources} * W; i += step) {
      a_.front[std::size_t{row_of(a_.sources[i / W])} * W + i % W] = 0;
    }
    if (me < most_source_words) {
      for (auto& found : a_.found->word) found[me] = 0;
    }
  }

  /// The bits of a level's frontier.
  __device__ std::uint32_t* active_at(int depth) const {
    return a_.active + std::size_t{static_cast<unsigned>(depth) % 3} * words_of_set_;
  }

  __device__ NodeId row_of(NodeId node) const { return a_.new_id == nullptr ? node : a_.new_id[node]; }

  __device__ void start() {
    const unsigned s = blockIdx.x * block_threads + threadIdx.x;
    if (s >= a_.num_sources) return;
    const NodeId row = row_of(a_.sources[s]);
    const unsigned long long bit = 1ULL << (s % 64);
    const std::size_t at = std::size_t{row} * W + s / 64;
    atomicOr(reinterpret_cast<unsigned long long*>(a_.seen + at), bit);
    atomicOr(reinterpret_cast<unsigned long long*>(a_.front + at), bit);
    atomicOr(a_.active + row / 32, 1U << (row % 32));
    atomicOr(&a_.found->word[0][s / 64], bit);
    a_.eccentricity[s] = 0;
    if (a_.level != nullptr) a_.level[std::size_t{a_.sources[s]} * a_.level_stride + s] = 0;
  }

  /// The sources that the last level found anything for: nobody looks for others any more. False if there are none.
  __device__ bool read_wanted() {
    unsigned long long all = 0;
    const auto& found = a_.found->word[depth_ % 3];
    for (unsigned w = 0; w < W; ++w) all |= __ldcg(&found[w]);
    for (unsigned w = 0; w < W / lanes; ++w) wanted_.word[w] = __ldcg(&found[part_ * (W / lanes) + w]);
    return all != 0;
  }

  __device__ void note_eccentricities() const {
    const unsigned s = threadIdx.x;
    if (blockIdx.x != 0 || s >= a_.num_sources) return;
    const unsigned long long word = __ldcg(&a_.found->word[depth_ % 3][s / 64]);
    if (((word >> (s % 64)) & 1U) != 0) a_.eccentricity[s] = depth_;
  }

  __device__ void run_level() {
    const unsigned later = (depth_ + 1) % 3;
    const std::size_t step = std::size_t{gridDim.x} * block_threads;
    for (std::size_t i = std::size_t{blockIdx.x} * block_threads + threadIdx.x; i < words_of_set_; i += step) {
      active_at(depth_ + 1)[i] = 0;
    }
    if (blockIdx.x == 0 && threadIdx.x < most_source_words) a_.found->word[later][threadIdx.x] = 0;
    active_ = active_at(depth_ + 2);
    if (shared_active_ != nullptr) {
      for (unsigned w = threadIdx.x; w < words_of_set_; w += block_threads) shared_active_[w] = __ldcg(active_ + w);
      active_ = shared_active_;
    }
    if (threadIdx.x < most_source_words) block_.found[threadIdx.x] = 0;
    __syncthreads();
    any_ = Part::none();
    for (NodeId i = blockIdx.x; i < a_.rows.blocks; i += gridDim.x) pull_by_block(a_.rows.row[i]);
    const NodeId warp = blockIdx.x * block_warps + warp_;
    const NodeId num_warps = gridDim.x * block_warps;
    for (NodeId i = a_.rows.blocks + warp; i < a_.rows.warps; i += num_warps) pull_by_warp(a_.rows.row[i]);
    for (NodeId i = a_.rows.warps + warp * groups; i < a_.rows.total; i += num_warps * groups) {
      const bool mine = i + group_ < a_.rows.total;
      pull_by_group(mine ? a_.rows.row[i + group_] : 0, mine);
    }
    report();
  }

  __device__ void report() {
    for (unsigned distance = lanes; distance < 32; distance *= 2) any_.or_from_lane(distance);
    if (group_ == 0 && any_.any()) {
      for (unsigned w = 0; w < W / lanes; ++w) atomicOr(&block_.found[part_ * (W / lanes) + w], any_.word[w]);
    }
    __syncthreads();
    if (threadIdx.x < W && block_.found[threadIdx.x] != 0)
      atomicOr(&a_.found->word[depth_ % 3][threadIdx.x], block_.found[threadIdx.x]);
  }

  __device__ void pull_by_group(NodeId row, bool mine) {
    const Part missing = mine ? wanted_.without(part_of(a_.seen, row)) : Part::none();
    const bool lacks = group_any(missing.any());
    const EdgeOffset begin = lacks ? a_.in.row_ptr[row] : 0;
    const EdgeOffset end = lacks ? a_.in.row_ptr[row + 1] : 0;
    const Part sum = gather<false>(begin, end, missing);
    keep(row, sum.and_with(missing));
  }

  __device__ void pull_by_warp(NodeId row) {
    const Part missing = wanted_.without(part_of(a_.seen, row));
    if (!__any_sync(full_warp, missing.any())) return;
    const Part sum = gather<true>(a_.in.row_ptr[row], a_.in.row_ptr[row + 1], missing);
    const Part found = sum.and_with(missing);
    keep(row, group_ == 0 ? found : Part::none());
  }

  /// Warps take turns, 64 neighbours or more each.
  __device__ void pull_by_block(NodeId row) {
    const Part missing = wanted_.without(part_of(a_.seen, row));
    if (!__any_sync(full_warp, missing.any())) return;  // the same for all warps
    if (threadIdx.x < W) block_.gathered[threadIdx.x] = 0;
    __syncthreads();
    const EdgeOffset begin = a_.in.row_ptr[row];
    const EdgeOffset end = a_.in.row_ptr[row + 1];
    const EdgeOffset share = ((end - begin) / block_warps / (batch * groups) + 1) * (batch * groups);
    const EdgeOffset from = begin + warp_ * share;
    if (from < end) {
      const Part sum = gather<true>(from, min(end, from + share), missing);
      if (group_ == 0) {
        for (unsigned w = 0; w < W / lanes; ++w) {
          if (sum.word[w] != 0) atomicOr(&block_.gathered[part_ * (W / lanes) + w], sum.word[w]);
        }
      }
    }
    __syncthreads();
    if (warp_ == 0) {
      Part sum = Part::none();
      for (unsigned w = 0; w < W / lanes; ++w) sum.word[w] = block_.gathered[part_ * (W / lanes) + w];
      keep(row, group_ == 0 ? sum.and_with(missing) : Part::none());
    }
    __syncthreads();
  }

  /// Whether any lane of this lane's group says so.
  __device__ bool group_any(bool mine) const {
    const unsigned votes = __ballot_sync(full_warp, mine);
    return ((votes >> (group_ * lanes)) & ((1U << lanes) - 1U)) != 0;
  }

  __device__ bool is_active(NodeId row) const { return ((active_[row / 32] >> (row % 32)) & 1U) != 0; }

  /// ORs the rows of active neighbours until nothing is missing: of a row of each group, or of one of the whole warp,
  /// whose groups take batches in turn and all have the sum in the end.
  template <bool WholeWarp>
  __device__ Part gather(EdgeOffset begin, EdgeOffset end, const Part& missing) const {
    Part sum = Part::none();
    const EdgeOffset step = WholeWarp ? batch * groups : batch;
    bool lacks = WholeWarp || begin < end;
    for (EdgeOffset e = WholeWarp ? begin + group_ * batch : begin;
         WholeWarp ? e - group_ * batch < end : __any_sync(full_warp, lacks); e += step) {
      NodeId column[columns_a_lane];
      unsigned active = 0;
      for (unsigned c = 0; c < columns_a_lane; ++c) {
        const EdgeOffset at = e + c * lanes + part_;
        column[c] = 0;
        if (!lacks || at >= end) continue;
        column[c] = __ldg(a_.in.col_ind + at);
      }
      for (unsigned c = 0; c < columns_a_lane; ++c) {
        const EdgeOffset at = e + c * lanes + part_;
        if (lacks && at < end && is_active(column[c])) active |= 1U << (c * lanes + part_);
      }
      for (unsigned distance = 1; distance < lanes; distance *= 2)
        active |= __shfl_xor_sync(full_warp, active, distance);
      if (__any_sync(full_warp, active != 0)) {
        for (unsigned b = 0; b < batch; ++b) {
          const NodeId row = __shfl_sync(full_warp, column[b / lanes], static_cast<int>(b % lanes), lanes);
          if (((active >> b) & 1U) != 0) sum.or_with(part_of(front_, row));
        }
        if (WholeWarp) {
          for (unsigned distance = lanes; distance < 32; distance *= 2) sum.or_from_lane(distance);
          if (!__any_sync(full_warp, missing.without(sum).any())) break;
        }
      }
      if (!WholeWarp) lacks = group_any(missing.without(sum).any()) && e + batch < end;
    }
    return sum;
  }

  /// The new bits of a row. Lanes without any may stand for any row.
  __device__ void keep(NodeId row, const Part& found) {
    if (!group_any(found.any())) return;
    Part& seen = part_of(a_.seen, row);
    Part all = seen;
    all.or_with(found);
    seen = all;
    part_of(next_, row) = found;
    any_.or_with(found);
    if (part_ == 0) atomicOr(active_at(depth_) + row / 32, 1U << (row % 32));
    if (a_.level == nullptr) return;
    std::int32_t* level = a_.level + std::size_t{a_.old_id == nullptr ? row : a_.old_id[row]} * a_.level_stride;
    for (unsigned w = 0; w < W / lanes; ++w) {
      for (unsigned long long bits = found.word[w]; bits != 0; bits &= bits - 1) {
        level[(part_ * (W / lanes) + w) * 64 + __ffsll(static_cast<long long>(bits)) - 1] = depth_;
      }
    }
  }

  const CudaMultiSourceArgs& a_;
  BlockState& block_;
  std::uint64_t* front_;
  std::uint64_t* next_;
  std::uint32_t* shared_active_;
  const std::uint32_t* active_ = nullptr;
  unsigned words_of_set_;
  unsigned lane_, part_, group_, warp_;
  int depth_ = 0;
  Part wanted_;
  Part any_;
};

template <unsigned W>
__global__ void __launch_bounds__(block_threads, 1)
    searches_kernel(const __grid_constant__ CudaMultiSourceArgs args, bool shares_active) {
  extern __shared__ __align__(16) std::uint32_t shared_active[];
  __shared__ BlockState block;
  Searches<W>(args, block, shares_active ? shared_active : nullptr).run();
}

constexpr unsigned count_threads = 256;
constexpr unsigned count_slices = 8;

/// reached[s] = rows whose bit s is set: a thread counts one word of many rows in bit slices.
__global__ void __launch_bounds__(count_threads)
    count_columns(const std::uint32_t* rows, NodeId nrows, unsigned words, unsigned num_sources, NodeId* reached) {
  __shared__ unsigned total[64 * most_source_words];
  for (unsigned s = threadIdx.x; s < 64 * most_source_words; s += count_threads) total[s] = 0;
  __syncthreads();
  const unsigned w = threadIdx.x % words;
  const NodeId streams = gridDim.x * (count_threads / words);
  std::uint32_t slice[count_slices] = {};
  unsigned held = 0;
  const auto flush = [&] {
    for (unsigned b = 0; b < 32; ++b) {
      unsigned count = 0;
      for (unsigned k = 0; k < count_slices; ++k) count |= ((slice[k] >> b) & 1U) << k;
      if (count != 0) atomicAdd(&total[w * 32 + b], count);
    }
    for (std::uint32_t& bits : slice) bits = 0;
    held = 0;
  };
  for (NodeId i = blockIdx.x * (count_threads / words) + threadIdx.x / words; i < nrows; i += streams) {
    std::uint32_t carry = __ldg(rows + std::size_t{i} * words + w);
    for (unsigned k = 0; k < count_slices; ++k) {
      const std::uint32_t both = slice[k] & carry;
      slice[k] ^= carry;
      carry = both;
    }
    if (++held == (1U << count_slices) - 1) flush();
  }
  flush();
  __syncthreads();
  for (unsigned s = threadIdx.x; s < num_sources; s += count_threads) {
    if (total[s] != 0) atomicAdd(reached + s, total[s]);
  }
}

/// 0 for a row without entries; else longer rows have smaller classes.
__device__ unsigned class_of(EdgeOffset length) {
  if (length == 0) return 0;
  if (length >= block_row) return 1;
  if (length >= warp_row) return 2;
  return num_length_classes - static_cast<unsigned>(32 - __clz(static_cast<int>(length)));
}

/// Counts the rows of each class, or, where `sorted` is given, puts each row behind those of its class before it.
__global__ void sort_by_class(CsrPatternView in, unsigned* position, NodeId* sorted) {
  __shared__ unsigned count[num_length_classes];
  __shared__ unsigned base[num_length_classes];
  if (threadIdx.x < num_length_classes) count[threadIdx.x] = 0;
  __syncthreads();
  const std::size_t row = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const unsigned mine = row < in.nrows ? class_of(in.row_ptr[row + 1] - in.row_ptr[row]) : 0;
  const unsigned before = mine == 0 ? 0 : atomicAdd(&count[mine], 1U);
  __syncthreads();
  if (threadIdx.x < num_length_classes && count[threadIdx.x] != 0)
    base[threadIdx.x] = atomicAdd(&position[threadIdx.x], count[threadIdx.x]);
  __syncthreads();
  if (sorted != nullptr && mine != 0) sorted[base[mine] + before] = static_cast<NodeId>(row);
}

template <unsigned W>
void launch(const Device& device, const CudaMultiSourceArgs& args) {
  const CudaLimits& limits = cuda_limits(device);
  const std::size_t active_bytes = (std::size_t{args.in.nrows} + 31) / 32 * 4;
  bool shares = active_bytes + sizeof(BlockState) <= limits.shared_bytes_a_block;
  const std::size_t dynamic = shares ? active_bytes : 0;
  allow_shared_bytes(searches_kernel<W>, dynamic, "searches_kernel");
  CudaMultiSourceArgs copy = args;
  void* parameters[] = {&copy, &shares};
  cuda_check(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(searches_kernel<W>), dim3(limits.multiprocessors),
                                         dim3(block_threads), parameters, dynamic, stream_of(device)),
             "searches_kernel");
}

}  // namespace

void launch_multi_source_bfs(const Device& device, const CudaMultiSourceArgs& args) {
  const ScopedCudaDevice scope(device.index());
  switch (args.words) {
    case 1: launch<1>(device, args); break;
    case 2: launch<2>(device, args); break;
    case 4: launch<4>(device, args); break;
    default: launch<8>(device, args); break;
  }
  const cudaStream_t stream = stream_of(device);
  cuda_check(cudaMemsetAsync(args.reached, 0, args.num_sources * sizeof(NodeId), stream), "cudaMemsetAsync");
  const unsigned blocks = std::min(blocks_for(std::size_t{args.in.nrows} * args.words * 2, 64 * count_threads), 1056U);
  count_columns<<<blocks, count_threads, 0, stream>>>(reinterpret_cast<const std::uint32_t*>(args.seen), args.in.nrows,
                                                      args.words * 2, args.num_sources, args.reached);
  cuda_check_launch("count_columns");
}

CudaMultiSourceBfs::CudaMultiSourceBfs(const PackedGraph& graph, std::size_t words)
    : device_(graph.device()), rows_(graph) {
  if (!graph.has_in()) {
    fail(ErrorCode::not_possible,
         device_.name() + ": multi-source BFS needs both directions of the edges: pack the graph with the transpose");
  }
  const std::size_t n = graph.num_nodes();
  seen_ = Buffer<std::uint64_t>(n * words, device_);
  front_ = Buffer<std::uint64_t>(n * words, device_);
  next_ = Buffer<std::uint64_t>(n * words, device_);
  active_ = Buffer<std::uint32_t>(3 * ((n + 31) / 32), device_);
  sources_ = Buffer<NodeId>(64 * words, device_);
  found_ = Buffer<SourcesFound>(1, device_);
  if (!graph.old_id().empty()) old_id_ = Buffer<NodeId>::copy_of(graph.old_id(), device_);
  if (n != 0) sort_rows();
}

void CudaMultiSourceBfs::sort_rows() {
  const ScopedCudaDevice scope(device_.index());
  const CsrPatternView& in = rows_.in();
  sorted_ = Buffer<NodeId>(in.nrows, device_);
  Buffer<unsigned> position(num_length_classes, 0U, device_);
  const unsigned blocks = blocks_for(in.nrows, 1024);
  sort_by_class<<<blocks, 1024, 0, stream_of(device_)>>>(in, position.data(), nullptr);
  cuda_check_launch("sort_by_class");
  const Buffer<unsigned> counts = position.to(Device{});
  std::array<unsigned, num_length_classes> start{};
  unsigned before = 0;
  for (unsigned c = 1; c < num_length_classes; ++c) {
    start[c] = before;
    before += counts[c];
  }
  by_length_ = {sorted_.data(), counts[1], counts[1] + counts[2], before};
  position = Buffer<unsigned>::copy_of(start, device_);
  sort_by_class<<<blocks, 1024, 0, stream_of(device_)>>>(in, position.data(), sorted_.data());
  cuda_check_launch("sort_by_class");
}

void CudaMultiSourceBfs::run(const MultiSourcePass& pass) {
  if (pass.sources.empty()) return;
  Device::copy(sources_.data(), device_, pass.sources.data(), Device{}, pass.sources.size_bytes());
  CudaMultiSourceArgs args;
  args.in = rows_.in();
  args.rows = by_length_;
  args.sources = sources_.data();
  args.num_sources = static_cast<unsigned>(pass.sources.size());
  args.words = static_cast<unsigned>(std::bit_ceil(words_for_bits(pass.sources.size())));
  args.new_id = rows_.new_id();
  args.old_id = old_id_.data();
  args.reached = pass.reached;
  args.eccentricity = pass.eccentricity;
  args.level = pass.level;
  args.level_stride = pass.level_stride;
  args.seen = seen_.data();
  args.front = front_.data();
  args.next = next_.data();
  args.active = active_.data();
  args.found = found_.data();
  launch_multi_source_bfs(device_, args);
}

std::unique_ptr<MultiSourceBfsEngine> make_multi_source_bfs_engine(const Cuda&, const PackedGraph& graph,
                                                                   std::size_t words) {
  return std::make_unique<CudaMultiSourceBfs>(graph, words);
}

}  // namespace bitgraph
