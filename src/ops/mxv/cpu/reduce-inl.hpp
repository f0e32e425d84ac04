// SPDX-License-Identifier: Apache-2.0
// Sums, minima and maxima of values along rows. Every row of a strip leaves a few partial results side by side, `lanes`
// of them, in one buffer; all rows are folded to one value each together, in vectors across rows.
// Included once for each instruction set (Highway's convention: the guard toggles).
#if defined(BITGRAPH_OPS_MXV_CPU_REDUCE_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef BITGRAPH_OPS_MXV_CPU_REDUCE_INL_HPP
#undef BITGRAPH_OPS_MXV_CPU_REDUCE_INL_HPP
#else
#define BITGRAPH_OPS_MXV_CPU_REDUCE_INL_HPP
#endif

#include <hwy/highway.h>

#include "ops/mxv/cpu/strip-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

/// Partial results of a strip's rows.
template <class T>
struct Partials {
  HWY_ALIGN T values[strip_rows * value_lanes<T>];

  /// One value a row where each has C partial ones, in place: neighbours are added until one is left.
  template <class R, std::size_t C>
  HWY_INLINE void fold() {
    const hn::CappedTag<T, value_lanes<T>> d;
    for (std::size_t width = C; width > 1; width /= 2) {
      for (std::size_t i = 0; i < strip_rows * width / 2; i += value_lanes<T>) {
        hn::Vec<decltype(d)> even, odd;
        hn::LoadInterleaved2(d, values + 2 * i, even, odd);
        hn::Store(R::add(even, odd), d, values + i);
      }
    }
  }
};

/// How the bits of a tile of side K fall on vectors of T: vector v holds bits v * N .. of it, that is rows of several
/// copies of the K values, or a part of one row. A row keeps `lanes` partial results.
template <class T, int K>
struct TileValues {
  static constexpr std::size_t N = HWY_MIN(value_lanes<T>, std::size_t{K} * K);
  using D = hn::CappedTag<T, N>;
  using V = hn::Vec<D>;
  static constexpr std::size_t lanes = HWY_MIN(std::size_t{K}, N);
  static constexpr std::size_t parts = N >= K ? 1 : K / N;         ///< vectors that hold the K values
  static constexpr std::size_t sums = std::size_t{K} * lanes / N;  ///< vectors of partial results of a tile row

  /// The K values, repeated over each vector as often as they fit.
  static HWY_INLINE void load(const T* x, V (&columns)[parts]) {
    const D d;
    if constexpr (N <= K) {
      for (std::size_t p = 0; p < parts; ++p) columns[p] = hn::LoadU(d, x + p * N);
    } else if constexpr (K * sizeof(T) == 16) {
      columns[0] = hn::LoadDup128(d, x);
    } else {
#if HWY_TARGET != HWY_SCALAR
      const hn::Half<D> half;
      const auto values = hn::LoadU(half, x);
      columns[0] = hn::Combine(d, values, values);
#endif
    }
  }
};

/// The mask that is bits at .. of a tile; `at` is a multiple of the lanes.
template <std::size_t N, class D>
HWY_INLINE hn::Mask<D> tile_mask(D d, const void* tile, std::size_t at) {
  const auto* bytes = static_cast<const std::uint8_t*>(tile) + at / 8;
  if constexpr (N >= 8) {
    return hn::LoadMaskBits(d, bytes);
  } else {
    const auto part = static_cast<std::uint8_t>(*bytes >> (at % 8));
    return hn::LoadMaskBits(d, &part);
  }
}

/// Sides up to 16: the partial results of a tile row stay in registers; every bit of a tile is a lane of a masked add.
template <class R, class T, int K>
HWY_INLINE void reduce_small_tiles(const BitTileView<K>& a, const mxv_cpu::ReduceArgs<T>& args, EdgeOffset begin,
                                   EdgeOffset end, T* partials) {
  using L = TileValues<T, K>;
  const typename L::D d;
  const NodeId cut_column = a.ncols / K;  // of the tile column that the matrix ends in, where it does
  typename L::V sums[L::sums];
  for (auto& sum : sums) sum = hn::Set(d, identity_of<R, T>());
  for (EdgeOffset t = begin; t < end; ++t) {
    const NodeId c = a.tile_col_ind[t];
    typename L::V columns[L::parts];
    L::load(HWY_UNLIKELY(c == cut_column) ? args.x_tail : args.x + std::size_t{c} * K, columns);
    const void* tile = a.bit_tiles + t * tile_words<K>;
    for (std::size_t v = 0; v < std::size_t{K} * K / L::N; ++v) {
      auto& sum = sums[v / L::parts];
      sum = hn::IfThenElse(tile_mask<L::N>(d, tile, v * L::N), R::add(columns[v % L::parts], sum), sum);
    }
  }
  for (std::size_t v = 0; v < L::sums; ++v) hn::Store(sums[v], d, partials + v * L::N);
}

