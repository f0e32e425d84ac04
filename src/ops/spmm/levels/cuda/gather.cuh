// SPDX-License-Identifier: Apache-2.0
// Sums of levels over neighbours on a CUDA device: how sets of lanes read the rows of X that belong to a row of A.
#pragma once

#include "core/cuda/join_lanes.cuh"
#include "ops/level_views.hpp"
#include "ops/spmm/levels/cuda/sums.cuh"
#include "ops/spmm/levels/tuning.hpp"

#include <bitgraph/core/kernel.cuh>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace bitgraph::level_cuda {

constexpr CudaLevelSpmmTuning tuning = cuda_level_spmm_tuning();
constexpr unsigned batch = tuning.batch;

/// How many rows of an order have so many entries or more, a power of two: at most 2^14, where the order's knowledge
/// ends.
inline NodeId rows_of_at_least(const RowOrderView& order, EdgeOffset entries) {
  return order.at_least[std::min<std::size_t>(std::bit_width(entries - 1), order.at_least.size() - 1)];
}

/// The rows of X as a lane reads them. Places are products of 32 bits: one instruction. With `InHalves` parts of four
/// words are two loads, since rows begin at multiples of eight bytes; the last part of a row may be a half.
template <unsigned Words, bool InHalves = false>
struct PartReader {
  static_assert(Words == 4 || !InHalves);
  const std::uint8_t* first;
  std::uint32_t row_bytes;
  bool reads;       ///< rows have this part
  bool has_second;  ///< and its second half
  bool few;         ///< levels have at most 2 bits

  __device__ PartReader(const QuantizedView<>& x, unsigned part)
      : first(x.data + std::size_t{part} * sizeof(Part<Words>)),
        row_bytes(static_cast<std::uint32_t>(x.row_bytes)),
        reads(part * sizeof(Part<Words>) < row_bytes),
        has_second(part * sizeof(Part<Words>) + sizeof(uint2) < row_bytes),
        few(x.bits <= 2) {
    // The compiler would make both anew for each neighbour.
    asm volatile("" : "+l"(first));
    asm volatile("" : "+r"(row_bytes));
  }
  __device__ Part<Words> operator()(NodeId row) const {
    const std::uint8_t* at;
    asm("mad.wide.u32 %0, %1, %2, %3;" : "=l"(at) : "r"(row), "r"(row_bytes), "l"(first));
    if constexpr (InHalves) {
      const auto* const halves = reinterpret_cast<const uint2*>(at);
      const uint2 one = __ldg(halves), two = has_second ? __ldg(halves + 1) : uint2{};
      return {one.x, one.y, two.x, two.y};
    } else {
      return __ldg(reinterpret_cast<const Part<Words>*>(at));
    }
  }
};

/// Adds neighbours of a row. `Sets` sets of `Lanes` lanes share its `n` columns, which begin at `cols`: they read a
/// portion of batch * Sets columns from `first` on, then the portion `step` columns further on, and so on. The first
/// columns come before wait(). `first` and `step` are the same in the whole warp.
template <unsigned Lanes, unsigned Sets, class Sums, class Reader, class Wait>
__device__ void add_neighbors(Sums& sums, const Reader& read, const NodeId* cols, std::uint32_t n, std::uint32_t first,
                              std::uint32_t step, const Wait& wait) {
  constexpr unsigned group = Lanes * Sets;
  constexpr unsigned portion = batch * Sets;
  constexpr unsigned loads = (portion + group - 1) / group;
  constexpr unsigned half = batch / 2;
  static_assert(32 % group == 0);
  const unsigned own = threadIdx.x % group;
  const unsigned set = own / Lanes;
  NodeId column[loads];
  const auto load_columns = [&](std::uint32_t at) {
#pragma unroll
    for (unsigned m = 0; m < loads; ++m) {
      const unsigned place = m * group + own;
      column[m] = place < portion && at + place < n ? __ldg(cols + at + place) : 0;
    }
  };
  load_columns(first);
  wait();
  const std::uint32_t longest = group == 32 ? n : __reduce_max_sync(full_warp, n);
  // Columns from this set's first one on that are left, less one: where it is negative, none.
  int last = read.reads ? static_cast<int>(n) - static_cast<int>(first + set) - 1 : -1;
#pragma unroll 1
  for (std::uint32_t at = first; at < longest; at += step, last -= static_cast<int>(step)) {
    Part<Sums::words> parts[batch] = {};
    const auto read_half = [&](unsigned from) {
#pragma unroll
      for (unsigned k = from; k < from + half; ++k) {
        NodeId j = column[k * Sets / group];  // a lone lane has read it itself
        if constexpr (Lanes > 1) j = __shfl_sync(full_warp, j, set + k * Sets % group, group);
        if (static_cast<int>(k * Sets) <= last) parts[k] = read(j);
      }
    };
    const std::uint32_t left = longest - at;
    read_half(0);
    if (left > half * Sets) read_half(half);
    if (left > step) load_columns(at + step);
    sums.add(parts, read.few, left <= half * Sets);
  }
  sums.separate();
}

/// The sums of a lane as numbers.
template <unsigned Bits, unsigned Words>
__device__ RowSums<LaneLevels<Bits, Words>::features> numbers_of(const LaneLevels<Bits, Words>& sums) {
  RowSums<LaneLevels<Bits, Words>::features> all;
#pragma unroll
  for (unsigned f = 0; f < all.count; ++f) all.sum[f] = sums.of(f);
  return all;
}

}  // namespace bitgraph::level_cuda
