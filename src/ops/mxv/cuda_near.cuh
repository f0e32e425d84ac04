// SPDX-License-Identifier: Apache-2.0
// out = A x for large pattern CSR on a CUDA device, with x, or of values its first elements, in shared memory, where
// random reads do not wait for one another as they do in the first-level cache.
//
// Blocks stay, and a warp goes from chunk to chunk and waits for nobody: it gathers the elements of x for all entries,
// then rows add up theirs. Elements of a binary x are kept as bits: 32 entries a word, a word a lane.
#pragma once

#include "ops/cuda_row_sum.cuh"
#include "ops/mxv/cuda_chunk.cuh"

namespace bitgraph::mxv_cuda::near {

constexpr unsigned chunk_items = csr_chunk_items;
constexpr unsigned items_a_lane = chunk_items / 32;
constexpr unsigned gathers_ahead = 8;  ///< elements of x that a lane has under way
constexpr unsigned block_warps = 32;
constexpr unsigned lane_row = 16;  ///< entries that a lane adds up by itself
using Chunk = mxv_cuda::Chunk<chunk_items>;

/// The columns of the entries that a lane gathers for; 0 beyond the last.
struct Columns {
  NodeId of[items_a_lane];

  __device__ static Columns load(const CsrPatternView& a, const Chunk& chunk) {
    Columns columns;
    for (unsigned k = 0; k < items_a_lane; ++k) {
      const unsigned i = threadIdx.x % 32 + k * 32;
      columns.of[k] = i < chunk.num_entries ? stream_in(a.col_ind + chunk.entry + i) : 0;
    }
    return columns;
  }
};

/// A chunk of a binary x: one bit an entry, the word w in lane w.
template <class S, class T>
class BitGather {
 public:
  static_assert(items_a_lane <= 32);
  struct Storage {};
  using Near = std::uint32_t;  ///< a word of x

  /// Copies of x for shared memory.
  [[nodiscard]] static constexpr std::size_t num_near(const BitsIn& x) { return (std::size_t{x.size} + 31) / 32; }
  __device__ static Near near_element(const BitsIn& x, unsigned w) { return bits_word(x.words, w); }

  /// `near` is the whole of x in shared memory, or null.
  __device__ void gather(Storage*, const Columns& columns, const BitsIn& x, const Chunk& chunk, const Near* near) {
    const unsigned lane = threadIdx.x % 32;
    for (unsigned first = 0; first < items_a_lane; first += gathers_ahead) {
      std::uint32_t word[gathers_ahead];
      for (unsigned k = 0; k < gathers_ahead; ++k) {
        const NodeId col = columns.of[first + k];
        word[k] = near != nullptr ? near[col / 32] : bits_word(x.words, col / 32);
      }
      for (unsigned k = 0; k < gathers_ahead; ++k) {
        const bool set =
            lane + (first + k) * 32 < chunk.num_entries && ((word[k] >> (columns.of[first + k] % 32)) & 1U) != 0;
        const unsigned bits = __ballot_sync(full_warp, set);
        if (lane == first + k) word_ = bits;
      }
    }
  }

  /// Each lane's entries begin .. end - 1, which are few.
  __device__ T reduce(const Storage*, unsigned begin, unsigned end) const {
    unsigned count = 0;
    const unsigned first = begin / 32;
    const unsigned last = end == begin ? first : (end - 1) / 32;
    // They lie in two words at most.
    const std::uint32_t low = __shfl_sync(full_warp, word_, static_cast<int>(first % 32));
    const std::uint32_t high = __shfl_sync(full_warp, word_, static_cast<int>(last % 32));
    if (end != begin) {
      const std::uint32_t from = ~0U << (begin % 32);
      const std::uint32_t to = ~0U >> (31 - (end - 1) % 32);
      count = first == last ? __popc(low & from & to) : __popc(low & from) + __popc(high & to);
    }
    return value_of(count);
  }

  /// The same by the whole warp, for any number; all lanes have it.
  __device__ T reduce_together(const Storage*, unsigned begin, unsigned end) const {
    const unsigned lane = threadIdx.x % 32;
    std::uint32_t bits = begin != end && lane >= begin / 32 && lane <= (end - 1) / 32 ? word_ : 0;
    if (lane == begin / 32) bits &= ~0U << (begin % 32);
    if (begin != end && lane == (end - 1) / 32) bits &= ~0U >> (31 - (end - 1) % 32);
    return value_of(__reduce_add_sync(full_warp, __popc(bits)));
  }

 private:
  __device__ static T value_of(unsigned count) {
    if constexpr (std::is_same_v<S, OrAnd>) return static_cast<T>(count != 0 ? 1 : 0);
    return static_cast<T>(count);
  }

  std::uint32_t word_ = 0;
};

/// A chunk of values, in shared memory.
template <class S, class T>
class ValueGather {
 public:
  struct Storage {
    T value[chunk_items];
  };
  using Near = T;

