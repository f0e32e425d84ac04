// SPDX-License-Identifier: Apache-2.0
// Sums of floats, or of weights with signs, on a CUDA device. A lane adds up a feature of its own over the row's
// columns in their order, as every backend does: results are those of the host to the last bit. So a row cannot be
// split, and speed comes from many neighbours on their way at a time. Of a hub's neighbours a block's warps fetch a
// portion each, and the sums go from warp to warp.
#pragma once

#include "ops/spmm/cuda_emit.cuh"

namespace bitgraph::spmm_cuda {

/// Neighbours on their way: as many as 32 registers hold.
template <int Words>
constexpr unsigned neighbors_in_flight = Words == 1 ? 16 : 32 / Words;

/// A feature of a neighbour, times its weight.
__device__ inline float element(const FloatIn& x, NodeId j, std::size_t f, const float* col_scale, float scale) {
  const float value = f < x.ncols ? __ldg(x.data + std::size_t{j} * x.stride + f) : 0.0F;
  return col_scale == nullptr ? value : scale * value;
}
__device__ inline float element(const BitsIn& x, NodeId j, std::size_t f, const float*, float scale) {
  if (f >= x.ncols) return 0.0F;
  const std::uint32_t word =
      __ldg(reinterpret_cast<const std::uint32_t*>(x.words + std::size_t{j} * x.words_per_row) + f / 32);
  return ((word >> (f % 32)) & 1U) != 0 ? scale : -scale;
}

/// The sums of a warp, Words features a lane 32 apart, to the output.
template <int Words, class Args>
__device__ void emit_sums(const Args& args, NodeId row, unsigned first_word, const float (&sum)[Words]) {
  const unsigned lane = threadIdx.x % 32;
#pragma unroll
  for (int m = 0; m < Words; ++m) {
    const unsigned word = first_word + m;
    const std::size_t f = std::size_t{word} * 32 + lane;
    const bool exists = f < args.x.ncols;
    const float y = exists ? through(args.epilogue, row, f, sum[m]) : -1.0F;
    if constexpr (is_bits<decltype(args.out)>) {
      const std::uint32_t bits = __ballot_sync(full_warp, y >= 0);
      if (lane == 0 && word < half_words(args.out)) *half_word(args.out, row, word) = bits;
    } else {
      if (exists) args.out.data[std::size_t{row} * args.out.stride + f] = y;
    }
  }
}

/// Where a warp has its columns and their weights.
struct Queue {
  NodeId column[queue_size];
  float scale[queue_size];
};

/// A warp's row, Words times 32 features of it.
template <int Words, class Args>
__device__ void sum_row(const Args& args, NodeId row, unsigned first_word, Queue& queue) {
  constexpr unsigned flying = neighbors_in_flight<Words>;
  const unsigned lane = threadIdx.x % 32;
  const std::size_t feature = std::size_t{first_word} * 32 + lane;
  RowColumns<decltype(args.a)> columns(args.a, row);
  float sum[Words] = {};
  for (unsigned count = columns.refill(queue.column, lane); count != 0; count = columns.refill(queue.column, lane)) {
    if (args.col_scale != nullptr) {
      for (unsigned i = lane; i < count; i += 32) queue.scale[i] = __ldg(args.col_scale + queue.column[i]);
      __syncwarp();
    }
    for (unsigned at = 0; at < count; at += flying) {
      float value[flying][Words];
#pragma unroll
      for (unsigned u = 0; u < flying; ++u) {
        const bool exists = at + u < count;
        const NodeId j = exists ? queue.column[at + u] : 0;
        const float scale = exists && args.col_scale != nullptr ? queue.scale[at + u] : 0.0F;
#pragma unroll
        for (int m = 0; m < Words; ++m) {
          value[u][m] = exists ? element(args.x, j, feature + m * 32, args.col_scale, scale) : 0.0F;
        }
      }
      // No sum is -0, so adding 0 for neighbours that are not there changes nothing.
#pragma unroll
      for (unsigned u = 0; u < flying; ++u) {
#pragma unroll
        for (int m = 0; m < Words; ++m) sum[m] += value[u][m];
      }
    }
  }
  emit_sums(args, row, first_word, sum);
}

/// Waits until the warp before has handed on, or hands on to the next: a barrier for each pair of neighbours.
__device__ inline void wait_for_turn(unsigned warp) { asm volatile("bar.sync %0, 64;" ::"r"(warp + 1) : "memory"); }
__device__ inline void hand_on(unsigned warp) {
  asm volatile("bar.arrive %0, 64;" ::"r"((warp + 1) % block_warps + 1) : "memory");
}

/// A hub's row for a block. Portion p is fetched by warp p % block_warps, ahead of its turn.
template <int Words, class Args>
__device__ void sum_hub(const Args& args, NodeId row, unsigned first_word, float (&sums)[Words][32]) {
  constexpr unsigned portion = neighbors_in_flight<Words>;
  const unsigned warp = threadIdx.x / 32;
  const unsigned lane = threadIdx.x % 32;
  const std::size_t feature = std::size_t{first_word} * 32 + lane;
  const NodeId* const cols = args.a.col_ind + __ldg(args.a.row_ptr + row);
  const auto n = static_cast<std::uint32_t>(row_length(args.a, row));
  const std::uint32_t portions = (n + portion - 1) / portion;
  __syncthreads();  // of the hub before
  for (std::uint32_t p = warp; p < portions; p += block_warps) {
    const std::uint32_t i = p * portion + lane;
    const NodeId col = lane < portion && i < n ? stream_in(cols + i) : 0;
    const float scale = lane < portion && i < n && args.col_scale != nullptr ? __ldg(args.col_scale + col) : 0.0F;
    float value[portion][Words];
#pragma unroll
    for (unsigned u = 0; u < portion; ++u) {
      const NodeId j = __shfl_sync(full_warp, col, u);
      const float weight = __shfl_sync(full_warp, scale, u);
#pragma unroll
      for (int m = 0; m < Words; ++m) {
        value[u][m] = p * portion + u < n ? element(args.x, j, feature + m * 32, args.col_scale, weight) : 0.0F;
      }
    }
    float sum[Words] = {};
    if (p != 0) {
      wait_for_turn(warp);
      for (int m = 0; m < Words; ++m) sum[m] = sums[m][lane];
    }
#pragma unroll
    for (unsigned u = 0; u < portion; ++u) {
#pragma unroll
      for (int m = 0; m < Words; ++m) sum[m] += value[u][m];
    }
    if (p + 1 == portions) {
      emit_sums(args, row, first_word, sum);
    } else {
      for (int m = 0; m < Words; ++m) sums[m][lane] = sum[m];
      hand_on(warp);
    }
  }
}

/// Rows of pattern CSR by chunks.
template <int Words, class Args>
__device__ void sum_rows(const Args& args, const CsrPatternView& a, Queue& queue, unsigned first_word, unsigned parts) {
  __shared__ BlockRows rows;
  __shared__ float sums[Words][32];
  const Share share(parts);
  find_rows(rows, a, share);
  for (unsigned n = 0; n < rows.num_hubs; ++n) sum_hub<Words>(args, rows.hubs[n], first_word, sums);
  for (unsigned task = take(rows);; task = take(rows)) {
    if (task < rows.num_long) {
      sum_row<Words>(args, rows.long_rows[task], first_word, queue);
      continue;
    }
    const std::size_t row = rows.first + std::size_t{task - rows.num_long} * parts + share.part;
    if (row >= rows.end) break;
    if (row_length(a, static_cast<NodeId>(row)) < long_row) {
      sum_row<Words>(args, static_cast<NodeId>(row), first_word, queue);
    }
  }
}

/// Rows of tiles, a warp each.
template <int Words, class Args>
__device__ void sum_rows(const Args& args, const AnyTiles& a, Queue& queue, unsigned first_word, unsigned) {
  const std::size_t row = std::size_t{blockIdx.x} * block_warps + threadIdx.x / 32;
  if (row < a.nrows) sum_row<Words>(args, static_cast<NodeId>(row), first_word, queue);
}

template <int Words, class Args>
__global__ void __launch_bounds__(block_threads) spmm_sum(Args args, unsigned parts) {
  __shared__ Queue queues[block_warps];
  sum_rows<Words>(args, args.a, queues[threadIdx.x / 32], blockIdx.y * Words, parts);
}

template <int Words, class In, class Out>
void launch_sum(const Device& device, const SpmmArgs<CsrPatternView, In, Out>& args, unsigned slices) {
  const unsigned parts = blocks_a_chunk(args.a.num_chunks);
  spmm_sum<Words><<<dim3(args.a.num_chunks * parts, slices), block_threads, 0, stream_of(device)>>>(args, parts);
}

template <int Words, class In, class Out>
void launch_sum(const Device& device, const SpmmArgs<AnyTiles, In, Out>& args, unsigned slices) {
  const dim3 grid(blocks_for(args.a.nrows, block_warps), slices);
  spmm_sum<Words><<<grid, block_threads, 0, stream_of(device)>>>(args, 1);
}

/// A warp takes up to 128 features of a row; a binary output has all the words of its rows written.
template <class Graph, class In, class Out>
void launch_sum(const Device& device, const SpmmArgs<Graph, In, Out>& args) {
  const auto words = static_cast<unsigned>((args.x.ncols + 63) / 64 * 2);
  if (words <= 2) {
    launch_sum<2>(device, args, 1);
  } else {
    launch_sum<4>(device, args, (words + 3) / 4);
  }
  cuda_check_launch("spmm_sum");
}

}  // namespace bitgraph::spmm_cuda
