// SPDX-License-Identifier: Apache-2.0
// The SIMD kernels of mxv, each over strips of 64 rows (one word of a mask or of a binary output) on one thread.
// dispatch.cpp cuts the graph into strips and gives each thread its share.
#pragma once

#include "ops/mxv/mxv.hpp"
#include "ops/mxv/tuning.hpp"

#include <bitgraph/core/types.hpp>

#include <cstddef>
#include <cstdint>

namespace bitgraph::mxv_cpu {

inline constexpr std::size_t strip_rows = 64;

/// A graph of any format: the kernels choose among the tile sides themselves, so that one entry point serves all.
struct GraphRef {
  int tile_dim = 0;  ///< 0: pattern CSR
  NodeId nrows = 0;
  NodeId ncols = 0;
  const EdgeOffset* ptr = nullptr;  ///< of rows, or of tile rows
  const NodeId* col_ind = nullptr;  ///< of entries, or of tiles
  const void* tiles = nullptr;

  template <int K>
  [[nodiscard]] BitTileView<K> view() const noexcept {
    return {nrows, ncols, (nrows + K - 1) / K, ptr, col_ind, static_cast<const TileWord<K>*>(tiles)};
  }
};

[[nodiscard]] inline GraphRef graph_ref(const CsrPatternView& a) {
  return {0, a.nrows, a.ncols, a.row_ptr, a.col_ind, nullptr};
}
template <int K>
[[nodiscard]] GraphRef graph_ref(const BitTileView<K>& a) {
  return {K, a.nrows, a.ncols, a.tile_row_ptr, a.tile_col_ind, a.bit_tiles};
}

/// Strips begin .. end of the output.
struct StripRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// out(i) = is there an entry (i, j) with bit j of x.
struct AnyArgs {
  GraphRef a;
  const std::uint64_t* x = nullptr;
  std::uint64_t* out = nullptr;
  OutputRule rule;
  std::size_t long_degree = 16;  ///< rows of more entries, on average, are walked one by one until one hits
};
void any_strips(const AnyArgs& args, StripRange strips);

/// out(i) = number of entries (i, j) with bit j of x; all entries where x is null.
template <class T>
struct CountArgs {
  GraphRef a;
  const std::uint64_t* x = nullptr;
  T* out = nullptr;
  OutputRule rule;
};
void count_strips(const CountArgs<float>& args, StripRange strips);
void count_strips(const CountArgs<double>& args, StripRange strips);
void count_strips(const CountArgs<std::int32_t>& args, StripRange strips);

enum class Reduction { sum, min, max };

/// out(i) = reduction of x(j) over the entries (i, j), and a step of 1 on top (min_plus: adding 1 keeps the order, so
/// it may wait until the smallest is known).
template <class T>
struct ReduceArgs {
  GraphRef a;
  const T* x = nullptr;
  const T* x_tail = nullptr;  ///< the elements of the last tile column where the matrix ends within it, and zeros
  T* out = nullptr;
  OutputRule rule;
  Reduction reduction = Reduction::sum;
  bool step = false;
};
void reduce_strips(const ReduceArgs<float>& args, StripRange strips);
void reduce_strips(const ReduceArgs<double>& args, StripRange strips);
void reduce_strips(const ReduceArgs<std::int32_t>& args, StripRange strips);

}  // namespace bitgraph::mxv_cpu
