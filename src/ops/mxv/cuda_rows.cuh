// SPDX-License-Identifier: Apache-2.0
// out = A x for pattern CSR on a CUDA device.
//
// A block takes a chunk of csr_chunk_items rows and entries together, so that work is even whatever the degrees: it
// gathers the elements of x for all its entries into shared memory, then rows add up theirs. A row that goes on in
// later chunks leaves what it has so far; the chunk in which it ends takes up those parts in order, so sums do not
// depend on timing. Elements of a binary x are kept as bits: 32 entries a word.
#pragma once

#include "ops/mxv/cuda_short_rows.cuh"

#include <cuda/atomic>

namespace bitgraph::mxv_cuda {

constexpr unsigned chunk_items = csr_chunk_items;
constexpr unsigned chunk_threads = 256;
constexpr unsigned items_a_thread = chunk_items / chunk_threads;
constexpr unsigned short_row = 32;  ///< entries that a thread adds up by itself

/// Parts of rows that end in a later chunk: a value and whether it is there yet.
template <class T>
struct Tails {
  T* value = nullptr;
  std::uint32_t* ready = nullptr;  ///< zero between calls
};

/// The threads that work on one chunk: a block, or a part of one with a barrier of its own.
struct Team {
  unsigned thread;
  unsigned barrier;

  __device__ void sync() const { asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(chunk_threads) : "memory"); }
  __device__ bool any(bool mine) const {
    unsigned all;
    asm volatile("{ .reg .pred p, q; setp.ne.u32 p, %1, 0; bar.red.or.pred q, %2, %3, p; selp.u32 %0, 1, 0, q; }"
                 : "=r"(all)
                 : "r"(mine ? 1U : 0U), "r"(barrier), "r"(chunk_threads)
                 : "memory");
    return all != 0;
  }
};

/// A chunk's place.
struct Chunk {
  NodeId row, end_row;  ///< rows that end here; row end_row goes on
  EdgeOffset entry;     ///< the first
  unsigned num_entries;
  bool continues;  ///< the first row began in an earlier chunk

  __device__ static Chunk at(const CsrPatternView& a, NodeId c, NodeId row, NodeId end_row) {
    const EdgeOffset items = EdgeOffset{a.nrows} + a.num_entries;
    Chunk chunk;
    chunk.row = row;
    chunk.end_row = end_row;
    chunk.entry = EdgeOffset{c} * chunk_items - chunk.row;
    const EdgeOffset end = min((EdgeOffset{c} + 1) * chunk_items, items) - chunk.end_row;
    chunk.num_entries = static_cast<unsigned>(end - chunk.entry);
    chunk.continues = chunk.row < a.nrows && __ldg(a.row_ptr + chunk.row) < chunk.entry;
    return chunk;
  }
};

/// A chunk of a binary x: one bit an entry.
template <class S, class T>
class BitGather {
 public:
  static constexpr unsigned words = chunk_items / 32;
  struct Storage {
    std::uint32_t word[words];
  };

  /// `near` is the whole of x in shared memory, or null.
  __device__ static void load(Storage& s, const CsrPatternView& a, const BitsIn& x, const Chunk& chunk,
                              const Team& team, const std::uint32_t* near) {
    NodeId col[items_a_thread];
    for (unsigned k = 0; k < items_a_thread; ++k) {
      const unsigned i = team.thread + k * chunk_threads;
      col[k] = i < chunk.num_entries ? stream_in(a.col_ind + chunk.entry + i) : 0;
    }
    for (unsigned k = 0; k < items_a_thread; ++k) {
      const unsigned i = team.thread + k * chunk_threads;
      const std::uint32_t word = near != nullptr ? near[col[k] / 32] : bits_word(x.words, col[k] / 32);
      const unsigned bits = __ballot_sync(full_warp, i < chunk.num_entries && ((word >> (col[k] % 32)) & 1U) != 0);
      if (team.thread % 32 == 0) s.word[i / 32] = bits;
    }
  }

  /// The bits of the entries begin .. end - 1 of word w.
  __device__ static std::uint32_t part(const Storage& s, unsigned w, unsigned begin, unsigned end) {
    std::uint32_t bits = s.word[w];
    if (w == begin / 32) bits &= ~0U << (begin % 32);
    if (w == (end - 1) / 32) bits &= ~0U >> (31 - (end - 1) % 32);
    return bits;
  }

