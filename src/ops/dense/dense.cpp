// SPDX-License-Identifier: Apache-2.0
#include "ops/dense/dense.hpp"

#include <bitgraph/ops/dense.hpp>

#include "core/threads/parallel.hpp"
#include "ops/operands.hpp"
#include "ops/row_sums.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace bitgraph {

namespace {

constexpr std::size_t row_grain = 64;

void require_shape(const char* op, std::size_t nrows, std::size_t ncols, std::size_t expected_rows,
                   std::size_t expected_cols) {
  if (nrows != expected_rows || ncols != expected_cols) {
    fail(ErrorCode::usage,
         fmt::format("{}: {} x {} and {} x {} differ", op, nrows, ncols, expected_rows, expected_cols));
  }
}

void require_rows(std::span<const NodeId> rows, std::size_t nrows) {
  for (const NodeId row : rows) {
    if (row >= nrows) fail(ErrorCode::usage, fmt::format("gather: row {} of a matrix of {} rows", row, nrows));
  }
}

/// `rows` lies on the host.
template <class Word>
void gather(DenseView<Word> out, DenseView<const Word> x, std::span<const NodeId> rows, const Device& device) {
  require_rows(rows, x.nrows);
  if (on_cuda("gather", device, [&](const auto& cuda) {
        auto* const there = static_cast<NodeId*>(device.workspace(rows.size_bytes()));
        Device::copy(there, device, rows.data(), Device{}, rows.size_bytes());
        gather_rows(cuda, out, x, there);
      })) {
    return;
  }
  if (x.ncols == 0) return;
  parallel_for(device, rows.size(), row_grain,
               [&](std::size_t n) { std::memcpy(out.row(n), x.row(rows[n]), x.ncols * sizeof(Word)); });
}

template <class Word>
void gather(DenseView<Word> out, DenseView<const Word> x, const Buffer<NodeId>& rows, const Device& device) {
  check_device("gather", device, rows.device(), "rows");
  if (device.is_host()) return gather(out, x, rows.span(), device);
  on_cuda("gather", device, [&](const auto& cuda) { gather_rows(cuda, out, x, rows.data()); });
}

/// Floats as words: they are moved, not computed with.
DenseView<const std::uint32_t> as_words(const DenseMatrix<float>& x) {
  return {x.nrows(), x.ncols(), x.ncols(), reinterpret_cast<const std::uint32_t*>(x.values().data())};
}
DenseView<std::uint32_t> as_words(DenseMatrix<float>& x) {
  return {x.nrows(), x.ncols(), x.ncols(), reinterpret_cast<std::uint32_t*>(x.values().data())};
}

/// Eight bits as eight floats.
std::array<std::array<float, 8>, 256> make_byte_table() {
  std::array<std::array<float, 8>, 256> table{};
  for (std::size_t byte = 0; byte < 256; ++byte) {
    for (std::size_t bit = 0; bit < 8; ++bit) table[byte][bit] = static_cast<float>((byte >> bit) & 1U);
  }
  return table;
}

/// One row of expand.
void expand_row(const ExpandArgs& args, std::size_t i) {
  static const auto table = make_byte_table();
  const float scale = args.row_scale == nullptr ? 1.0F : args.row_scale[i];
  float* const to = args.out.row(i);
  for (std::size_t j = 0; j < args.x.ncols; j += 8) {
    const std::size_t shift = j % 64;
    const std::uint64_t kept = args.keep.words == nullptr ? 0xFFU : args.keep.row(i)[j / 64] >> shift;
    const std::uint64_t ones = args.x.row(i)[j / 64] >> shift;
    const auto& plus = table[kept & ones & 0xFFU];
    const auto& minus = table[kept & ~ones & 0xFFU];
    const std::size_t count = std::min<std::size_t>(8, args.x.ncols - j);
    for (std::size_t n = 0; n < count; ++n) to[j + n] = scale * (plus[n] - minus[n]);
  }
}

}  // namespace

void accumulate(const DenseSlice<float>& out, const DenseSlice<const float>& x, float alpha, float beta) {
  const DenseView<float>& target = out.view;
  const DenseView<const float>& source = x.view;
  require_shape("accumulate", target.nrows, target.ncols, source.nrows, source.ncols);
  check_device("accumulate", out.device, x.device, "x");
  if (on_cuda("accumulate", out.device, [&](const auto& cuda) { accumulate(cuda, target, source, alpha, beta); }))
    return;
  parallel_for(out.device, source.nrows, row_grain, [&](std::size_t i) {
    float* const to = target.row(i);
    const float* const from = source.row(i);
    if (beta == 0) {
      for (std::size_t f = 0; f < source.ncols; ++f) to[f] = alpha * from[f];
    } else {
      for (std::size_t f = 0; f < source.ncols; ++f) to[f] = alpha * from[f] + beta * to[f];
    }
  });
}

void maximum_into(DenseMatrix<float>& y, const DenseMatrix<float>& x) {
  const Device& device = y.device();
  require_shape("maximum", y.nrows(), y.ncols(), x.nrows(), x.ncols());
  check_device("maximum", device, x.device(), "x");
  if (on_cuda("maximum", device, [&](const auto& cuda) { maximum(cuda, y.view(), x.view()); })) return;
  parallel_for(device, x.values().size(), 1 << 14, [&](std::size_t n) {
    if (x.values()[n] > y.values()[n]) y.values()[n] = x.values()[n];
  });
}

