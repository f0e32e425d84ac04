// SPDX-License-Identifier: Apache-2.0
// The kernels of cuda_gather.cu. Each counts the entries of its rows or, with `fill`, writes them where the counts, by
// then scanned, say.
#pragma once

#include "ops/mxm/cuda_meet.cuh"
#include "ops/mxm/cuda_product.cuh"

namespace bitgraph::mxm_cuda {

constexpr unsigned tiny_products = 32;
constexpr unsigned small_products = 256;
constexpr unsigned medium_products = 2048;
constexpr unsigned num_lists = 3;  ///< small, medium, large
constexpr std::uint8_t not_tiny = 0xFF;
constexpr unsigned tiny_threads = 256;
constexpr unsigned bits_threads = 512;
constexpr NodeId no_column = ~NodeId{0};  ///< no matrix has it

struct RowClasses {
  std::uint8_t* tiny_bound = nullptr;  ///< products of a row, or not_tiny
  NodeId* lists = nullptr;             ///< rows of the other classes: room for all rows each
  unsigned* sizes = nullptr;           ///< of the lists; then how far along each is
};

struct GatherArgs {
  CsrPatternView a;
  CsrPatternView b;
  CsrPatternView hidden;  ///< without rows where nothing is hidden
  RowClasses classes;
  EdgeOffset* sizes = nullptr;  ///< of rows; with fill their positions
  NodeId* col_ind = nullptr;
  std::uint32_t* counts = nullptr;

