// SPDX-License-Identifier: Apache-2.0
// mxv_with() on a CUDA device. Included by mxv_with.hpp where nvcc compiles it.
//
// One kernel serves both formats. A row of a CSR pattern is a list of entries; a tile row is a list of tiles. Both are
// called units here. A few lanes reduce a short list, a warp a longer one. The longest lists are cut into pieces of
// equal length, which warps of an earlier kernel have reduced. The order of sums does not depend on timing.
#pragma once

#include <bitgraph/core/kernel_loop.hpp>
#include <bitgraph/formats/bit_tile_matrix.hpp>
#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/formats/rows_of.cuh>
#include <bitgraph/ops/semiring.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace bitgraph::detail {

inline constexpr int list_blocks = 6;          ///< resident on a multiprocessor: it has registers for so many
inline constexpr EdgeOffset units_a_lane = 8;  ///< a list with more units for each lane goes to the whole warp

/// Units of a piece. Lists of more than two pieces are cut.
inline constexpr EdgeOffset piece_units = 512;

/// How lanes divide a unit among them. It has `side` rows; a lane takes one of them, or two of 64.
template <class View>
struct UnitLanes {
  static constexpr unsigned side = 1;
  /// Lanes that reduce a list: if no list is long, if lists are short on average, and otherwise.
  static constexpr unsigned least_lanes = 1, few_lanes = 4, many_lanes = 8;
};
template <int K>
struct UnitLanes<BitTileView<K>> {
  static constexpr unsigned side = K;
  static constexpr unsigned few_lanes = K < 32 ? K : 32, least_lanes = few_lanes, many_lanes = 32;
};

template <class View>
inline constexpr unsigned rows_a_lane = UnitLanes<View>::side == 64 ? 2 : 1;
template <class View>
inline constexpr unsigned lanes_a_unit = UnitLanes<View>::side / rows_a_lane<View>;

__device__ inline const EdgeOffset* lists_of(const CsrPatternView& a) { return a.row_ptr; }
__host__ __device__ inline NodeId num_lists(const CsrPatternView& a) { return a.nrows; }
template <int K>
__device__ const EdgeOffset* lists_of(const BitTileView<K>& a) {
  return a.tile_row_ptr;
}
template <int K>
__host__ __device__ NodeId num_lists(const BitTileView<K>& a) {
  return a.num_tile_rows;
}

/// A lane's partial sums of its rows.
template <class S, class T, class View>
struct LaneSums {
  static constexpr unsigned at_once = sizeof(T) <= 8 ? 4 : 2;  // units that are loaded before they are added

  T of[rows_a_lane<View>];

  __device__ LaneSums() {
    for (T& sum : of) sum = S::template identity<T>();
  }

  /// Adds the units first, first + step, ... below end.
  __device__ void add(const CsrPatternView& a, const T* x, EdgeOffset first, EdgeOffset end, unsigned step) {
    EdgeOffset e = first;
    for (; e + (at_once - 1) * step < end; e += at_once * step) {
      T values[at_once];
#pragma unroll
      for (unsigned k = 0; k < at_once; ++k) values[k] = x[a.col_ind[e + k * step]];
#pragma unroll
      for (unsigned k = 0; k < at_once; ++k) of[0] = S::add(of[0], S::multiply(values[k]));
    }
    for (; e < end; e += step) of[0] = S::add(of[0], S::multiply(x[a.col_ind[e]]));
  }
  template <int K>
  __device__ void add(const BitTileView<K>& a, const T* x, EdgeOffset first, EdgeOffset end, unsigned step) {
    const unsigned row = threadIdx.x % lanes_a_unit<View>;
    for (EdgeOffset t = first; t < end; t += at_once * step) {
      NodeId column[at_once];
      std::uint64_t bits[at_once][rows_a_lane<View>];
#pragma unroll
      for (unsigned k = 0; k < at_once; ++k) {
        const bool there = t + k * step < end;
        column[k] = there ? a.tile_col_ind[t + k * step] : 0;
#pragma unroll
        for (unsigned n = 0; n < rows_a_lane<View>; ++n) {
          bits[k][n] = there ? a.tile_row(t + k * step, static_cast<int>(row + n * 32)) : 0;
        }
      }
#pragma unroll
      for (unsigned k = 0; k < at_once; ++k) {
#pragma unroll
        for (unsigned n = 0; n < rows_a_lane<View>; ++n) {
          of[n] = sum_of_bits(of[n], bits[k][n], x + std::size_t{column[k]} * K);
        }
      }
    }
  }