/// Sides of 32 and 64: most rows of most tiles are empty; only the parts with bits are touched.
template <class R, class T, int K>
HWY_INLINE void reduce_large_tiles(const BitTileView<K>& a, const mxv_cpu::ReduceArgs<T>& args, EdgeOffset begin,
                                   EdgeOffset end, T* partials) {
  using L = TileValues<T, K>;
  const typename L::D d;
  const NodeId cut_column = a.ncols / K;
  for (std::size_t r = 0; r < K; ++r) hn::Store(hn::Set(d, identity_of<R, T>()), d, partials + r * L::N);
  for (EdgeOffset t = begin; t < end; ++t) {
    const NodeId c = a.tile_col_ind[t];
    const T* x = HWY_UNLIKELY(c == cut_column) ? args.x_tail : args.x + std::size_t{c} * K;
    for (std::size_t r = 0; r < K; ++r) {
      const TileWord<K>* row = a.bit_tiles + t * K + r;
      if (*row == 0) continue;
      auto sum = hn::Load(d, partials + r * L::N);
      for (std::size_t p = 0; p < L::parts; ++p) {
        const auto mask = tile_mask<L::N>(d, row, p * L::N);
        sum = hn::IfThenElse(mask, R::add(hn::LoadU(d, x + p * L::N), sum), sum);
      }
      hn::Store(sum, d, partials + r * L::N);
    }
  }
}

/// The results of a strip over tiles, one a row, in partials.
template <class R, class T, int K>
HWY_INLINE void reduce_tiles(const mxv_cpu::ReduceArgs<T>& args, std::size_t s, std::uint64_t selected,
                             Partials<T>& partials) {
  using L = TileValues<T, K>;
  const BitTileView<K> view = args.a.template view<K>();
  for_selected_tile_rows<K>(args.a, s, selected, [&](std::size_t tile_row, std::size_t n) HWY_ATTR {
    const EdgeOffset begin = view.tile_row_ptr[tile_row];
    const EdgeOffset end = view.tile_row_ptr[tile_row + 1];
    T* to = partials.values + n * K * L::lanes;
    if constexpr (K <= 16) {
      reduce_small_tiles<R, T, K>(view, args, begin, end, to);
    } else {
      reduce_large_tiles<R, T, K>(view, args, begin, end, to);
    }
  });
  partials.template fold<R, L::lanes>();
}

/// Values of x at the columns from `cols` on, C of them.
template <std::size_t C, class T, class Index>
HWY_INLINE auto gather(const T* x, Index columns) {
  const hn::CappedTag<T, C> d;
  const hn::RebindToSigned<decltype(d)> di;
  if constexpr (sizeof(T) == 4) {
    return hn::GatherIndex(d, x, hn::BitCast(di, columns));
  } else {
    return hn::GatherIndex(d, x, hn::BitCast(di, hn::PromoteTo(hn::RebindToUnsigned<decltype(d)>(), columns)));
  }
}

/// The rows of a strip over pattern CSR, each gathered by itself, C entries at a time: long rows, or few.
template <class R, std::size_t C, class T>
HWY_INLINE void reduce_single_rows(const mxv_cpu::ReduceArgs<T>& args, std::size_t s, std::uint64_t selected,
                                   Partials<T>& partials) {
  const hn::CappedTag<T, C> d;
  const hn::Rebind<std::uint32_t, decltype(d)> dcols;
  const EdgeOffset* ptr = args.a.ptr + s * strip_rows;
  for (; selected != 0; selected &= selected - 1) {
    const auto r = static_cast<std::size_t>(__builtin_ctzll(selected));
    auto sum = hn::Set(d, identity_of<R, T>());
    const NodeId* cols = args.a.col_ind + ptr[r];
    std::size_t n = ptr[r + 1] - ptr[r];
    for (; n >= C; n -= C, cols += C) sum = R::add(gather<C>(args.x, hn::LoadU(dcols, cols)), sum);
    if (masked_memory) {
      if (n != 0) {
        const auto values = gather<C>(args.x, hn::MaskedLoad(hn::FirstN(dcols, n), dcols, cols));
        sum = hn::IfThenElse(hn::FirstN(d, n), R::add(values, sum), sum);
      }
      hn::StoreU(sum, d, partials.values + r * C);
    } else {
      hn::StoreU(sum, d, partials.values + r * C);
      T& first = partials.values[r * C];
      for (; n != 0; --n, ++cols) first = R::Scalar::add(first, args.x[*cols]);
    }
  }
  partials.template fold<R, C>();
}

/// Entries of a strip whose values are brought together before rows are told apart.
inline constexpr std::size_t stream_capacity = cpu_mxv_tuning().strip_entries;