  [[nodiscard]] static constexpr std::size_t num_near(const ValuesView<const T>& x) {
    return x.size < csr_near_columns ? x.size : csr_near_columns;
  }
  __device__ static Near near_element(const ValuesView<const T>& x, unsigned i) { return __ldg(x.data + i); }

  /// `near` has the first csr_near_columns elements of x in shared memory, or is null.
  __device__ void gather(Storage* s, const Columns& columns, const ValuesView<const T>& x, const Chunk& chunk,
                         const Near* near) {
    const unsigned lane = threadIdx.x % 32;
    __syncwarp();  // the last chunk's have been read
    for (unsigned first = 0; first < items_a_lane; first += gathers_ahead) {
      T value[gathers_ahead];
      for (unsigned k = 0; k < gathers_ahead; ++k) {
        const NodeId col = columns.of[first + k];
        value[k] = S::template identity<T>();
        if (lane + (first + k) * 32 >= chunk.num_entries) continue;
        value[k] = S::multiply(near != nullptr && col < csr_near_columns ? near[col] : __ldg(x.data + col));
      }
      for (unsigned k = 0; k < gathers_ahead; ++k) s->value[lane + (first + k) * 32] = value[k];
    }
    __syncwarp();
  }

  __device__ T reduce(const Storage* s, unsigned begin, unsigned end) const {
    T sum = S::template identity<T>();
    for (unsigned e = begin; e < end; ++e) sum = S::add(sum, s->value[e]);
    return sum;
  }

  /// Lanes take every 32nd element: they read different banks.
  __device__ T reduce_together(const Storage* s, unsigned begin, unsigned end) const {
    T sum = S::template identity<T>();
    for (unsigned e = begin + threadIdx.x % 32; e < end; e += 32) sum = S::add(sum, s->value[e]);
    for (unsigned step = 16; step != 0; step /= 2) sum = S::add(sum, __shfl_xor_sync(full_warp, sum, step));
    return sum;
  }
};

/// One chunk, by one warp.
template <class S, class In, class Out>
class ChunkKernel {
 public:
  using T = typename ValueOf<Out>::type;
  using Args = MxvArgs<S, CsrPatternView, In, Out>;
  using Gather = std::conditional_t<is_bits<In>, BitGather<S, T>, ValueGather<S, T>>;
  using Storage = typename Gather::Storage;

  __device__ ChunkKernel(const Args& args, const Tails<T>& tails, Storage* storage)
      : args_(args), tails_(tails), storage_(storage), lane_(threadIdx.x % 32) {}

  /// columns() is not called where the mask leaves the chunk out.
  template <class Fn>
  __device__ void run(NodeId c, const Chunk& chunk, const typename Gather::Near* near, Fn&& columns) {
    const CsrPatternView& a = args_.a;
    fetch_ends(chunk);
    if (any_selected(chunk)) gather_.gather(storage_, columns(), args_.x, chunk, near);
    // What the next chunk waits for comes first.
    const unsigned last_end = chunk.row == chunk.end_row ? 0 : offset(chunk, __ldg(a.row_ptr + chunk.end_row));
    if (chunk.end_row < a.nrows && chunk.num_entries > last_end) {
      const T tail = gather_.reduce_together(storage_, last_end, chunk.num_entries);
      if (lane_ == 0) tails_.leave(c, tail);
    }
    if (chunk.row == chunk.end_row) return;
    T earlier = S::template identity<T>();
    if (chunk.continues()) earlier = __shfl_sync(full_warp, tails_.template take<S>(chunk.first_chunk(), c), 0);
    for (NodeId base = chunk.row / 32 * 32; base < chunk.end_row; base += 32) finish_rows(chunk, base, earlier);
  }

 private:
  __device__ static unsigned offset(const Chunk& chunk, EdgeOffset entry) {
    return entry < chunk.entry ? 0 : static_cast<unsigned>(entry - chunk.entry);
  }

  /// Where rows end is asked for after the gather; by then it is near.
  __device__ void fetch_ends(const Chunk& chunk) const {
    constexpr NodeId line = 128 / sizeof(EdgeOffset);
    const NodeId row = chunk.row + lane_ * line;
    if (row < chunk.end_row) asm volatile("prefetch.global.L1 [%0];" ::"l"(args_.a.row_ptr + row));
  }

  /// False where all rows of the chunk lie outside the mask.
  __device__ bool any_selected(const Chunk& chunk) const {
    if (args_.rule.mask == nullptr) return true;
    const NodeId end = chunk.end_of_all(args_.a.nrows);
    return __any_sync(full_warp, sees_selected(args_.rule, chunk.row, end, lane_, 32));
  }

