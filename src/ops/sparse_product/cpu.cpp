// SPDX-License-Identifier: Apache-2.0
// A row's sums stay in registers while the rows of W that its entries name stream past; of the transpose a row of G
// stays there.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/sparse_product/cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/cpu_partial-inl.hpp"
#include "ops/sparse_product/sparse_product.hpp"

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;
constexpr std::size_t lanes = HWY_LANES(float);
static_assert(lanes <= 16, "a vector is a cache line at most");

HWY_INLINE VF finish(const SparseProductArgs& args, std::size_t i, std::size_t f, std::size_t count, VF sum) {
  const DF d;
  if (args.col_offset != nullptr) sum = hn::Add(sum, load_first(d, args.col_offset + f, count));
  if (args.row_scale != nullptr) sum = hn::Mul(sum, hn::Set(d, args.row_scale[i]));
  if (args.bias != nullptr) sum = hn::Add(sum, load_first(d, args.bias + f, count));
  return sum;
}

/// M vectors of columns from `first` on; the last one has `tail` of them.
template <std::size_t M, bool kWhole>
HWY_INLINE void multiply_row(const SparseProductArgs& args, std::size_t i, std::size_t first, std::size_t tail) {
  const DF d;
  VF sums[M];
  for (auto& sum : sums) sum = hn::Zero(d);
  for (EdgeOffset e = args.x.row_ptr[i]; e < args.x.row_ptr[i + 1]; ++e) {
    const VF value = hn::Set(d, args.value(e));
    const float* const row = args.w.row(args.x.col_ind[e]) + first;
    for (std::size_t m = 0; m < M; ++m) {
      const float* const from = row + m * lanes;
      const VF w = kWhole || m + 1 < M ? load_all(d, from) : load_first(d, from, tail);
      sums[m] = hn::Add(sums[m], hn::Mul(value, w));
    }
  }
  for (std::size_t m = 0; m < M; ++m) {
    const std::size_t f = first + m * lanes;
    const std::size_t count = kWhole || m + 1 < M ? lanes : tail;
    store_first(d, finish(args, i, f, count, sums[m]), args.out.row(i) + f, count);
  }
}

void multiply_rows(const SparseProductArgs& args, std::size_t begin, std::size_t end) {
  const std::size_t ncols = args.w.ncols;
  for (std::size_t i = begin; i < end; ++i) {
    std::size_t first = 0;
    for (; first + 8 * lanes <= ncols; first += 8 * lanes) multiply_row<8, true>(args, i, first, lanes);
    for (; first + 4 * lanes <= ncols; first += 4 * lanes) multiply_row<4, true>(args, i, first, lanes);
    for (; first + lanes <= ncols; first += lanes) multiply_row<1, true>(args, i, first, lanes);
    if (first < ncols) multiply_row<1, false>(args, i, first, ncols - first);
  }
}

/// M vectors of columns from `first` on, whole ones or one with `tail` columns. Sums stand close together meanwhile:
/// two threads that write to neighbouring lines of one row slow each other down.
template <std::size_t M>
HWY_INLINE void scatter_rows(const SparseGradientArgs& args, std::size_t first, std::size_t tail,
                             float* HWY_RESTRICT sums) {
  const DF d;
  constexpr std::size_t width = M * lanes;
  for (std::size_t n = 0; n < args.out.nrows * width; n += lanes) hn::Store(hn::Zero(d), d, sums + n);
  for (std::size_t i = 0; i < args.g.nrows; ++i) {
    VF g[M];
    for (std::size_t m = 0; m < M; ++m) g[m] = load_first(d, args.g.row(i) + first + m * lanes, tail);
    for (EdgeOffset e = args.x.row_ptr[i]; e < args.x.row_ptr[i + 1]; ++e) {
      const VF value = hn::Set(d, args.values[e]);
      float* const to = sums + args.x.col_ind[e] * width;
      for (std::size_t m = 0; m < M; ++m)
        hn::Store(hn::Add(hn::Load(d, to + m * lanes), hn::Mul(value, g[m])), d, to + m * lanes);
    }
  }
  for (std::size_t j = 0; j < args.out.nrows; ++j) {
    for (std::size_t m = 0; m < M; ++m)
      store_first(d, hn::Load(d, sums + j * width + m * lanes), args.out.row(j) + first + m * lanes, tail);
  }
}

/// `sums` has room for 64 floats a row of the output.
void scatter_columns(const SparseGradientArgs& args, std::size_t begin, std::size_t end, float* sums) {
  std::size_t first = begin;
  for (; first + 4 * lanes <= end; first += 4 * lanes) scatter_rows<4>(args, first, lanes, sums);
  for (; first < end; first += lanes) scatter_rows<1>(args, first, HWY_MIN(lanes, end - first), sums);
}

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <bitgraph/core/buffer.hpp>

#include "core/threads/parallel.hpp"

#include <algorithm>

namespace bitgraph {

namespace {
HWY_EXPORT(multiply_rows);
HWY_EXPORT(scatter_columns);

/// Floats of a thread's own, kept for its next call.
float* floats_of_thread(std::size_t count) {
  thread_local Buffer<float> floats;
  if (floats.size() < count) floats = Buffer<float>(count);
  return floats.data();
}
}  // namespace

void sparse_product(const Cpu& backend, const SparseProductArgs& args) {
  parallel_chunks(backend.device, args.out.nrows, 64, [&](Range rows) {
    HWY_DYNAMIC_DISPATCH(multiply_rows)(args, rows.begin, rows.end);
  });
}

/// Each thread has columns of its own, in whole cache lines.
void sparse_gradient(const Cpu& backend, const SparseGradientArgs& args) {
  constexpr std::size_t line = 16;
  parallel_ranges(backend.device, (args.out.ncols + line - 1) / line, 1, [&](Range lines) {
    const std::size_t end = std::min(args.out.ncols, lines.end * line);
    float* const sums = floats_of_thread(args.out.nrows * 4 * line);
    HWY_DYNAMIC_DISPATCH(scatter_columns)(args, lines.begin * line, end, sums);
  });
}

}  // namespace bitgraph
#endif  // HWY_ONCE
