// SPDX-License-Identifier: Apache-2.0
#include "ops/concat/concat.hpp"

#include <bitgraph/formats/quantized_matrix.hpp>

#include "ops/operands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace bitgraph {

namespace {

template <class X>
std::string shapes(std::span<const X* const> parts) {
  std::string text;
  for (const X* part : parts) {
    text += fmt::format("{}{} x {}", text.empty() ? "" : ", ", part->nrows(), part->ncols());
  }
  return text;
}

template <class X>
void check(const X& out, std::span<const X* const> parts) {
  if (parts.empty() || parts.size() > most_concat_parts) {
    fail(ErrorCode::usage, fmt::format("concat: {} parts, expected 1 to {}", parts.size(), most_concat_parts));
  }
  std::size_t ncols = 0;
  bool same_rows = true;
  for (const X* part : parts) {
    require(part != &out, "concat: the output is one of the parts");
    ncols += part->ncols();
    same_rows = same_rows && part->nrows() == out.nrows();
    check_device("concat", out.device(), part->device(), "a part");
  }
  if (!same_rows || ncols != out.ncols()) {
    fail(ErrorCode::usage,
         fmt::format("concat: the parts are {}, the output is {} x {}", shapes(parts), out.nrows(), out.ncols()));
  }
}

}  // namespace

template <class X>
void concat_into(X& out, std::span<const X* const> parts) {
  check(out, parts);
  ConcatArgs<decltype(parts[0]->view()), decltype(out.view())> args{out.view(), parts.size(), {}, {}};
  for (std::size_t p = 0; p < parts.size(); ++p) {
    args.parts[p] = parts[p]->view();
    args.first_column[p + 1] = args.first_column[p] + parts[p]->ncols();
  }
  with_backend(out.device(), "concat", [&](const auto& backend) { concat(backend, args); });
}

using Bits = BitMatrix<PlusMinusOne>;
using Floats = DenseMatrix<float>;

namespace {

/// Levels as words, whatever they mean.
template <class Word, class Byte>
BitMatrixView<PlusMinusOne, Word> words_of(const QuantizedView<Byte>& levels) {
  const std::size_t words = levels.row_bytes / sizeof(std::uint64_t);
  return {levels.nrows, words * 64, words, reinterpret_cast<Word*>(levels.data)};
}

}  // namespace

template <>
void concat_into(QuantizedMatrix& out, std::span<const QuantizedMatrix* const> parts) {
  check(out, parts);
  ConcatBits args{words_of<std::uint64_t>(out.view()), parts.size(), {}, {}};
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const QuantizedMatrix& part = *parts[p];
    if (part.bits() != out.bits() || part.packing() != out.packing())
      fail(ErrorCode::usage, fmt::format("concat: part {} has levels of {} bits, the output of {}, or another packing",
                                         p, part.bits(), out.bits()));
    if (p + 1 != parts.size() && !levels_fill_words(part.ncols(), part.bits(), part.packing()))
      fail(ErrorCode::usage,
           fmt::format(
               "concat: the {} columns of levels of part {} end within a word of 64 bits, with others behind them",
               part.ncols(), p));
    args.parts[p] = words_of<const std::uint64_t>(part.view());
    args.first_column[p + 1] = args.first_column[p] + args.parts[p].ncols;
  }
  with_backend(out.device(), "concat", [&](const auto& backend) { concat(backend, args); });
}

template void concat_into(Bits&, std::span<const Bits* const>);
template void concat_into(Floats&, std::span<const Floats* const>);

}  // namespace bitgraph