  __device__ static T reduce(const Storage& s, unsigned begin, unsigned end) {
    unsigned count = 0;
    if (begin == end) return T{};
    for (unsigned w = begin / 32; w <= (end - 1) / 32; ++w) {
      const std::uint32_t bits = part(s, w, begin, end);
      if constexpr (std::is_same_v<S, OrAnd>) {
        if (bits != 0) return T{1};
      } else {
        count += __popc(bits);
      }
    }
    return static_cast<T>(count);
  }

  static constexpr unsigned longest_alone = chunk_items;  ///< 64 words at most
};

/// A chunk of values.
template <class S, class T>
class ValueGather {
 public:
  struct Storage {
    T value[chunk_items];
  };

  __device__ static void load(Storage& s, const CsrPatternView& a, const ValuesView<const T>& x, const Chunk& chunk,
                              const Team& team, const std::uint32_t*) {
    NodeId col[items_a_thread];
    for (unsigned k = 0; k < items_a_thread; ++k) {
      const unsigned i = team.thread + k * chunk_threads;
      col[k] = i < chunk.num_entries ? stream_in(a.col_ind + chunk.entry + i) : 0;
    }
    T value[items_a_thread];
    for (unsigned k = 0; k < items_a_thread; ++k) {
      const unsigned i = team.thread + k * chunk_threads;
      value[k] = i < chunk.num_entries ? S::multiply(__ldg(x.data + col[k])) : S::template identity<T>();
    }
    for (unsigned k = 0; k < items_a_thread; ++k) s.value[team.thread + k * chunk_threads] = value[k];
  }

  __device__ static T reduce(const Storage& s, unsigned begin, unsigned end) {
    T sum = S::template identity<T>();
    for (unsigned e = begin; e < end; ++e) sum = S::add(sum, s.value[e]);
    return sum;
  }

  static constexpr unsigned longest_alone = short_row;
};

/// One chunk. `Block` is what its threads share.
template <class S, class In, class Out>
class ChunkKernel {
 public:
  using T = typename ValueOf<Out>::type;
  using Gather = std::conditional_t<is_bits<In>, BitGather<S, T>, ValueGather<S, T>>;

  struct Block {
    typename Gather::Storage gathered;
    std::uint16_t ends[chunk_items + 1];  ///< where each row ends, from the chunk's first entry on
    std::uint32_t out_bits[chunk_items / 32 + 2];
    std::uint16_t long_rows[chunk_items / short_row + 1];
    unsigned num_long_rows;
  };

  __device__ static void run(const MxvArgs<S, CsrPatternView, In, Out>& args, const Tails<T>& tails, NodeId c,
                             const Chunk& chunk, Block& block, const Team& team, const std::uint32_t* near) {
    const CsrPatternView& a = args.a;
    const unsigned num_rows = chunk.end_row - chunk.row;
    const unsigned begun = chunk.end_row < a.nrows ? 1 : 0;  // the last row may have entries here and end later
    for (unsigned r = team.thread; r < num_rows; r += chunk_threads) {
      block.ends[r] = static_cast<std::uint16_t>(__ldg(a.row_ptr + chunk.row + r + 1) - chunk.entry);
    }
    if (team.thread == 0) {
      block.ends[num_rows] = static_cast<std::uint16_t>(chunk.num_entries);
      block.num_long_rows = 0;
    }
    if constexpr (is_bits<Out>) {
      for (unsigned w = team.thread; w < chunk_items / 32 + 2; w += chunk_threads) block.out_bits[w] = 0;
    }
    if (any_selected(args.rule, chunk, begun, team)) Gather::load(block.gathered, a, args.x, chunk, team, near);
    team.sync();
    const unsigned last_begin = num_rows == 0 ? 0 : block.ends[num_rows - 1];
    const bool leaves_tail = begun != 0 && chunk.num_entries > last_begin;
    for (unsigned r = team.thread; r < num_rows + (leaves_tail ? 1 : 0); r += chunk_threads) {
      const unsigned begin = r == 0 ? 0 : block.ends[r - 1];
      if (block.ends[r] - begin > Gather::longest_alone) {
        block.long_rows[atomicAdd(&block.num_long_rows, 1U)] = static_cast<std::uint16_t>(r);
      } else if (r == num_rows) {
        leave_tail(tails, c, Gather::reduce(block.gathered, begin, block.ends[r]));
      } else if (r != 0 || !chunk.continues) {
        finish(args, block, chunk, r, Gather::reduce(block.gathered, begin, block.ends[r]));
      }
    }
    team.sync();
    for (unsigned n = team.thread / 32; n < block.num_long_rows; n += chunk_threads / 32) {
      const unsigned r = block.long_rows[n];
      const T sum = reduce_long(block, r);
      if (team.thread % 32 != 0) continue;
      if (r == num_rows) {
        leave_tail(tails, c, sum);
      } else if (r != 0 || !chunk.continues) {
        finish(args, block, chunk, r, sum);
      }
    }
    if (chunk.continues && num_rows != 0 && team.thread / 32 == 0) finish_first(args, tails, c, block, chunk);
    if constexpr (is_bits<Out>) {
      team.sync();
      write_bits(args, block, chunk, num_rows, team);
    }
  }

