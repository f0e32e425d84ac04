// SPDX-License-Identifier: Apache-2.0
// Sums of dense rows: a row's sums stay in registers as float32 while its neighbours' rows stream past. Products and
// sums are rounded one by one, in the order of the columns: the same result everywhere. T and Y are the element types
// of X and of the output; load_all, load_first and store_first of an element type other than float stand ahead of this
// header. Included once for each instruction set (Highway's convention: the guard toggles).
#if defined(BITGRAPH_OPS_SPMM_CPU_SUM_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef BITGRAPH_OPS_SPMM_CPU_SUM_INL_HPP
#undef BITGRAPH_OPS_SPMM_CPU_SUM_INL_HPP
#else
#define BITGRAPH_OPS_SPMM_CPU_SUM_INL_HPP
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "ops/spmm/cpu/bit_slices-inl.hpp"
#include "ops/spmm/cpu/kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using spmm_cpu::RowBlock;

using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;
inline constexpr std::size_t lanes = HWY_LANES(float);

/// How many entries ahead the rows of X are fetched, beyond the end of a row too: most rows are shorter.
inline constexpr std::size_t prefetch_distance = cpu_spmm_tuning().prefetched_entries;

/// Sums of M vectors of features from `first` on; the last vector holds `tail` features. `ahead` entries can be read.
template <class D, std::size_t M, bool kScaled, bool kWhole, class T>
HWY_INLINE void sum_features(const NodeId* HWY_RESTRICT cols, std::size_t n, std::size_t ahead,
                             const DenseView<const T>& x, const float* col_scale, std::size_t first, std::size_t tail,
                             hn::Vec<D> (&sums)[M]) {
  const D d;
  for (auto& sum : sums) sum = hn::Zero(d);
  if (n == 0) return;  // X may have no rows then
  const T* const data = x.data + first;
  for (std::size_t e = 0; e < n; ++e) {
    const T* row = data + std::size_t{cols[e]} * x.stride;
    if (e + prefetch_distance < ahead) hwy::Prefetch(data + std::size_t{cols[e + prefetch_distance]} * x.stride);
    for (std::size_t m = 0; m < M; ++m) {
      const T* from = row + m * hn::Lanes(d);
      auto value = kWhole || m + 1 < M ? load_all(d, from) : load_first(d, from, tail);
      if constexpr (kScaled) value = hn::Mul(hn::Set(d, col_scale[cols[e]]), value);
      sums[m] = hn::Add(sums[m], value);
    }
  }
}

template <class D, std::size_t M, bool kWhole, class T>
HWY_INLINE void sum_row(const RowBlock& rows, std::size_t r, const DenseView<const T>& x, const float* col_scale,
                        std::size_t first, std::size_t tail, hn::Vec<D> (&sums)[M]) {
  const NodeId* cols = rows.cols + rows.row_ptr[r];
  const auto n = static_cast<std::size_t>(rows.row_ptr[r + 1] - rows.row_ptr[r]);
  const auto ahead = static_cast<std::size_t>(rows.row_ptr[rows.count] - rows.row_ptr[r]);
  if (col_scale == nullptr) {
    sum_features<D, M, false, kWhole>(cols, n, ahead, x, col_scale, first, tail, sums);
  } else {
    sum_features<D, M, true, kWhole>(cols, n, ahead, x, col_scale, first, tail, sums);
  }
}

template <class D, std::size_t M, bool kWhole, class T, class Y>
HWY_NOINLINE void sum_block(const RowBlock& rows, const DenseView<const T>& x, const float* col_scale,
                            const DenseView<Y>& out, const SpmmEpilogue& epilogue, std::size_t first) {
  const D d;
  const std::size_t tail = kWhole ? hn::Lanes(d) : x.ncols - first - (M - 1) * hn::Lanes(d);
  for (std::size_t r = 0; r < rows.count; ++r) {
    hn::Vec<D> sums[M];
    sum_row<D, M, kWhole>(rows, r, x, col_scale, first, tail, sums);
    for (std::size_t m = 0; m < M; ++m) {
      const std::size_t f = first + m * hn::Lanes(d);
      const std::size_t count = kWhole || m + 1 < M ? hn::Lanes(d) : tail;
      store_first(d, epilogue_of(d, epilogue, rows.first_row + r, f, count, sums[m]), out.row(rows.first_row + r) + f,
                  count);
    }
  }
}

template <class T, class Y>
HWY_INLINE void sum(const RowBlock& rows, const DenseView<const T>& x, const float* col_scale, const DenseView<Y>& out,
                    const SpmmEpilogue& epilogue) {
  std::size_t first = 0;
  for (; first + 8 * lanes <= x.ncols; first += 8 * lanes) {
    sum_block<DF, 8, true>(rows, x, col_scale, out, epilogue, first);
  }
  for (; first + 4 * lanes <= x.ncols; first += 4 * lanes) {
    sum_block<DF, 4, true>(rows, x, col_scale, out, epilogue, first);
  }
  for (; first + lanes <= x.ncols; first += lanes) {
    sum_block<DF, 1, true>(rows, x, col_scale, out, epilogue, first);
  }
  // A vector no wider than what is left: wider ones lie across two cache lines more often.
  if (first + 8 < x.ncols) return sum_block<DF, 1, false>(rows, x, col_scale, out, epilogue, first);
  if (first < x.ncols) sum_block<hn::CappedTag<float, 8>, 1, false>(rows, x, col_scale, out, epilogue, first);
}

/// One word of signs at a time: 64 features in registers.
template <class T>
HWY_INLINE void sum(const RowBlock& rows, const DenseView<const T>& x, const float* col_scale, const BitsOut& out,
                    const SpmmEpilogue& epilogue) {
  constexpr std::size_t M = 64 / lanes;
  HWY_ALIGN float sums_of_word[64];
  for (std::size_t first = 0; first < x.ncols; first += 64) {
    const bool whole = first + 64 <= x.ncols;
    for (std::size_t r = 0; r < rows.count; ++r) {
      if (whole) {
        VF sums[M];
        sum_row<DF, M, true>(rows, r, x, col_scale, first, lanes, sums);
        for (std::size_t m = 0; m < M; ++m) hn::Store(sums[m], DF(), sums_of_word + m * lanes);
      } else {
        for (std::size_t f = first; f < x.ncols; f += lanes) {
          VF sum[1];
          sum_row<DF, 1, false>(rows, r, x, col_scale, f, HWY_MIN(lanes, x.ncols - f), sum);
          hn::Store(sum[0], DF(), sums_of_word + (f - first));
        }
      }
      expand_word(out, epilogue, rows.first_row + r, first, x.ncols,
                  [&](auto df, std::size_t bit) HWY_ATTR { return hn::Load(df, sums_of_word + bit); });
    }
  }
}

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