  /// The rows base .. base + 31 that end here: a lane a row, the long ones one after the other by all lanes.
  __device__ void finish_rows(const Chunk& chunk, NodeId base, T earlier) const {
    const NodeId row = base + lane_;
    const bool mine = row >= chunk.row && row < chunk.end_row;
    unsigned begin = 0;
    unsigned end = 0;
    if (mine) {
      begin = row == chunk.row ? offset(chunk, chunk.first_begin) : offset(chunk, __ldg(args_.a.row_ptr + row));
      end = offset(chunk, __ldg(args_.a.row_ptr + row + 1));
    }
    const bool is_long = end - begin > lane_row;
    T sum = gather_.reduce(storage_, begin, is_long ? begin : end);
    for (unsigned rest = __ballot_sync(full_warp, is_long); rest != 0; rest &= rest - 1) {
      const int owner = __ffs(static_cast<int>(rest)) - 1;
      const T together =
          gather_.reduce_together(storage_, __shfl_sync(full_warp, begin, owner), __shfl_sync(full_warp, end, owner));
      if (static_cast<int>(lane_) == owner) sum = together;
    }
    if (chunk.continues() && row == chunk.row) sum = S::add(earlier, sum);
    if constexpr (is_bits<Out>) {
      const std::uint32_t values = __ballot_sync(full_warp, sum != 0);
      const std::uint32_t own = rows_of_word(base / 32, chunk.row, chunk.end_row);
      if (lane_ == 0) store_bits(args_.out, args_.rule, base / 32, own, values, own != ~0U);
    } else {
      if (mine) store_value<S>(args_.out, args_.rule, row, sum);
    }
  }

  const Args& args_;
  const Tails<T>& tails_;
  Storage* storage_;
  unsigned lane_;
  Gather gather_;
};

/// The columns of a warp's next chunk are under way while it works on one; a chunk waits for earlier ones only, and all
/// blocks are there at once.
template <class S, class In, class Out>
__global__ void __launch_bounds__(32 * block_warps, 1)
    mxv_chunks_near(const __grid_constant__ MxvArgs<S, CsrPatternView, In, Out> args,
                    const __grid_constant__ Tails<typename ValueOf<Out>::type> tails) {
  using Kernel = ChunkKernel<S, In, Out>;
  using Gather = typename Kernel::Gather;
  extern __shared__ __align__(16) unsigned char shared[];
  const unsigned warp = threadIdx.x / 32;
  auto* storage = reinterpret_cast<typename Kernel::Storage*>(shared) + warp;
  auto* near = reinterpret_cast<typename Gather::Near*>(shared + block_warps * sizeof(typename Kernel::Storage));
  const CsrPatternView& a = args.a;
  const auto num_near = static_cast<unsigned>(Gather::num_near(args.x));
  for (unsigned i = threadIdx.x; i < num_near; i += 32 * block_warps) near[i] = Gather::near_element(args.x, i);
  __syncthreads();
  const NodeId step = gridDim.x * block_warps;
  const NodeId last = a.num_chunks - 1;
  NodeId c = blockIdx.x * block_warps + warp;
  if (c > last) return;
  // Beyond the last chunk comes the last one again, in vain.
  const auto chunk_at = [&](NodeId at) { return Chunk::at(a, min(at, last)); };
  const bool all_selected = args.rule.mask == nullptr;
  Kernel kernel(args, tails, storage);
  Chunk chunk = chunk_at(c);
  Columns columns = Columns::load(a, chunk);
  for (; c <= last; c += step) {
    const Chunk next = chunk_at(c + step);
    Columns next_columns;
    if (all_selected) next_columns = Columns::load(a, next);
    kernel.run(c, chunk, near, [&] { return all_selected ? columns : Columns::load(a, chunk); });
    chunk = next;
    columns = next_columns;
  }
}

/// Whether it pays to have x near: there is work enough to make up for bringing it, and most of it is met there.
template <class In>
bool pays(const CsrPatternView& a) {
  if (is_bits<In>) {
    const bool even = a.longest_row <= longest_short_row;
    return a.num_entries >= EdgeOffset{1} << (even ? 21 : 23) && a.num_entries / a.nrows >= 16;
  }
  return a.longest_row > longest_short_row && a.num_entries >= EdgeOffset{1} << 22 &&
         a.near_entries > a.num_entries / 2;
}

/// True where it was launched: x, or its part, fits.
template <class S, class In, class Out>
bool launch(const Device& device, const MxvArgs<S, CsrPatternView, In, Out>& args,
            const Tails<typename ValueOf<Out>::type>& tails) {
  using Kernel = ChunkKernel<S, In, Out>;
  using Gather = typename Kernel::Gather;
  int most_shared = 0;
  int multiprocessors = 0;
  cuda_check(cudaDeviceGetAttribute(&most_shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device.index()), "limits");
  cuda_check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device.index()), "limits");
  const std::size_t bytes =
      block_warps * sizeof(typename Kernel::Storage) + Gather::num_near(args.x) * sizeof(typename Gather::Near);
  if (bytes > static_cast<std::size_t>(most_shared)) return false;
  const auto kernel = mxv_chunks_near<S, In, Out>;
  cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
             "cudaFuncSetAttribute");
  kernel<<<multiprocessors, 32 * block_warps, bytes, stream_of(device)>>>(args, tails);
  cuda_check_launch("mxv_chunks_near");
  return true;
}

}  // namespace bitgraph::mxv_cuda::near