 private:
  /// False where all rows of the chunk lie outside the mask.
  __device__ static bool any_selected(const OutputRule& rule, const Chunk& chunk, unsigned begun, const Team& team) {
    if (rule.mask == nullptr) return true;
    const NodeId end = chunk.end_row + begun;
    bool any = false;
    for (NodeId w = chunk.row / 32 + team.thread; w <= (end - 1) / 32; w += chunk_threads) {
      std::uint32_t bits = selected_word(rule, w);
      if (w == chunk.row / 32) bits &= ~0U << (chunk.row % 32);
      if (w == (end - 1) / 32) bits &= ~0U >> (31 - (end - 1) % 32);
      any |= bits != 0;
    }
    return team.any(any);
  }

  __device__ static T reduce_long(const Block& block, unsigned r) {
    const unsigned lane = threadIdx.x % 32;
    const unsigned begin = r == 0 ? 0 : block.ends[r - 1];
    const unsigned end = block.ends[r];
    const unsigned share = (end - begin + 31) / 32;
    const unsigned from = min(end, begin + lane * share);
    return reduce_warp<S>(Gather::reduce(block.gathered, from, min(end, from + share)));
  }

  __device__ static void finish(const MxvArgs<S, CsrPatternView, In, Out>& args, Block& block, const Chunk& chunk,
                                unsigned r, T sum) {
    if constexpr (is_bits<Out>) {
      const unsigned at = chunk.row % 32 + r;
      if (sum != 0) atomicOr(&block.out_bits[at / 32], 1U << (at % 32));
    } else {
      store_value<S>(args.out, args.rule, chunk.row + r, sum);
    }
  }

  __device__ static void leave_tail(const Tails<T>& tails, NodeId c, T sum) {
    tails.value[c] = sum;
    cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device>(tails.ready[c]).store(1, cuda::memory_order_release);
  }

  /// The first row, which began in an earlier chunk: its parts in order, this chunk's last. By one warp.
  __device__ static void finish_first(const MxvArgs<S, CsrPatternView, In, Out>& args, const Tails<T>& tails, NodeId c,
                                      Block& block, const Chunk& chunk) {
    const EdgeOffset begin = __ldg(args.a.row_ptr + chunk.row);
    NodeId first = c - 1;
    while (EdgeOffset{first} * chunk_items - __ldg(args.a.chunk_row + first) > begin) --first;
    T earlier = S::template identity<T>();
    for (NodeId p = first + threadIdx.x % 32; p < c; p += 32) {
      cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device> ready(tails.ready[p]);
      while (ready.load(cuda::memory_order_acquire) == 0) {
      }
      earlier = S::add(earlier, __ldcg(&tails.value[p]));
      ready.store(0, cuda::memory_order_relaxed);
    }
    earlier = reduce_warp<S>(earlier);
    const T own = reduce_long(block, 0);
    if (threadIdx.x % 32 == 0) finish(args, block, chunk, 0, S::add(earlier, own));
  }

  __device__ static void write_bits(const MxvArgs<S, CsrPatternView, In, Out>& args, const Block& block,
                                    const Chunk& chunk, unsigned num_rows, const Team& team) {
    if (num_rows == 0) return;
    const std::size_t first = chunk.row / 32;
    const std::size_t last = (chunk.end_row - 1) / 32;
    for (std::size_t w = first + team.thread; w <= last; w += chunk_threads) {
      std::uint32_t own = ~0U;
      if (w == first) own &= ~0U << (chunk.row % 32);
      if (w == last) own &= ~0U >> (31 - (chunk.end_row - 1) % 32);
      const bool shared = own != ~0U;
      store_bits(args.out, args.rule, w, own, block.out_bits[w - first], shared);
    }
  }
};

template <class S, class In, class Out>
__global__ void __launch_bounds__(chunk_threads)
    mxv_chunks(MxvArgs<S, CsrPatternView, In, Out> args, Tails<typename ValueOf<Out>::type> tails) {
  __shared__ typename ChunkKernel<S, In, Out>::Block block;
  const NodeId c = blockIdx.x;
  const Chunk chunk = Chunk::at(args.a, c, __ldg(args.a.chunk_row + c), __ldg(args.a.chunk_row + c + 1));
  ChunkKernel<S, In, Out>::run(args, tails, c, chunk, block, {threadIdx.x, 0}, nullptr);
}

