// SPDX-License-Identifier: Apache-2.0
// An iteration over strips, with one block on each multiprocessor. A list is sorted by slot. Each thread adds up one
// run of the list: while the slot stays the same, it accumulates; then it adds the sum to the slot. No other thread
// writes that slot at the time, because the other runs that meet the slot come earlier and end with it. The sums at
// the ends of runs are combined along the warp, and those at the ends of warps along the block. Only then do they go
// to their slots. The order of additions is always the same.
#include "graph/pagerank/cuda_strips.cuh"

#include "core/cuda/bulk_copy.cuh"
#include "core/cuda/cooperative.cuh"

#include <utility>

namespace bitgraph::pagerank_cuda {

namespace {

constexpr unsigned threads = strip_threads;
constexpr unsigned warps = threads / 32;
constexpr unsigned near_ahead = 2;  ///< times entries_together that a thread has under way
constexpr unsigned far_ahead = 4;   ///< pairs of far ones
constexpr unsigned column_mask = (1U << strip_column_bits) - 1;

/// A slot and what there is for it.
struct Part {
  unsigned slot = 0;
  float sum = 0;
};

/// A block's shared memory: a strip with four zeros behind it, the sums of slots, what warps end with.
struct Shared {
  float* strip;
  float* sums;
  Part* ends;
  unsigned arrived;  ///< barrier

  __device__ Shared(unsigned char* bytes, const StripView& a)
      : strip(reinterpret_cast<float*>(bytes)),
        sums(strip + a.deal.strip() + 4),
        ends(reinterpret_cast<Part*>(sums + (a.all_slots + 1) / 2 * 2)),
        arrived(bulk_copy::shared_address(ends + warps)) {}
};

/// Entries of one thread that lie together.
struct Entries {
  std::uint32_t of[entries_together];

  __device__ static Entries load(const std::uint32_t* place) {
    static_assert(entries_together == 4);
    Entries entries;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(entries.of[0]), "=r"(entries.of[1]), "=r"(entries.of[2]), "=r"(entries.of[3])
                 : "l"(place));
    return entries;
  }
};

/// Every lane's sum becomes that of the lanes before it with the same slot, and its own.
__device__ Part scan_slots(Part part) {
  const unsigned lane = threadIdx.x % 32;
  for (unsigned distance = 1; distance < 32; distance *= 2) {
    const float sum = __shfl_up_sync(full_warp, part.sum, distance);
    const unsigned slot = __shfl_up_sync(full_warp, part.slot, distance);
    if (lane >= distance && slot == part.slot) part.sum += sum;
  }
  return part;
}

class Block {
 public:
  __device__ Block(const StripArgs& args, const Shared& shared)
      : args_(args), a_(args.pattern), shared_(shared), thread_(threadIdx.x) {}

  /// Everything empty, and the first strip asked for.
  __device__ void begin() {
    for (unsigned t = thread_; t < a_.all_slots; t += threads) shared_.sums[t] = 0;
    if (thread_ < 4) shared_.strip[a_.deal.strip() + thread_] = 0;
    if (thread_ == 0) {
      bulk_copy::init(shared_.arrived, 1);
      bulk_copy::show_barriers();
    }
    __syncthreads();
    fetch(0);
  }

  /// What is near. A thread has the next entries under way whatever strip they are of.
  __device__ void add_near() {
    const unsigned first = __ldg(a_.near_begin + blockIdx.x);
    const unsigned all = __ldg(a_.near_begin + blockIdx.x + 1) - first;
    const std::uint32_t* entries = a_.near + (std::size_t{first} * threads + thread_) * entries_together;
    const auto load = [&](unsigned k) {
      return Entries::load(entries + std::size_t{min(k, all - 1)} * threads * entries_together);
    };
    Entries next[near_ahead];
    for (unsigned k = 0; k < near_ahead && all != 0; ++k) next[k] = load(k);
    unsigned k = 0;
    for (unsigned s = 0; s < a_.num_near; ++s) {
      const unsigned end = __ldg(a_.near_end + blockIdx.x * a_.num_near + s);
      bulk_copy::wait(shared_.arrived, s % 2);
      const bool any = k < end;
      Part part{any ? next[0].of[0] >> strip_column_bits : 0};
      for (; k < end; ++k) {
        const Entries now = next[0];
        for (unsigned n = 0; n + 1 < near_ahead; ++n) next[n] = next[n + 1];
        next[near_ahead - 1] = load(k + near_ahead);
        float value[entries_together];
        for (unsigned n = 0; n < entries_together; ++n) value[n] = shared_.strip[now.of[n] & column_mask];
        for (unsigned n = 0; n < entries_together; ++n) add(part, now.of[n] >> strip_column_bits, value[n]);
      }
      if (any) end_warp(part);
      __syncthreads();
      fetch(s + 1);
      if (any) end_block();
    }
  }

