// SPDX-License-Identifier: Apache-2.0
// out = A x for pattern CSR on a CUDA device.
//
// A block takes a chunk of rows and entries together, so that work is even whatever the degrees: it gathers the
// elements of x for all its entries into shared memory, then rows add up theirs. Elements of a binary x are kept as
// bits: 32 entries a word.
#pragma once

#include "ops/mxv/cuda_near.cuh"
#include "ops/mxv/cuda_short_rows.cuh"

namespace bitgraph::mxv_cuda {

constexpr unsigned chunk_items = 4 * csr_chunk_items;
constexpr unsigned chunk_threads = 256;
constexpr unsigned items_a_thread = chunk_items / chunk_threads;
constexpr unsigned short_row = 32;  ///< entries that a thread adds up by itself
using BlockChunk = Chunk<chunk_items>;

/// The columns of the entries that a thread gathers for; 0 beyond the last.
struct Columns {
  NodeId of[items_a_thread];

  __device__ static Columns load(const CsrPatternView& a, const BlockChunk& chunk) {
    Columns columns;
    for (unsigned k = 0; k < items_a_thread; ++k) {
      const unsigned i = threadIdx.x + k * chunk_threads;
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

  __device__ static void gather(Storage& s, const Columns& columns, const BitsIn& x, const BlockChunk& chunk) {
    for (unsigned k = 0; k < items_a_thread; ++k) {
      const unsigned i = threadIdx.x + k * chunk_threads;
      const NodeId col = columns.of[k];
      const std::uint32_t word = bits_word(x.words, col / 32);
      const unsigned bits = __ballot_sync(full_warp, i < chunk.num_entries && ((word >> (col % 32)) & 1U) != 0);
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

  __device__ static void gather(Storage& s, const Columns& columns, const ValuesView<const T>& x,
                                const BlockChunk& chunk) {
    T value[items_a_thread];
    for (unsigned k = 0; k < items_a_thread; ++k) {
      const unsigned i = threadIdx.x + k * chunk_threads;
      const NodeId col = columns.of[k];
      value[k] = S::template identity<T>();
      if (i >= chunk.num_entries) continue;
      value[k] = S::multiply(__ldg(x.data + col));
    }
    for (unsigned k = 0; k < items_a_thread; ++k) s.value[threadIdx.x + k * chunk_threads] = value[k];
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

  __device__ static void run(const MxvArgs<S, CsrPatternView, In, Out>& args, const Tails<T>& tails, NodeId c,
                             const BlockChunk& chunk, Block& block) {
    const CsrPatternView& a = args.a;
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
    if (any_selected(args.rule, chunk, a.nrows)) Gather::gather(block.gathered, Columns::load(a, chunk), args.x, chunk);
    __syncthreads();
    const unsigned last_begin = num_rows == 0 ? 0 : block.ends[num_rows - 1];
    const bool leaves_tail = begun != 0 && chunk.num_entries > last_begin;
    for (unsigned r = threadIdx.x; r < num_rows + (leaves_tail ? 1 : 0); r += chunk_threads) {
      const unsigned begin = r == 0 ? 0 : block.ends[r - 1];
      if (block.ends[r] - begin > Gather::longest_alone) {
        block.long_rows[atomicAdd(&block.num_long_rows, 1U)] = static_cast<std::uint16_t>(r);
      } else if (r == num_rows) {
        tails.leave(c, Gather::reduce(block.gathered, begin, block.ends[r]));
      } else if (r != 0 || !chunk.continues()) {
        finish(args, block, chunk, r, Gather::reduce(block.gathered, begin, block.ends[r]));
      }
    }
    __syncthreads();
    for (unsigned n = threadIdx.x / 32; n < block.num_long_rows; n += chunk_threads / 32) {
      const unsigned r = block.long_rows[n];
      const T sum = reduce_long(block, r);
      if (threadIdx.x % 32 != 0) continue;
      if (r == num_rows) {
        tails.leave(c, sum);
      } else if (r != 0 || !chunk.continues()) {
        finish(args, block, chunk, r, sum);
      }
    }
    if (chunk.continues() && num_rows != 0 && threadIdx.x / 32 == 0) finish_first(args, tails, c, block, chunk);
    if constexpr (is_bits<Out>) {
      __syncthreads();
      write_bits(args, block, chunk, num_rows);
    }
  }

 private:
  /// False where all rows of the chunk lie outside the mask.
  __device__ static bool any_selected(const OutputRule& rule, const BlockChunk& chunk, NodeId nrows) {
    if (rule.mask == nullptr) return true;
    return __syncthreads_or(sees_selected(rule, chunk.row, chunk.end_of_all(nrows), threadIdx.x, chunk_threads)) != 0;
  }

  __device__ static T reduce_long(const Block& block, unsigned r) {
    const unsigned lane = threadIdx.x % 32;
    const unsigned begin = r == 0 ? 0 : block.ends[r - 1];
    return reduce_warp<S>(Gather::reduce_share(block.gathered, begin, block.ends[r], lane));
  }

  __device__ static void finish(const MxvArgs<S, CsrPatternView, In, Out>& args, Block& block, const BlockChunk& chunk,
                                unsigned r, T sum) {
    if constexpr (is_bits<Out>) {
      const unsigned at = chunk.row % 32 + r;
      if (sum != 0) atomicOr(&block.out_bits[at / 32], 1U << (at % 32));
    } else {
      store_value<S>(args.out, args.rule, chunk.row + r, sum);
    }
  }

  /// The first row, which began in an earlier chunk: its parts in order, this chunk's last. By one warp.
  __device__ static void finish_first(const MxvArgs<S, CsrPatternView, In, Out>& args, const Tails<T>& tails, NodeId c,
                                      Block& block, const BlockChunk& chunk) {
    const T earlier = tails.template take<S>(chunk.first_chunk(), c);
    const T own = reduce_long(block, 0);
    if (threadIdx.x % 32 == 0) finish(args, block, chunk, 0, S::add(earlier, own));
  }

  __device__ static void write_bits(const MxvArgs<S, CsrPatternView, In, Out>& args, const Block& block,
                                    const BlockChunk& chunk, unsigned num_rows) {
    if (num_rows == 0) return;
    const std::size_t first = chunk.row / 32;
    const std::size_t last = (chunk.end_row - 1) / 32;
    for (std::size_t w = first + threadIdx.x; w <= last; w += chunk_threads) {
      const std::uint32_t own = rows_of_word(w, chunk.row, chunk.end_row);
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
  Kernel::run(args, tails, c, BlockChunk::at(args.a, c), block);
}

template <class S, class In, class Out>
void launch_rows(const Device& device, const MxvArgs<S, CsrPatternView, In, Out>& args) {
  using T = typename ValueOf<Out>::type;
  const CsrPatternView& a = args.a;
  if (a.nrows == 0) return;
  const std::size_t chunks = a.num_chunks;  // of the smaller size
  const auto tails = [&] {
    return Tails<T>{static_cast<T*>(device.workspace(chunks * sizeof(T))),
                    static_cast<std::uint32_t*>(device.zeroed_workspace(chunks * sizeof(std::uint32_t)))};
  };
  if (near::pays<In>(a) && near::launch(device, args, tails())) return;
  if (a.longest_row <= longest_short_row) return launch_short_rows(device, args);
  mxv_chunks<S, In, Out><<<BlockChunk::count(a), chunk_threads, 0, stream_of(device)>>>(args, tails());
  cuda_check_launch("mxv_chunks");
}

}  // namespace bitgraph::mxv_cuda
