// SPDX-License-Identifier: Apache-2.0
// Rows of a product gathered by sorting, in warps and blocks.
#pragma once

#include "ops/mxm/cuda/gather.cuh"

namespace bitgraph::mxm_cuda {

/// The lanes of a warp, or of half of it, that have a row to themselves.
template <unsigned lanes>
struct Team {
  [[nodiscard]] __device__ static unsigned lane() { return threadIdx.x % lanes; }
  [[nodiscard]] __device__ static unsigned mask() {
    return lanes == 32 ? full_warp : ((1U << (lanes % 32)) - 1) << (threadIdx.x % 32 / lanes * lanes);
  }
  /// Which lanes of the team say so, from bit 0 on.
  [[nodiscard]] __device__ static unsigned ballot(bool yes) {
    return __ballot_sync(mask(), yes) >> (threadIdx.x % 32 / lanes * lanes);
  }
  template <class T>
  [[nodiscard]] __device__ static T of_lane(T value, unsigned lane) {
    return __shfl_sync(mask(), value, static_cast<int>(lane), lanes);
  }
};

/// Brings the products of row i to shared memory. Returns how many there are.
template <unsigned lanes>
__device__ unsigned bring_products(const GatherArgs& args, NodeId i, NodeId* to) {
  using T = Team<lanes>;
  unsigned placed = 0;
  const EdgeOffset end = __ldg(args.a.row_ptr + i + 1);
  for (EdgeOffset base = __ldg(args.a.row_ptr + i); base < end; base += lanes) {
    EdgeOffset begin = 0;
    unsigned size = 0;
    if (base + T::lane() < end) {
      const NodeId k = __ldg(args.a.col_ind + base + T::lane());
      begin = __ldg(args.b.row_ptr + k);
      size = static_cast<unsigned>(__ldg(args.b.row_ptr + k + 1) - begin);
    }
    unsigned before = size;  // and with this row's
    for (unsigned step = 1; step < lanes; step *= 2) {
      const unsigned other = __shfl_up_sync(T::mask(), before, step, lanes);
      before += T::lane() >= step ? other : 0;
    }
    const unsigned all = T::of_lane(before, lanes - 1);
    const EdgeOffset origin = begin + size - before;  // of product x in col_ind, less x
    for (unsigned first = 0; first < all; first += lanes) {
      const unsigned x = first + T::lane();
      unsigned from = 0;
      for (unsigned step = lanes / 2; step != 0; step /= 2) from += T::of_lane(before, from + step - 1) <= x ? step : 0;
      const EdgeOffset position = T::of_lane(origin, from) + x;
      if (x < all) to[placed + x] = __ldg(args.b.col_ind + position);
    }
    placed += all;
  }
  __syncwarp(T::mask());
  return placed;
}

/// Ascending order of the values of a team: value n of a lane is number n * lanes + lane.
template <unsigned lanes, unsigned values>
__device__ void sort_in_team(NodeId (&v)[values]) {
  const unsigned lane = Team<lanes>::lane();
#pragma unroll
  for (unsigned size = 2; size <= lanes * values; size *= 2) {
#pragma unroll
    for (unsigned step = size / 2; step != 0; step /= 2) {
      if (step >= lanes) {
#pragma unroll
        for (unsigned n = 0; n < values; ++n) {
          const unsigned other = n ^ (step / lanes);
          if (other < n || other >= values) continue;
          const NodeId x = v[n], y = v[other];
          const bool up = (n * lanes & size) == 0;
          v[n] = up ? min(x, y) : max(x, y);
          v[other] = up ? max(x, y) : min(x, y);
        }
      } else {
#pragma unroll
        for (unsigned n = 0; n < values; ++n) {
          const NodeId other = __shfl_xor_sync(Team<lanes>::mask(), v[n], static_cast<int>(step), lanes);
          const bool up = ((n * lanes + lane) & size) == 0;
          v[n] = up == ((lane & step) == 0) ? min(v[n], other) : max(v[n], other);
        }
      }
    }
  }
}

constexpr unsigned team_threads = cuda_mxm_tuning().team_threads;

/// A team a row of at most lanes * values products: of all rows, or of a list.
template <bool fill, unsigned lanes, unsigned values>
__global__ void __launch_bounds__(team_threads) gather_in_team(GatherArgs args, const NodeId* list, unsigned num_rows) {
  using T = Team<lanes>;
  __shared__ NodeId gathered[team_threads * values];
  const std::size_t team = (std::size_t{blockIdx.x} * team_threads + threadIdx.x) / lanes;
  if (team >= num_rows) return;
  const NodeId i = list == nullptr ? static_cast<NodeId>(team) : list[team];
  if (list == nullptr && (args.classes.short_bound[i] == not_short || args.classes.short_bound[i] == 0)) return;
  NodeId* own = gathered + threadIdx.x / lanes * (lanes * values);
  const unsigned products = bring_products<lanes>(args, i, own);
  NodeId column[values];
  unsigned firsts[values];
  for (unsigned n = 0; n < values; ++n) {
    const unsigned x = n * lanes + T::lane();
    column[n] = x < products ? own[x] : no_column;
  }
  sort_in_team<lanes, values>(column);
  for (unsigned n = 0; n < values; ++n) {
    NodeId previous = __shfl_up_sync(T::mask(), column[n], 1, lanes);
    const NodeId last = n == 0 ? no_column : T::of_lane(column[n == 0 ? 0 : n - 1], lanes - 1);
    if (T::lane() == 0) previous = last;
    firsts[n] = T::ballot(column[n] != no_column && (previous != column[n] || n * lanes + T::lane() == 0));
  }
  const unsigned below = (1U << T::lane()) - 1;
  unsigned size = 0;
  for (unsigned n = 0; n < values; ++n) {
    const bool kept = ((firsts[n] >> T::lane()) & 1U) != 0 && !args.hides(i, column[n]);
    const unsigned all_kept = T::ballot(kept);
    if (fill && kept) {
      const EdgeOffset to = args.at[i] + size + __popc(all_kept & below);
      args.col_ind[to] = column[n];
      if (args.counts != nullptr) {
        unsigned next = products;  // where the next column begins
        for (unsigned m = values - 1; m > n; --m) next = firsts[m] != 0 ? m * lanes + __ffs(firsts[m]) - 1 : next;
        const unsigned later = firsts[n] & ~below & ~(1U << T::lane());
        if (later != 0) next = n * lanes + __ffs(later) - 1;
        args.counts[to] = next - (n * lanes + T::lane());
      }
    }
    size += __popc(all_kept);
  }
  if (args.sizes != nullptr && T::lane() == 0) args.sizes[i] = size;
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

constexpr unsigned sort_threads = cuda_mxm_tuning().sort_threads;

/// A block a row of at most most_sorted products.
template <bool fill>
__global__ void __launch_bounds__(sort_threads) gather_in_block(GatherArgs args) {
  constexpr unsigned threads = sort_threads;
  __shared__ NodeId values[most_sorted];
  __shared__ unsigned of_warps[threads / 32];
  __shared__ unsigned placed;
  const unsigned lane = threadIdx.x % 32;
  const NodeId* rows = args.classes.lists + std::size_t{sorted_list} * args.a.nrows;
  for (unsigned r = blockIdx.x; r < args.classes.sizes[sorted_list]; r += gridDim.x) {
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
        const EdgeOffset to = args.at[i] + size + rank;
        args.col_ind[to] = column;
        if (args.counts != nullptr) args.counts[to] = run_length(values, products, at);
      }
      size += sum;
    }
    if (args.sizes != nullptr && threadIdx.x == 0) args.sizes[i] = size;
  }
}

}  // namespace bitgraph::mxm_cuda
