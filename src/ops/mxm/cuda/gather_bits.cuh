// SPDX-License-Identifier: Apache-2.0
// Rows of a product gathered as bits, by blocks.
#pragma once

#include "core/cuda/limits.hpp"
#include "ops/mxm/cuda/gather.cuh"

#include <algorithm>

namespace bitgraph::mxm_cuda {

constexpr unsigned bits_threads = cuda_mxm_tuning().bits_threads;

/// Where blocks keep a row as bits: a bit a column, then for each four words how many bits there are before them.
struct BitRowSpace {
  std::size_t bit_words = 0;  ///< 32-bit words of bits, a multiple of four
  std::size_t shared_bytes = 0;
  unsigned blocks = 1;
  std::uint32_t* words = nullptr;  ///< zeros in device memory, for rows that shared memory cannot hold

  [[nodiscard]] __host__ __device__ std::size_t words_each() const { return bit_words + (bit_words / 4 + 3) / 4 * 4; }
  static BitRowSpace of(const CudaLimits& limits, NodeId ncols, unsigned rows) {
    const CudaMxmTuning& tuning = cuda_mxm_tuning();
    constexpr std::size_t of_the_kernel = 2 << 10;  // what else is in its shared memory
    const std::size_t most_shared = std::min(tuning.most_shared_bit_row, limits.shared_bytes_a_block - of_the_kernel);
    BitRowSpace space;
    space.bit_words = (std::size_t{ncols} + 127) / 128 * 4;
    const std::size_t bytes = space.words_each() * 4;
    std::size_t blocks = std::size_t{limits.multiprocessors} * tuning.bits_blocks;
    if (bytes <= most_shared) {
      space.shared_bytes = bytes;
    } else {
      blocks = std::max<std::size_t>(1, std::min(blocks, tuning.most_bit_row_bytes / bytes));
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
    before = warp_inclusive_sum(before);
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
  const unsigned num_rows = args.classes.sizes[bits_list];
  for (;;) {
    __syncthreads();
    if (threadIdx.x == 0) next = atomicAdd(args.classes.sizes + num_lists, 1U);
    __syncthreads();
    if (next >= num_rows) return;
    const NodeId i = args.classes.lists[std::size_t{bits_list} * args.a.nrows + next];
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
      const EdgeOffset begin = args.at[i], end = args.at[i + 1];
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
