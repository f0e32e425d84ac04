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

/// A chunk's place.
struct Chunk {
  NodeId row, end_row;  ///< rows that end here; row end_row goes on
  EdgeOffset entry;     ///< the first
  unsigned num_entries;
  bool continues;  ///< the first row began in an earlier chunk

  __device__ static Chunk at(const CsrPatternView& a, NodeId c, EdgeOffset nvals) {
    const EdgeOffset items = EdgeOffset{a.nrows} + nvals;
    Chunk chunk;
    chunk.row = __ldg(a.chunk_row + c);
    chunk.end_row = __ldg(a.chunk_row + c + 1);
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

  __device__ static void load(Storage& s, const CsrPatternView& a, const BitsIn& x, const Chunk& chunk) {
    NodeId col[items_a_thread];
    for (unsigned k = 0; k < items_a_thread; ++k) {
      const unsigned i = threadIdx.x + k * chunk_threads;
      col[k] = i < chunk.num_entries ? stream_in(a.col_ind + chunk.entry + i) : 0;
    }
    for (unsigned k = 0; k < items_a_thread; ++k) {
      const unsigned i = threadIdx.x + k * chunk_threads;
      const unsigned bits = __ballot_sync(full_warp, i < chunk.num_entries && bit_of(x.words, col[k]));
      if (threadIdx.x % 32 == 0) s.word[i / 32] = bits;
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

  __device__ static void load(Storage& s, const CsrPatternView& a, const ValuesView<const T>& x, const Chunk& chunk) {
    NodeId col[items_a_thread];
    for (unsigned k = 0; k < items_a_thread; ++k) {
      const unsigned i = threadIdx.x + k * chunk_threads;
      col[k] = i < chunk.num_entries ? stream_in(a.col_ind + chunk.entry + i) : 0;
    }
    T value[items_a_thread];
    for (unsigned k = 0; k < items_a_thread; ++k) {
      const unsigned i = threadIdx.x + k * chunk_threads;
      value[k] = i < chunk.num_entries ? S::multiply(__ldg(x.data + col[k])) : S::template identity<T>();
    }
    for (unsigned k = 0; k < items_a_thread; ++k) s.value[threadIdx.x + k * chunk_threads] = value[k];
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
    T head;  ///< what earlier chunks have of the first row
  };

  __device__ static void run(const MxvArgs<S, CsrPatternView, In, Out>& args, EdgeOffset nvals, const Tails<T>& tails,
                             NodeId c, Block& block) {
    const CsrPatternView& a = args.a;
    const Chunk chunk = Chunk::at(a, c, nvals);
    const unsigned num_rows = chunk.end_row - chunk.row;
    const unsigned begun = chunk.end_row < a.nrows ? 1 : 0;  // the last row may have entries here and end later
    for (unsigned r = threadIdx.x; r < num_rows; r += chunk_threads) {
      block.ends[r] = static_cast<std::uint16_t>(__ldg(a.row_ptr + chunk.row + r + 1) - chunk.entry);
    }
    if (threadIdx.x == 0) {
      block.ends[num_rows] = static_cast<std::uint16_t>(chunk.num_entries);
      block.num_long_rows = 0;
    }
    if constexpr (is_bits<Out>) {
      for (unsigned w = threadIdx.x; w < chunk_items / 32 + 2; w += chunk_threads) block.out_bits[w] = 0;
    }
    if (any_selected(args.rule, chunk, begun)) Gather::load(block.gathered, a, args.x, chunk);
    __syncthreads();
    const unsigned last_begin = num_rows == 0 ? 0 : block.ends[num_rows - 1];
    const bool leaves_tail = begun != 0 && chunk.num_entries > last_begin;
    for (unsigned r = threadIdx.x; r < num_rows + (leaves_tail ? 1 : 0); r += chunk_threads) {
      const unsigned begin = r == 0 ? 0 : block.ends[r - 1];
      if (block.ends[r] - begin > Gather::longest_alone) {
        block.long_rows[atomicAdd(&block.num_long_rows, 1U)] = static_cast<std::uint16_t>(r);
      } else if (r == num_rows) {
        leave_tail(tails, c, Gather::reduce(block.gathered, begin, block.ends[r]));
      } else if (r != 0 || !chunk.continues) {
        finish(args, block, chunk, r, Gather::reduce(block.gathered, begin, block.ends[r]));
      }
    }
    __syncthreads();
    for (unsigned n = threadIdx.x / 32; n < block.num_long_rows; n += chunk_threads / 32) {
      const unsigned r = block.long_rows[n];
      const T sum = reduce_long(block, r);
      if (threadIdx.x % 32 != 0) continue;
      if (r == num_rows) {
        leave_tail(tails, c, sum);
      } else if (r != 0 || !chunk.continues) {
        finish(args, block, chunk, r, sum);
      }
    }
    if (chunk.continues && num_rows != 0 && threadIdx.x / 32 == 0) finish_first(args, tails, c, block, chunk);
    if constexpr (is_bits<Out>) {
      __syncthreads();
      write_bits(args, block, chunk, num_rows);
    }
  }

 private:
  /// False where all rows of the chunk lie outside the mask.
  __device__ static bool any_selected(const OutputRule& rule, const Chunk& chunk, unsigned begun) {
    if (rule.mask == nullptr) return true;
    const NodeId end = chunk.end_row + begun;
    bool any = false;
    for (NodeId w = chunk.row / 32 + threadIdx.x; w <= (end - 1) / 32; w += chunk_threads) {
      std::uint32_t bits = selected_word(rule, w);
      if (w == chunk.row / 32) bits &= ~0U << (chunk.row % 32);
      if (w == (end - 1) / 32) bits &= ~0U >> (31 - (end - 1) % 32);
      any |= bits != 0;
    }
    return __syncthreads_or(any ? 1 : 0) != 0;
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
    for (NodeId p = first + threadIdx.x; p < c; p += 32) {
      cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device> ready(tails.ready[p]);
      while (ready.load(cuda::memory_order_acquire) == 0) {
      }
      earlier = S::add(earlier, __ldcg(&tails.value[p]));
      ready.store(0, cuda::memory_order_relaxed);
    }
    earlier = reduce_warp<S>(earlier);
    const T own = reduce_long(block, 0);
    if (threadIdx.x == 0) finish(args, block, chunk, 0, S::add(earlier, own));
  }

  __device__ static void write_bits(const MxvArgs<S, CsrPatternView, In, Out>& args, const Block& block,
                                    const Chunk& chunk, unsigned num_rows) {
    if (num_rows == 0) return;
    const std::size_t first = chunk.row / 32;
    const std::size_t last = (chunk.end_row - 1) / 32;
    for (std::size_t w = first + threadIdx.x; w <= last; w += chunk_threads) {
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
    mxv_chunks(MxvArgs<S, CsrPatternView, In, Out> args, EdgeOffset nvals, Tails<typename ValueOf<Out>::type> tails) {
  __shared__ typename ChunkKernel<S, In, Out>::Block block;
  ChunkKernel<S, In, Out>::run(args, nvals, tails, blockIdx.x, block);
}

template <class S, class In, class Out>
void launch_rows(const Device& device, const MxvArgs<S, CsrPatternView, In, Out>& args) {
  using T = typename ValueOf<Out>::type;
  const CsrPatternView& a = args.a;
  if (a.nrows == 0) return;
  if (a.longest_row <= longest_short_row) return launch_short_rows(device, args);
  const std::size_t chunks = a.num_chunks;
  const Tails<T> tails{static_cast<T*>(device.workspace(chunks * sizeof(T))),
                       static_cast<std::uint32_t*>(device.zeroed_workspace(chunks * sizeof(std::uint32_t)))};
  mxv_chunks<S, In, Out><<<a.num_chunks, chunk_threads, 0, stream_of(device)>>>(args, a.num_entries, tails);
  cuda_check_launch("mxv_chunks");
}

}  // namespace bitgraph::mxv_cuda
