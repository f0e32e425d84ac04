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
  bool continues;          ///< the first row began in an earlier chunk,
  EdgeOffset first_begin;  ///< at this entry

  __device__ static Chunk at(const CsrPatternView& a, NodeId c, NodeId row, NodeId end_row) {
    const EdgeOffset items = EdgeOffset{a.nrows} + a.num_entries;
    Chunk chunk;
    chunk.row = row;
    chunk.end_row = end_row;
    chunk.entry = EdgeOffset{c} * chunk_items - chunk.row;
    const EdgeOffset end = min((EdgeOffset{c} + 1) * chunk_items, items) - chunk.end_row;
    chunk.num_entries = static_cast<unsigned>(end - chunk.entry);
    chunk.first_begin = chunk.row < a.nrows ? __ldg(a.row_ptr + chunk.row) : chunk.entry;
    chunk.continues = chunk.first_begin < chunk.entry;
    return chunk;
  }
};

/// The columns of the entries that a thread gathers for; 0 beyond the last.
struct Columns {
  NodeId of[items_a_thread];

  __device__ static Columns load(const CsrPatternView& a, const Chunk& chunk, const Team& team) {
    Columns columns;
    for (unsigned k = 0; k < items_a_thread; ++k) {
      const unsigned i = team.thread + k * chunk_threads;
      columns.of[k] = i < chunk.num_entries ? stream_in(a.col_ind + chunk.entry + i) : 0;
    }
    return columns;
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

  using Near = std::uint32_t;  ///< a word of x

  /// Copies of x for shared memory.
  [[nodiscard]] static constexpr std::size_t num_near(const BitsIn& x) { return (std::size_t{x.size} + 31) / 32; }
  __device__ static Near near_element(const BitsIn& x, unsigned w) { return bits_word(x.words, w); }

  /// `near` is the whole of x in shared memory, or null.
  __device__ static void gather(Storage& s, const Columns& columns, const BitsIn& x, const Chunk& chunk,
                                const Team& team, const Near* near) {
    for (unsigned k = 0; k < items_a_thread; ++k) {
      const unsigned i = team.thread + k * chunk_threads;
      const NodeId col = columns.of[k];
      const std::uint32_t word = near != nullptr ? near[col / 32] : bits_word(x.words, col / 32);
      const unsigned bits = __ballot_sync(full_warp, i < chunk.num_entries && ((word >> (col % 32)) & 1U) != 0);
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

  /// A lane's share of a row that a warp reduces: every 32nd word.
  __device__ static T reduce_share(const Storage& s, unsigned begin, unsigned end, unsigned lane) {
    unsigned count = 0;
    for (unsigned w = begin / 32 + lane; begin != end && w <= (end - 1) / 32; w += 32) {
      count += __popc(part(s, w, begin, end));
    }
    if constexpr (std::is_same_v<S, OrAnd>) return static_cast<T>(count != 0 ? 1 : 0);
    return static_cast<T>(count);
  }

  static constexpr unsigned longest_alone = 256;  ///< 9 words at most
};

/// A chunk of values.
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
  __device__ static void gather(Storage& s, const Columns& columns, const ValuesView<const T>& x, const Chunk& chunk,
                                const Team& team, const Near* near) {
    T value[items_a_thread];
    for (unsigned k = 0; k < items_a_thread; ++k) {
      const unsigned i = team.thread + k * chunk_threads;
      const NodeId col = columns.of[k];
      value[k] = S::template identity<T>();
      if (i >= chunk.num_entries) continue;
      value[k] = S::multiply(near != nullptr && col < csr_near_columns ? near[col] : __ldg(x.data + col));
    }
    for (unsigned k = 0; k < items_a_thread; ++k) s.value[team.thread + k * chunk_threads] = value[k];
  }

  __device__ static T reduce(const Storage& s, unsigned begin, unsigned end) {
    T sum = S::template identity<T>();
    for (unsigned e = begin; e < end; ++e) sum = S::add(sum, s.value[e]);
    return sum;
  }

  /// A lane's share of a row that a warp reduces: every 32nd element, so that lanes read different banks.
  __device__ static T reduce_share(const Storage& s, unsigned begin, unsigned end, unsigned lane) {
    T sum = S::template identity<T>();
    for (unsigned e = begin + lane; e < end; e += 32) sum = S::add(sum, s.value[e]);
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

  /// gather() brings the elements of x for the chunk's entries; it is not called where the mask leaves the chunk out.
  template <class Fn>
  __device__ static void run(const MxvArgs<S, CsrPatternView, In, Out>& args, const Tails<T>& tails, NodeId c,
                             const Chunk& chunk, Block& block, const Team& team, Fn&& gather) {
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
    if (any_selected(args.rule, chunk, begun, team)) gather();
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
    return reduce_warp<S>(Gather::reduce_share(block.gathered, begin, block.ends[r], lane));
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
    // As many rows and entries as lie before the row lie before the chunk in which it begins, or in it.
    const auto first = static_cast<NodeId>((chunk.row + chunk.first_begin) / chunk_items);
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
  using Kernel = ChunkKernel<S, In, Out>;
  __shared__ typename Kernel::Block block;
  const NodeId c = blockIdx.x;
  const Chunk chunk = Chunk::at(args.a, c, __ldg(args.a.chunk_row + c), __ldg(args.a.chunk_row + c + 1));
  const Team team{threadIdx.x, 0};
  Kernel::run(args, tails, c, chunk, block, team, [&] {
    Kernel::Gather::gather(block.gathered, Columns::load(args.a, chunk, team), args.x, chunk, team, nullptr);
  });
}

constexpr unsigned near_teams = 4;
constexpr std::size_t enough_for_near = std::size_t{1} << 21;  ///< fewer entries do not make up for bringing x near
constexpr EdgeOffset near_degree = 16;                         ///< nor do shorter rows

/// The same with x, or of values its first elements, in shared memory, where random reads do not wait for one another
/// as they do in the first-level cache. Teams of a block that stays go from chunk to chunk, the columns of the next one
/// under way; a chunk waits for earlier ones only, and all blocks are there at once.
template <class S, class In, class Out>
__global__ void __launch_bounds__(near_teams* chunk_threads, 1)
    mxv_chunks_near(MxvArgs<S, CsrPatternView, In, Out> args, Tails<typename ValueOf<Out>::type> tails) {
  using Kernel = ChunkKernel<S, In, Out>;
  using Gather = typename Kernel::Gather;
  extern __shared__ __align__(16) unsigned char shared[];
  const unsigned t = threadIdx.x / chunk_threads;
  auto& block = reinterpret_cast<typename Kernel::Block*>(shared)[t];
  auto* near = reinterpret_cast<typename Gather::Near*>(shared + near_teams * sizeof(typename Kernel::Block));
  const CsrPatternView& a = args.a;
  const auto num_near = static_cast<unsigned>(Gather::num_near(args.x));
  for (unsigned i = threadIdx.x; i < num_near; i += near_teams * chunk_threads)
    near[i] = Gather::near_element(args.x, i);
  __syncthreads();
  const Team team{threadIdx.x % chunk_threads, 1 + t};
  const NodeId step = gridDim.x * near_teams;
  const NodeId last = a.num_chunks - 1;
  NodeId c = blockIdx.x * near_teams + t;
  if (c > last) return;
  // Beyond the last chunk comes the last one again, in vain.
  const auto row_at = [&](NodeId at) { return __ldg(a.chunk_row + min(at, last)); };
  const auto end_at = [&](NodeId at) { return __ldg(a.chunk_row + min(at, last) + 1); };
  const bool all_selected = args.rule.mask == nullptr;
  Chunk chunk = Chunk::at(a, c, row_at(c), end_at(c));
  Columns columns = Columns::load(a, chunk, team);
  NodeId next_row = row_at(c + step);
  NodeId next_end = end_at(c + step);
  for (; c <= last; c += step) {
    const Chunk next = Chunk::at(a, min(c + step, last), next_row, next_end);
    Columns next_columns;
    if (all_selected) next_columns = Columns::load(a, next, team);
    next_row = row_at(c + 2 * step);
    next_end = end_at(c + 2 * step);
    Kernel::run(args, tails, c, chunk, block, team, [&] {
      if (!all_selected) columns = Columns::load(a, chunk, team);
      Gather::gather(block.gathered, columns, args.x, chunk, team, near);
    });
    team.sync();
    chunk = next;
    columns = next_columns;
  }
}

/// Whether it pays to have x near.
template <class In>
bool wants_near(const CsrPatternView& a) {
  if (a.num_entries < enough_for_near) return false;
  const bool even = a.longest_row <= longest_short_row;
  if (is_bits<In>) return even && a.num_entries / a.nrows >= near_degree;
  return !even && a.near_entries > a.num_entries / 2;
}

/// True where it was launched: x, or its part, fits.
template <class S, class In, class Out>
bool launch_near(const Device& device, const MxvArgs<S, CsrPatternView, In, Out>& args,
                 const Tails<typename ValueOf<Out>::type>& tails) {
  using Kernel = ChunkKernel<S, In, Out>;
  using Gather = typename Kernel::Gather;
  int most_shared = 0;
  int multiprocessors = 0;
  cuda_check(cudaDeviceGetAttribute(&most_shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device.index()), "limits");
  cuda_check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device.index()), "limits");
  const std::size_t bytes =
      near_teams * sizeof(typename Kernel::Block) + Gather::num_near(args.x) * sizeof(typename Gather::Near);
  if (bytes > static_cast<std::size_t>(most_shared)) return false;
  const auto kernel = mxv_chunks_near<S, In, Out>;
  cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
             "cudaFuncSetAttribute");
  kernel<<<multiprocessors, near_teams * chunk_threads, bytes, stream_of(device)>>>(args, tails);
  cuda_check_launch("mxv_chunks_near");
  return true;
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
  if (wants_near<In>(a) && launch_near(device, args, tails())) return;
  if (a.longest_row <= longest_short_row) return launch_short_rows(device, args);
  mxv_chunks<S, In, Out><<<a.num_chunks, chunk_threads, 0, stream_of(device)>>>(args, tails());
  cuda_check_launch("mxv_chunks");
}

}  // namespace bitgraph::mxv_cuda