void scale_rows(DenseMatrix<float>& x, std::span<const float> scale) {
  const Device& device = x.device();
  if (scale.size() != x.nrows())
    fail(ErrorCode::usage, fmt::format("scale rows: {} scales for {} rows", scale.size(), x.nrows()));
  if (on_cuda("scale rows", device, [&](const auto& cuda) { scale_rows(cuda, x.view(), scale.data()); })) return;
  parallel_for(device, x.nrows(), row_grain, [&](std::size_t i) {
    for (float& value : x.row(i)) value *= scale[i];
  });
}

namespace {

template <class Rows>
void gather_rows(DenseMatrix<float>& out, const DenseMatrix<float>& x, const Rows& rows) {
  const Device& device = out.device();
  require_shape("gather", out.nrows(), out.ncols(), rows.size(), x.ncols());
  check_device("gather", device, x.device(), "x");
  gather(as_words(out), as_words(x), rows, device);
}

template <class Rows>
void gather_rows(BitMatrix<PlusMinusOne>& out, const BitMatrix<PlusMinusOne>& x, const Rows& rows) {
  const Device& device = out.device();
  require_shape("gather", out.nrows(), out.ncols(), rows.size(), x.ncols());
  check_device("gather", device, x.device(), "x");
  const std::size_t words = x.words_per_row();
  gather(DenseView<std::uint64_t>{out.nrows(), words, words, out.words().data()},
         DenseView<const std::uint64_t>{x.nrows(), words, words, x.words().data()}, rows, device);
}

}  // namespace

void gather_rows_into(DenseMatrix<float>& out, const DenseMatrix<float>& x, std::span<const NodeId> rows) {
  gather_rows(out, x, rows);
}
void gather_rows_into(BitMatrix<PlusMinusOne>& out, const BitMatrix<PlusMinusOne>& x, std::span<const NodeId> rows) {
  gather_rows(out, x, rows);
}
void gather_rows_into(DenseMatrix<float>& out, const DenseMatrix<float>& x, const Buffer<NodeId>& rows) {
  gather_rows(out, x, rows);
}
void gather_rows_into(BitMatrix<PlusMinusOne>& out, const BitMatrix<PlusMinusOne>& x, const Buffer<NodeId>& rows) {
  gather_rows(out, x, rows);
}

void column_sums_into(std::span<float> out, const DenseMatrix<float>& x) {
  const Device& device = x.device();
  if (out.size() != x.ncols())
    fail(ErrorCode::usage, fmt::format("column sums: {} places for {} columns", out.size(), x.ncols()));
  if (on_cuda("column sums", device, [&](const auto& cuda) { column_sums(cuda, out.data(), x.view()); })) return;
  with_host_backend(device, "column sums", [&](const auto& backend) {
    const std::vector<double> sums = sum_over_rows(
        device, x.nrows(), x.ncols(),
        [&](double* part, std::size_t first, std::size_t end) { add_rows(backend, part, x.view(), first, end); });
    std::transform(sums.begin(), sums.end(), out.begin(), [](double sum) { return static_cast<float>(sum); });
  });
}

void expand_into(DenseMatrix<float>& out, const BitMatrix<PlusMinusOne>& x, std::span<const float> row_scale,
                 const BitMatrix<ZeroOne>* keep) {
  const Device& device = out.device();
  require_shape("expand", out.nrows(), out.ncols(), x.nrows(), x.ncols());
  check_device("expand", device, x.device(), "x");
  if (!row_scale.empty() && row_scale.size() != x.nrows())
    fail(ErrorCode::usage, fmt::format("expand: {} scales for {} rows", row_scale.size(), x.nrows()));
  ExpandArgs args{out.view(), x.view(), row_scale.empty() ? nullptr : row_scale.data(), {}};
  if (keep != nullptr) {
    require_shape("expand", keep->nrows(), keep->ncols(), x.nrows(), x.ncols());
    check_device("expand", device, keep->device(), "keep");
    args.keep = keep->view();
  }
  if (on_cuda("expand", device, [&](const auto& cuda) { expand(cuda, args); })) return;
  parallel_for(device, x.nrows(), row_grain, [&](std::size_t i) { expand_row(args, i); });
}

void transpose_into(DenseMatrix<float>& out, const DenseMatrix<float>& x) {
  require_shape("transpose", out.nrows(), out.ncols(), x.ncols(), x.nrows());
  check_device("transpose", out.device(), x.device(), "x");
  const TransposeArgs args{out.view(), x.view()};
  with_backend(out.device(), "transpose", [&](const auto& backend) { transpose(backend, args); });
}

void expand_transposed_into(DenseMatrix<float>& out, const BitMatrix<PlusMinusOne>& x, std::span<const float> scale) {
  require_shape("expand", out.nrows(), out.ncols(), x.ncols(), x.nrows());
  check_device("expand", out.device(), x.device(), "x");
  if (scale.size() != x.nrows())
    fail(ErrorCode::usage, fmt::format("expand: {} scales for {} rows", scale.size(), x.nrows()));
  const ExpandTransposedArgs args{out.view(), x.view(), scale.data()};
  with_host_backend(out.device(), "expand", [&](const auto& backend) { expand_transposed(backend, args); });
}

void signed_sums_into(std::span<double> out, const BitMatrix<PlusMinusOne>& x, std::span<const float> values) {
  if (out.size() != x.nrows() || values.size() != x.ncols()) {
    fail(ErrorCode::usage, fmt::format("signed sums: {} places and {} values for {} x {} signs", out.size(),
                                       values.size(), x.nrows(), x.ncols()));
  }
  const SignedSumsArgs args{out.data(), x.view(), values.data()};
  with_host_backend(x.device(), "signed sums", [&](const auto& backend) { signed_sums(backend, args); });
}

}  // namespace bitgraph