/// The entries of a strip as one stream: their values are gathered side by side with every lane busy, then each row
/// adds up its stretch, C values at a time.
template <class R, std::size_t C, class T>
HWY_INLINE void reduce_stream(const mxv_cpu::ReduceArgs<T>& args, std::size_t s, Partials<T>& partials) {
  constexpr std::size_t N = value_lanes<T>;
  HWY_ALIGN T values[stream_capacity + 2 * N];
  const EdgeOffset* ptr = args.a.ptr + s * strip_rows;
  const std::size_t rows = rows_of_strip(args.a, s);
  const NodeId* cols = args.a.col_ind + ptr[0];
  const std::size_t entries = ptr[rows] - ptr[0];
  const hn::CappedTag<T, N> wide;
  const hn::Rebind<std::uint32_t, decltype(wide)> dcols;
  std::size_t e = 0;
  for (; e + N <= entries; e += N) hn::Store(gather<N>(args.x, hn::LoadU(dcols, cols + e)), wide, values + e);
  for (; e < entries; ++e) values[e] = args.x[cols[e]];

  const hn::CappedTag<T, C> d;
  const auto identity = hn::Set(d, identity_of<R, T>());
  const T* from = values;
  for (std::size_t r = 0; r < rows; ++r) {
    std::size_t n = ptr[r + 1] - ptr[r];
    const T* end = from + n;
    auto sum = hn::IfThenElse(hn::FirstN(d, n), hn::LoadU(d, from), identity);
    while (HWY_UNLIKELY(n > C)) {
      n -= C;
      from += C;
      sum = R::add(hn::IfThenElse(hn::FirstN(d, n), hn::LoadU(d, from), identity), sum);
    }
    hn::StoreU(sum, d, partials.values + r * C);
    from = end;
  }
  partials.template fold<R, C>();
}

/// Gathers take indices with a sign; a graph of more columns than those reach is walked one by one.
template <class R, class T>
HWY_INLINE void reduce_wide_rows(const mxv_cpu::ReduceArgs<T>& args, std::size_t s, Partials<T>& partials) {
  const EdgeOffset* ptr = args.a.ptr + s * strip_rows;
  const std::size_t rows = rows_of_strip(args.a, s);
  for (std::size_t r = 0; r < rows; ++r) {
    T sum = identity_of<R, T>();
    for (EdgeOffset e = ptr[r]; e < ptr[r + 1]; ++e) sum = R::Scalar::add(sum, args.x[args.a.col_ind[e]]);
    partials.values[r] = sum;
  }
}

template <class R, class T>
HWY_INLINE void reduce_rows(const mxv_cpu::ReduceArgs<T>& args, std::size_t s, std::uint64_t selected,
                            Partials<T>& partials) {
  if (HWY_UNLIKELY(args.a.ncols > (NodeId{1} << 31))) return reduce_wide_rows<R>(args, s, partials);
  constexpr std::size_t widest = HWY_MIN(value_lanes<T>, std::size_t{16});
  constexpr std::size_t narrow = HWY_MIN(value_lanes<T>, std::size_t{8});
  const EdgeOffset* ptr = args.a.ptr + s * strip_rows;
  const std::size_t rows = rows_of_strip(args.a, s);
  const EdgeOffset entries = ptr[rows] - ptr[0];
  if (entries > stream_capacity || __builtin_popcountll(selected) < 16) {
    reduce_single_rows<R, widest>(args, s, selected, partials);
  } else if (entries > 7 * rows) {
    reduce_stream<R, widest>(args, s, partials);
  } else {
    reduce_stream<R, narrow>(args, s, partials);
  }
}

template <class R, int K, class T>
HWY_NOINLINE void reduce_of(const mxv_cpu::ReduceArgs<T>& args, StripRange strips) {
  Partials<T> partials;
  for (std::size_t s = strips.begin; s < strips.end; ++s) {
    const std::uint64_t selected = selected_rows(args.a, args.rule, s);
    if (selected != 0) {
      if constexpr (K == 0) {
        reduce_rows<R>(args, s, selected, partials);
      } else {
        reduce_tiles<R, T, K>(args, s, selected, partials);
      }
      if (args.step) {
        for (std::size_t r = 0; r < strip_rows; ++r) partials.values[r] = MinPlus::multiply(partials.values[r]);
      }
    } else if (!args.rule.replace) {
      continue;
    }
    store_strip<R>(args.out + s * strip_rows, args.rule, selected, rows_of_strip(args.a, s), partials.values);
  }
}

template <class T>
HWY_INLINE void reduce(const mxv_cpu::ReduceArgs<T>& args, StripRange strips) {
  with_side(args.a.tile_dim, [&](auto k) HWY_ATTR {
    switch (args.reduction) {
      case mxv_cpu::Reduction::sum: return reduce_of<SumOf, k()>(args, strips);
      case mxv_cpu::Reduction::min: return reduce_of<MinOf, k()>(args, strips);
      case mxv_cpu::Reduction::max: return reduce_of<MaxOf, k()>(args, strips);
    }
  });
}

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