  /// What is far: it comes from the second-level cache, like the entries.
  __device__ void add_far() {
    const unsigned end = __ldg(a_.far_begin + blockIdx.x + 1);
    unsigned k = __ldg(a_.far_begin + blockIdx.x);
    if (k == end) return;
    const ulonglong2* entries = a_.far + thread_;
    Part part{static_cast<unsigned>(__ldg(&entries[std::size_t{k} * threads].x) >> 32)};
    for (; k < end; k += far_ahead) {
      ulonglong2 entry[far_ahead];
      float value[2 * far_ahead];
      for (unsigned n = 0; n < far_ahead; ++n) entry[n] = __ldg(entries + std::size_t{min(k + n, end - 1)} * threads);
      for (unsigned n = 0; n < far_ahead; ++n) {
        value[2 * n] = __ldg(args_.nodes.share + static_cast<unsigned>(entry[n].x));
        value[2 * n + 1] = __ldg(args_.nodes.share + static_cast<unsigned>(entry[n].y));
      }
      for (unsigned n = 0; n < far_ahead && k + n < end; ++n) {
        add(part, static_cast<unsigned>(entry[n].x >> 32), value[2 * n]);
        add(part, static_cast<unsigned>(entry[n].y >> 32), value[2 * n + 1]);
      }
    }
    end_warp(part);
    __syncthreads();
    end_block();
  }

  /// The nodes of this block but for long rows, whose pieces are left for the last block.
  __device__ Totals step(const Step<float>& take) {
    Totals mine;
    for (unsigned t = thread_; t * a_.deal.blocks < a_.deal.n; t += threads) {
      if (a_.deal.node(blockIdx.x, t) >= a_.deal.n) continue;
      const NodeId place = a_.deal.place(blockIdx.x, t);
      if (a_.num_long != 0 && (__ldg(a_.is_long + place / 32) >> (place % 32) & 1U) != 0) continue;
      mine = mine + take(place, t < a_.num_slots ? shared_.sums[t] : 0.0F, args_.next_share);
    }
    for (unsigned t = a_.num_slots + thread_; t < a_.all_slots; t += threads) {
      const unsigned piece = (t - a_.num_slots) * a_.deal.blocks + blockIdx.x;
      if (piece < a_.num_pieces) args_.piece_sum[piece] = shared_.sums[t];
    }
    return mine;
  }

  /// Long rows, by the last block.
  __device__ Totals step_long(const Step<float>& take) {
    Totals mine;
    for (unsigned l = thread_; l < a_.num_long; l += threads) {
      const LongRow row = a_.long_rows[l];
      if (row.num_pieces == 0) continue;
      float sum = 0;
      for (unsigned n = 0; n < row.num_pieces; ++n) sum += __ldcg(args_.piece_sum + row.first_piece + n);
      mine = mine + take(row.place, sum, args_.next_share);
    }
    return mine;
  }

 private:
  /// Asks for strip s; the one before it is no longer needed.
  __device__ void fetch(unsigned s) {
    if (thread_ != 0 || s >= a_.num_near) return;
    const auto bytes = static_cast<unsigned>(a_.deal.strip() * sizeof(float));
    bulk_copy::arrive_and_expect(shared_.arrived, bytes);
    bulk_copy::bring(bulk_copy::shared_address(shared_.strip), args_.nodes.share + std::size_t{s} * a_.deal.strip(),
                     bytes, shared_.arrived);
  }

  __device__ void add(Part& part, unsigned slot, float value) {
    if (slot != part.slot) {
      shared_.sums[part.slot] += part.sum;
      part = {slot, 0};
    }
    part.sum += value;
  }

  __device__ void end_warp(Part part) {
    __syncwarp();
    part = scan_slots(part);
    const unsigned next = __shfl_down_sync(full_warp, part.slot, 1);
    if (thread_ % 32 == 31) {
      shared_.ends[thread_ / 32] = part;
    } else if (next != part.slot) {
      shared_.sums[part.slot] += part.sum;
    }
  }

  /// After a barrier, for there are other runs of these slots in other warps.
  __device__ void end_block() {
    static_assert(warps == 32);
    if (thread_ < warps) {
      const Part part = scan_slots(shared_.ends[thread_]);
      const unsigned next = __shfl_down_sync(full_warp, part.slot, 1);
      if (thread_ == warps - 1 || next != part.slot) shared_.sums[part.slot] += part.sum;
    }
    __syncthreads();
  }

  const StripArgs& args_;
  const StripView& a_;
  const Shared& shared_;
  const unsigned thread_;
};

__global__ void __launch_bounds__(threads, 1) iterate_strips(const __grid_constant__ StripArgs args) {
  extern __shared__ __align__(128) unsigned char bytes[];
  const Shared shared(bytes, args.pattern);
  Block block(args, shared);
  block.begin();
  block.add_far();
  block.add_near();
  __syncthreads();
  const Step<float> take(args.nodes, args.damping, args.sums.totals->stranded);
  const Totals mine = block.step(take);
  if (leave_sums<threads>(args.sums, mine)) add_up<threads>(args.sums, block.step_long(take));
}

}  // namespace

std::size_t StripView::shared_bytes() const {
  return (std::size_t{deal.strip()} + 4 + (all_slots + 1) / 2 * 2) * sizeof(float) + warps * sizeof(Part) +
         sizeof(std::uint64_t);
}

void launch_strips(const Device& device, const StripArgs& args) {
  const std::size_t bytes = args.pattern.shared_bytes();
  allow_shared_bytes(iterate_strips, bytes, "iterate_strips");
  iterate_strips<<<args.pattern.deal.blocks, threads, bytes, stream_of(device)>>>(args);
  cuda_check_launch("iterate_strips");
}

}  // namespace bitgraph::pagerank_cuda