  /// Over the units side by side among `lanes` lanes: all of them have the sums of their rows.
  __device__ void join(unsigned lanes) {
    for (unsigned apart = lanes / 2; apart >= lanes_a_unit<View>; apart /= 2) {
      for (T& sum : of) {
        sum = S::add(sum, shuffled(sum, [&](std::uint32_t word) { return __shfl_xor_sync(full_warp, word, apart); }));
      }
    }
  }

 private:
  /// Adds the elements of x under the set bits of a tile's row to the sum; x begins at the tile's first column.
  __device__ static T sum_of_bits(T sum, std::uint64_t bits, const T* x) {
    if constexpr (std::is_same_v<S, PlusPair> && std::is_integral_v<T>) {
      return S::add(sum, static_cast<T>(__popcll(bits)));
    } else {
      for (; bits != 0; bits &= bits - 1) sum = S::add(sum, S::multiply(x[__ffsll(static_cast<long long>(bits)) - 1]));
      return sum;
    }
  }
};

template <class S, class T, class View>
__device__ bool any_selected(const MxvWithWork<S, T, View>& work, NodeId list) {
  if (work.mask == nullptr) return true;
  bool any = false;
  for (std::size_t i = std::size_t{list} * UnitLanes<View>::side, n = 0; n < UnitLanes<View>::side; ++n) {
    any = any || (i + n < work.a.nrows && work.selects(i + n));
  }
  return any;
}

/// Reduces the pieces of long lists; a warp takes a piece.
template <class S, class T, class View>
__global__ void __launch_bounds__(kernel_threads, list_blocks)
    add_pieces(MxvWithWork<S, T, View> work, EdgeOffset num_pieces, T* pieces) {
  const EdgeOffset piece = (EdgeOffset{blockIdx.x} * kernel_threads + threadIdx.x) / 32;
  if (piece >= num_pieces) return;
  const EdgeOffset begin = piece * piece_units;
  const EdgeOffset* lists = lists_of(work.a);
  const NodeId list = row_of_by_warp(lists, 0, num_lists(work.a) - 1, begin);
  if (lists[list + 1] < begin + piece_units || lists[list + 1] - lists[list] <= 2 * piece_units) return;
  if (!any_selected(work, list)) return;
  LaneSums<S, T, View> sums;
  const unsigned lane = threadIdx.x % 32;
  sums.add(work.a, work.x, begin + lane / lanes_a_unit<View>, begin + piece_units, 32 / lanes_a_unit<View>);
  sums.join(32);
  if (lane >= lanes_a_unit<View>) return;
  for (unsigned n = 0; n < rows_a_lane<View>; ++n) pieces[piece * UnitLanes<View>::side + n * 32 + lane] = sums.of[n];
}

/// Reduces a list with a whole warp.
template <class S, class T, class View>
__device__ LaneSums<S, T, View> sum_of_list(const MxvWithWork<S, T, View>& work, EdgeOffset begin, EdgeOffset end,
                                            const T* pieces) {
  constexpr unsigned step = 32 / lanes_a_unit<View>;
  const unsigned own = threadIdx.x % 32 / lanes_a_unit<View>;
  LaneSums<S, T, View> sums;
  if (end - begin <= 2 * piece_units) {
    sums.add(work.a, work.x, begin + own, end, step);
  } else {
    const EdgeOffset first = (begin + piece_units - 1) / piece_units;
    const EdgeOffset last = end / piece_units;
    sums.add(work.a, work.x, begin + own, first * piece_units, step);
    for (EdgeOffset piece = first + own; piece < last; piece += step) {
      for (unsigned n = 0; n < rows_a_lane<View>; ++n) {
        const unsigned row = n * 32 + threadIdx.x % lanes_a_unit<View>;
        sums.of[n] = S::add(sums.of[n], pieces[piece * UnitLanes<View>::side + row]);
      }
    }
    sums.add(work.a, work.x, last * piece_units + own, end, step);
  }
  sums.join(32);
  return sums;
}