  [[nodiscard]] __device__ bool hides(NodeId i, NodeId j) const {
    if (hidden.row_ptr == nullptr) return false;
    const EdgeOffset begin = __ldg(hidden.row_ptr + i);
    const auto size = static_cast<unsigned>(__ldg(hidden.row_ptr + i + 1) - begin);
    return place_of(hidden.col_ind + begin, size, j) != absent;
  }
};

[[nodiscard]] __device__ inline unsigned lanes_below() { return (1U << (threadIdx.x % 32)) - 1; }

/// The lanes' values in ascending order.
[[nodiscard]] __device__ inline NodeId sorted_in_warp(NodeId value) {
  const unsigned lane = threadIdx.x % 32;
  for (unsigned size = 2; size <= 32; size *= 2) {
    for (unsigned step = size / 2; step != 0; step /= 2) {
      const NodeId other = __shfl_xor_sync(full_warp, value, step);
      const bool up = (lane & size) == 0;
      const bool is_lower = (lane & step) == 0;
      value = up == is_lower ? min(value, other) : max(value, other);
    }
  }
  return value;
}

/// A warp a row of at most 32 products.
template <bool fill>
__global__ void __launch_bounds__(tiny_threads) gather_tiny(GatherArgs args) {
  __shared__ NodeId gathered[tiny_threads];
  const auto i = static_cast<NodeId>((std::size_t{blockIdx.x} * tiny_threads + threadIdx.x) / 32);
  const unsigned lane = threadIdx.x % 32;
  if (i >= args.a.nrows) return;
  const unsigned products = args.classes.tiny_bound[i];
  if (products == not_tiny || products == 0) return;
  NodeId* own = gathered + threadIdx.x / 32 * 32;
  unsigned placed = 0;
  const EdgeOffset end = __ldg(args.a.row_ptr + i + 1);
  for (EdgeOffset base = __ldg(args.a.row_ptr + i); base < end; base += 32) {
    EdgeOffset begin = 0;
    unsigned size = 0;
    if (base + lane < end) {
      const NodeId k = __ldg(args.a.col_ind + base + lane);
      begin = __ldg(args.b.row_ptr + k);
      size = static_cast<unsigned>(__ldg(args.b.row_ptr + k + 1) - begin);
    }
    unsigned before = size;
    for (unsigned step = 1; step < 32; step *= 2) {
      const unsigned other = __shfl_up_sync(full_warp, before, step);
      before += lane >= step ? other : 0;
    }
    for (unsigned x = 0; x < size; ++x) own[placed + before - size + x] = __ldg(args.b.col_ind + begin + x);
    placed += __shfl_sync(full_warp, before, 31);
  }
  __syncwarp();
  const NodeId column = sorted_in_warp(lane < products ? own[lane] : no_column);
  const NodeId previous = __shfl_up_sync(full_warp, column, 1);
  const bool is_first = lane < products && (lane == 0 || previous != column);
  const unsigned firsts = __ballot_sync(full_warp, is_first);
  const bool kept = is_first && !args.hides(i, column);
  const unsigned all_kept = __ballot_sync(full_warp, kept);
  if constexpr (!fill) {
    if (lane == 0) args.sizes[i] = __popc(all_kept);
  } else if (kept) {
    const EdgeOffset at = args.sizes[i] + __popc(all_kept & lanes_below());
    args.col_ind[at] = column;
    const unsigned later = firsts & ~lanes_below() & ~(1U << lane);
    if (args.counts != nullptr) args.counts[at] = (later == 0 ? products : __ffs(later) - 1) - lane;
  }
}

/// Ascending order of n values in shared memory, n a power of two; the whole block.
template <unsigned threads>
__device__ void sort_in_block(NodeId* values, unsigned n) {
  for (unsigned size = 2; size <= n; size *= 2) {
    for (unsigned step = size / 2; step != 0; step /= 2) {
      for (unsigned pair = threadIdx.x; pair < n / 2; pair += threads) {
        const unsigned low = 2 * pair - (pair & (step - 1));
        const NodeId x = values[low], y = values[low + step];
        if ((x > y) == ((low & size) == 0)) {
          values[low] = y;
          values[low + step] = x;
        }
      }
      __syncthreads();
    }
  }
}

/// Exclusive sum of a 0 or 1 a thread over the block, and the sum; the whole block.
template <unsigned threads>
__device__ unsigned rank_in_block(bool one, unsigned* of_warps, unsigned& sum) {
  const unsigned ones = __ballot_sync(full_warp, one);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = __popc(ones);
  __syncthreads();
  unsigned rank = __popc(ones & lanes_below());
  sum = 0;
  for (unsigned w = 0; w < threads / 32; ++w) {
    rank += w < threadIdx.x / 32 ? of_warps[w] : 0;
    sum += of_warps[w];
  }
  __syncthreads();
  return rank;
}

/// How many of the sorted values from `at` on are the same.
[[nodiscard]] __device__ inline unsigned run_length(const NodeId* values, unsigned n, unsigned at) {
  unsigned low = at + 1, high = n;
  while (low < high) {
    const unsigned middle = (low + high) / 2;
    if (values[middle] == values[at]) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low - at;
}

/// A block a row of at most `capacity` products, from one of the lists.
template <bool fill, unsigned threads, unsigned capacity, unsigned list>
__global__ void __launch_bounds__(threads) gather_sorted(GatherArgs args) {
  __shared__ NodeId values[capacity];
  __shared__ unsigned of_warps[threads / 32];
  __shared__ unsigned placed;
  const unsigned lane = threadIdx.x % 32;
  const NodeId* rows = args.classes.lists + std::size_t{list} * args.a.nrows;
  for (unsigned r = blockIdx.x; r < args.classes.sizes[list]; r += gridDim.x) {
    const NodeId i = rows[r];
    if (threadIdx.x == 0) placed = 0;
    __syncthreads();
    const EdgeOffset end = __ldg(args.a.row_ptr + i + 1);
    for (EdgeOffset e = __ldg(args.a.row_ptr + i) + threadIdx.x / 32; e < end; e += threads / 32) {
      const NodeId k = __ldg(args.a.col_ind + e);
      const EdgeOffset begin = __ldg(args.b.row_ptr + k);
      const auto size = static_cast<unsigned>(__ldg(args.b.row_ptr + k + 1) - begin);
      unsigned at = lane == 0 && size != 0 ? atomicAdd(&placed, size) : 0;
      at = __shfl_sync(full_warp, at, 0);
      for (unsigned x = lane; x < size; x += 32) values[at + x] = __ldg(args.b.col_ind + begin + x);
    }
    __syncthreads();
    const unsigned products = placed;
    unsigned n = threads;
    while (n < products) n *= 2;
    for (unsigned x = products + threadIdx.x; x < n; x += threads) values[x] = no_column;
    __syncthreads();
    sort_in_block<threads>(values, n);
    unsigned size = 0;
    for (unsigned base = 0; base < n; base += threads) {
      const unsigned at = base + threadIdx.x;
      const NodeId column = values[at];
      const bool kept = at < products && (at == 0 || values[at - 1] != column) && !args.hides(i, column);
      unsigned sum;
      const unsigned rank = rank_in_block<threads>(kept, of_warps, sum);
      if (fill && kept) {
        const EdgeOffset to = args.sizes[i] + size + rank;
        args.col_ind[to] = column;
        if (args.counts != nullptr) args.counts[to] = run_length(values, products, at);
      }
      size += sum;
    }
    if (!fill && threadIdx.x == 0) args.sizes[i] = size;
  }
}

/// Where blocks keep a row as bits: a bit a column, then for each four words how many bits there are before them.
struct BitRowSpace {
  std::size_t bit_words = 0;  ///< 32-bit words of bits, a multiple of four
  std::size_t shared_bytes = 0;
  unsigned blocks = 1;
  std::uint32_t* words = nullptr;  ///< zeros, where shared memory has no room

  [[nodiscard]] __host__ __device__ std::size_t words_each() const { return bit_words + (bit_words / 4 + 3) / 4 * 4; }
  static BitRowSpace of(NodeId ncols, unsigned rows) {
    constexpr std::size_t most_shared = 160 << 10;  // what compute capability 8.0 has, less what it keeps
    constexpr std::size_t most_global = std::size_t{1} << 30;
    BitRowSpace space;
    space.bit_words = (std::size_t{ncols} + 127) / 128 * 4;
    const std::size_t bytes = space.words_each() * 4;
    std::size_t blocks = 132 * 4;
    if (bytes <= most_shared) {
      space.shared_bytes = bytes;
    } else {
      blocks = std::max<std::size_t>(1, std::min(blocks, most_global / bytes));
    }
    space.blocks = static_cast<unsigned>(std::min<std::size_t>(rows, blocks));
    return space;
  }
};

/// A row as bits, in the hands of a block.
struct BitRow {
  std::uint32_t* bits;
  std::uint32_t* before;  ///< of four words each

  __device__ void set(NodeId j) const {
    const std::uint32_t bit = 1U << (j % 32);
    if ((*static_cast<volatile std::uint32_t*>(bits + j / 32) & bit) == 0) atomicOr(bits + j / 32, bit);
  }
  /// The number of bits before one that is set, or `absent` where it is not.
  [[nodiscard]] __device__ unsigned rank(NodeId j) const {
    const std::size_t group = j / 128;
    const uint4 words = *reinterpret_cast<const uint4*>(bits + group * 4);
    const std::uint32_t parts[4] = {words.x, words.y, words.z, words.w};
    unsigned rank = before[group];
    for (unsigned w = 0; w < 4; ++w) {
      if (w < j / 32 % 4) rank += __popc(parts[w]);
      if (w != j / 32 % 4) continue;
      if (((parts[w] >> (j % 32)) & 1U) == 0) return absent;
      rank += __popc(parts[w] & ((1U << (j % 32)) - 1));
    }
    return rank;
  }
};

/// use(j) for every product of row i, by a block.
template <class Use>
__device__ void for_each_product(const GatherArgs& args, NodeId i, const Use& use) {
  const EdgeOffset end = __ldg(args.a.row_ptr + i + 1);
  for (EdgeOffset e = __ldg(args.a.row_ptr + i) + threadIdx.x / 32; e < end; e += bits_threads / 32) {
    const NodeId k = __ldg(args.a.col_ind + e);
    const EdgeOffset row_end = __ldg(args.b.row_ptr + k + 1);
    for (EdgeOffset x = __ldg(args.b.row_ptr + k) + threadIdx.x % 32; x < row_end; x += 32)
      use(__ldg(args.b.col_ind + x));
  }
}

/// Writes the columns of a row of bits, and how many come before each four words.
__device__ inline void write_columns(const BitRow& row, std::size_t bit_words, NodeId* columns, unsigned* of_warps) {
  const unsigned lane = threadIdx.x % 32;
  unsigned done = 0;
  for (std::size_t base = 0; base < bit_words; base += bits_threads) {
    const std::size_t w = base + threadIdx.x;
    const std::uint32_t word = w < bit_words ? row.bits[w] : 0;
    unsigned before = __popc(word);
    for (unsigned step = 1; step < 32; step *= 2) {
      const unsigned other = __shfl_up_sync(full_warp, before, step);
      before += lane >= step ? other : 0;
    }
    if (lane == 31) of_warps[threadIdx.x / 32] = before;
    __syncthreads();
    before += done - __popc(word);
    for (unsigned v = 0; v < bits_threads / 32; ++v) {
      before += v < threadIdx.x / 32 ? of_warps[v] : 0;
      done += of_warps[v];
    }
    if (w < bit_words && w % 4 == 0) row.before[w / 4] = before;
    for (unsigned left = __ballot_sync(full_warp, word != 0); left != 0; left &= left - 1) {
      const unsigned from = __ffs(left) - 1;
      const std::uint32_t bits = __shfl_sync(full_warp, word, from);
      const unsigned at = __shfl_sync(full_warp, before, from);
      if (((bits >> lane) & 1U) != 0) {
        columns[at + __popc(bits & lanes_below())] = static_cast<NodeId>((w - lane + from) * 32 + lane);
      }
    }
    __syncthreads();
  }
}

/// A block a row of any number of products.
template <bool fill>
__global__ void __launch_bounds__(bits_threads) gather_bits(GatherArgs args, BitRowSpace space) {
  extern __shared__ uint4 shared_words[];
  __shared__ unsigned of_warps[bits_threads / 32];
  __shared__ unsigned next;
  std::uint32_t* own = space.shared_bytes > 0 ? reinterpret_cast<std::uint32_t*>(shared_words)
                                              : space.words + blockIdx.x * space.words_each();
  const BitRow row{own, own + space.bit_words};
  for (std::size_t w = threadIdx.x; space.shared_bytes > 0 && w < space.bit_words; w += bits_threads) row.bits[w] = 0;
  const unsigned num_rows = args.classes.sizes[2];
  for (;;) {
    __syncthreads();
    if (threadIdx.x == 0) next = atomicAdd(args.classes.sizes + num_lists + 2, 1U);
    __syncthreads();
    if (next >= num_rows) return;
    const NodeId i = args.classes.lists[std::size_t{2} * args.a.nrows + next];
    for_each_product(args, i, [&](NodeId j) { row.set(j); });
    __syncthreads();
    if (args.hidden.row_ptr != nullptr) {
      const EdgeOffset end = __ldg(args.hidden.row_ptr + i + 1);
      for (EdgeOffset e = __ldg(args.hidden.row_ptr + i) + threadIdx.x; e < end; e += bits_threads) {
        const NodeId j = __ldg(args.hidden.col_ind + e);
        atomicAnd(row.bits + j / 32, ~(1U << (j % 32)));
      }
      __syncthreads();
    }
    if constexpr (fill) {
      const EdgeOffset begin = args.sizes[i], end = args.sizes[i + 1];
      if (args.counts != nullptr) {
        for (EdgeOffset e = begin + threadIdx.x; e < end; e += bits_threads) args.counts[e] = 0;
      }
      write_columns(row, space.bit_words, args.col_ind + begin, of_warps);
      if (args.counts != nullptr) {
        for_each_product(args, i, [&](NodeId j) {
          const unsigned rank = row.rank(j);
          if (rank != absent) atomicAdd(args.counts + begin + rank, 1U);
        });
      }
      __syncthreads();
      for (std::size_t w = threadIdx.x; w < space.bit_words; w += bits_threads) row.bits[w] = 0;
    } else {
      unsigned size = 0;
      for (std::size_t w = threadIdx.x; w < space.bit_words; w += bits_threads) {
        size += __popc(row.bits[w]);
        row.bits[w] = 0;
      }
      size = __reduce_add_sync(full_warp, size);
      if (threadIdx.x % 32 == 0) atomicAdd(reinterpret_cast<unsigned long long*>(args.sizes + i), size);
    }
  }
}

}  // namespace bitgraph::mxm_cuda