constexpr unsigned near_teams = 4;
constexpr std::size_t near_entries = std::size_t{1} << 21;  ///< fewer do not make up for bringing x near
constexpr EdgeOffset near_degree = 16;  ///< nor do shorter rows; skewed ones want more chunks under way

/// The same with the whole of a binary x in shared memory, where random reads do not wait for one another as they do in
/// the first-level cache. Teams of a block that stays go from chunk to chunk; a chunk waits for earlier ones only, and
/// all blocks are there at once.
template <class S, class In, class Out>
__global__ void __launch_bounds__(near_teams* chunk_threads, 1)
    mxv_chunks_near(MxvArgs<S, CsrPatternView, In, Out> args, Tails<typename ValueOf<Out>::type> tails) {
  using Kernel = ChunkKernel<S, In, Out>;
  extern __shared__ __align__(16) unsigned char shared[];
  auto* blocks = reinterpret_cast<typename Kernel::Block*>(shared);
  auto* near = reinterpret_cast<std::uint32_t*>(shared + near_teams * sizeof(typename Kernel::Block));
  const unsigned words = (args.x.size + 31) / 32;
  for (unsigned w = threadIdx.x; w < words; w += near_teams * chunk_threads) near[w] = bits_word(args.x.words, w);
  __syncthreads();
  const Team team{threadIdx.x % chunk_threads, 1 + threadIdx.x / chunk_threads};
  const NodeId step = gridDim.x * near_teams;
  const NodeId last = args.a.num_chunks - 1;
  NodeId c = blockIdx.x * near_teams + threadIdx.x / chunk_threads;
  NodeId row = c <= last ? __ldg(args.a.chunk_row + c) : 0;
  NodeId end_row = c <= last ? __ldg(args.a.chunk_row + c + 1) : 0;
  for (; c <= last; c += step) {
    const NodeId next_row = __ldg(args.a.chunk_row + min(c + step, last));  // under way while this chunk is worked on
    const NodeId next_end = __ldg(args.a.chunk_row + min(c + step, last) + 1);
    Kernel::run(args, tails, c, Chunk::at(args.a, c, row, end_row), blocks[threadIdx.x / chunk_threads], team, near);
    team.sync();
    row = next_row;
    end_row = next_end;
  }
}

/// True where it was launched: x is bits that fit, and there is work enough.
template <class S, class In, class Out>
bool launch_near(const Device& device, const MxvArgs<S, CsrPatternView, In, Out>& args,
                 const Tails<typename ValueOf<Out>::type>& tails) {
  if constexpr (is_bits<In>) {
    int most_shared = 0;
    int multiprocessors = 0;
    cuda_check(cudaDeviceGetAttribute(&most_shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device.index()), "limits");
    cuda_check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device.index()), "limits");
    using Block = typename ChunkKernel<S, In, Out>::Block;
    const std::size_t bytes = near_teams * sizeof(Block) + (args.x.size + 31) / 32 * 4;
    if (bytes > static_cast<std::size_t>(most_shared)) return false;
    const auto kernel = mxv_chunks_near<S, In, Out>;
    cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
               "cudaFuncSetAttribute");
    kernel<<<multiprocessors, near_teams * chunk_threads, bytes, stream_of(device)>>>(args, tails);
    cuda_check_launch("mxv_chunks_near");
    return true;
  } else {
    return false;
  }
}

template <class S, class In, class Out>
void launch_rows(const Device& device, const MxvArgs<S, CsrPatternView, In, Out>& args) {
  using T = typename ValueOf<Out>::type;
  const CsrPatternView& a = args.a;
  if (a.nrows == 0) return;
  const std::size_t chunks = a.num_chunks;
  const auto tails = [&] {
    return Tails<T>{static_cast<T*>(device.workspace(chunks * sizeof(T))),
                    static_cast<std::uint32_t*>(device.zeroed_workspace(chunks * sizeof(std::uint32_t)))};
  };
  if (a.longest_row <= longest_short_row) {
    const bool large = a.num_entries >= near_entries && a.num_entries / a.nrows >= near_degree;
    if (large && is_bits<In> && launch_near(device, args, tails())) return;
    return launch_short_rows(device, args);
  }
  mxv_chunks<S, In, Out><<<a.num_chunks, chunk_threads, 0, stream_of(device)>>>(args, tails());
  cuda_check_launch("mxv_chunks");
}

}  // namespace bitgraph::mxv_cuda