/// Reduces a list with `lanes` lanes.
template <class S, class T, class View, unsigned lanes>
__global__ void __launch_bounds__(kernel_threads, list_blocks)
    add_lists(MxvWithWork<S, T, View> work, const T* pieces) {
  constexpr unsigned side_by_side = lanes / lanes_a_unit<View>;
  constexpr EdgeOffset longest = units_a_lane * side_by_side;  // the longest list that these lanes reduce
  const std::size_t list = (std::size_t{blockIdx.x} * kernel_threads + threadIdx.x) / lanes;
  const bool there = list < num_lists(work.a) && any_selected(work, static_cast<NodeId>(list));
  const EdgeOffset begin = there ? lists_of(work.a)[list] : 0;
  const EdgeOffset end = there ? lists_of(work.a)[list + 1] : 0;
  LaneSums<S, T, View> sums;
  if (end - begin <= longest) {
    sums.add(work.a, work.x, begin + threadIdx.x % lanes / lanes_a_unit<View>, end, side_by_side);
  }
  sums.join(lanes);
  unsigned left = __ballot_sync(full_warp, end - begin > longest && threadIdx.x % lanes == 0);
  for (; left != 0; left &= left - 1) {
    const unsigned n = __ffs(static_cast<int>(left)) - 1;
    const EdgeOffset from = __shfl_sync(full_warp, begin, n);
    const EdgeOffset to = __shfl_sync(full_warp, end, n);
    const auto of_list = sum_of_list(work, from, to, pieces);
    if (threadIdx.x % 32 / lanes == n / lanes) sums = of_list;
  }
  if (list >= num_lists(work.a) || threadIdx.x % lanes >= lanes_a_unit<View>) return;
  for (unsigned n = 0; n < rows_a_lane<View>; ++n) {
    const std::size_t i = list * UnitLanes<View>::side + n * 32 + threadIdx.x % lanes;
    if (i < work.a.nrows) work.finish(i, sums.of[n]);
  }
}

template <unsigned lanes, class S, class T, class View>
void launch_lists(const MxvWithWork<S, T, View>& work, cudaStream_t stream, const T* pieces) {
  add_lists<S, T, View, lanes>
      <<<kernel_blocks(std::size_t{num_lists(work.a)} * lanes, kernel_threads), kernel_threads, 0, stream>>>(work,
                                                                                                             pieces);
  cuda_check_launch("mxv");
}

/// Whether a list can be long enough to be cut into pieces.
inline bool may_have_pieces(const CsrPatternView& a, EdgeOffset) { return a.longest_row > 2 * piece_units; }
template <int K>
bool may_have_pieces(const BitTileView<K>&, EdgeOffset units) {
  return units > 2 * piece_units;
}

/// Whether one lane for each list is enough.
inline bool all_are_short(const CsrPatternView& a) { return a.longest_row <= units_a_lane; }
template <int K>
bool all_are_short(const BitTileView<K>&) {
  return false;
}

template <class S, class T, class View>
void mxv_with_on_device(const MxvWithWork<S, T, View>& work, const Device& device, EdgeOffset units) {
  if (work.a.nrows == 0) return;
  using Lanes = UnitLanes<View>;
  const ScopedCudaDevice scope(device.index());
  const EdgeOffset num_pieces = units / piece_units;
  T* pieces = nullptr;
  if (may_have_pieces(work.a, units)) {
    pieces = static_cast<T*>(device.workspace(num_pieces * Lanes::side * sizeof(T)));
    add_pieces<<<kernel_blocks(num_pieces * 32, kernel_threads), kernel_threads, 0, stream_of(device)>>>(
        work, num_pieces, pieces);
    cuda_check_launch("mxv");
  }
  if (all_are_short(work.a)) {
    launch_lists<Lanes::least_lanes>(work, stream_of(device), pieces);
  } else if (units <= std::size_t{8} * num_lists(work.a)) {
    launch_lists<Lanes::few_lanes>(work, stream_of(device), pieces);
  } else {
    launch_lists<Lanes::many_lanes>(work, stream_of(device), pieces);
  }
}

}  // namespace bitgraph::detail
