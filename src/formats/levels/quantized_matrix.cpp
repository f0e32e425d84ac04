// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/core/error.hpp>
#include <bitgraph/formats/quantized_matrix.hpp>

#include "core/preconditions.hpp"
#include "core/threads/parallel.hpp"
#include "formats/levels/level_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace bitgraph {

namespace {

constexpr std::size_t row_grain = 64;

/// Throws for bits that levels cannot have, and for rows whose bytes no number counts.
void require_rows(std::size_t ncols, int bits) {
  const int most = number_traits(NumberKind::levels).most_bits;
  if (bits < 1 || bits > most)
    fail(ErrorCode::usage, fmt::format("a quantized matrix of {} bits: expected 1 to {}", bits, most));
  static_cast<void>(checked_product(ncols, 8));
}

/// Throws bad_input naming the first level that is too large, or the first row with something behind its last level.
void check_levels(const QuantizedView<>& x) {
  const std::uint32_t most = (1U << x.bits) - 1;
  const auto places = static_cast<std::size_t>(8 / level_place_bits(x.bits));  // of a byte; 0 where one takes two
  const std::size_t whole = places == 0 ? x.row_bytes / 2 : x.row_bytes * places;
  for (std::size_t i = 0; i < x.nrows; ++i) {
    for (std::size_t j = 0; j < whole; ++j) {
      const std::uint32_t level = level_at(x.row(i), j, x.bits);
      if (j < x.ncols && level > most) {
        fail(ErrorCode::bad_input,
             fmt::format("quantized matrix: level {} in row {}, column {}: {} bits hold at most {}", level, i, j,
                         x.bits, most));
      }
      if (j >= x.ncols && level != 0)
        fail(ErrorCode::bad_input, fmt::format("quantized matrix: row {}: a level behind column {}", i, x.ncols));
    }
  }
}

}  // namespace

QuantizedMatrix::QuantizedMatrix(std::size_t nrows, std::size_t ncols, int bits, const Device& device,
                                 LevelPacking packing)
    : nrows_(nrows), ncols_(ncols), bits_(bits), packing_(packing) {
  require_rows(ncols, bits);
  if (in_planes() && bits != 2)
    fail(ErrorCode::usage, fmt::format("levels of {} bits in planes: expected 2 bits", bits));
  levels_ = Buffer<std::uint8_t>(checked_product(nrows, row_bytes()), std::uint8_t{0}, device);
}

QuantizedMatrix::QuantizedMatrix(std::size_t nrows, std::size_t ncols, int bits, Buffer<std::uint8_t> levels,
                                 LevelScale scale)
    : nrows_(nrows), ncols_(ncols), bits_(bits), levels_(std::move(levels)) {
  require_rows(ncols, bits);
  // Divided, not multiplied: the product of hostile sides may wrap around.
  const bool fits = nrows == 0 || row_bytes() == 0
                        ? levels_.empty()
                        : levels_.size() % nrows == 0 && levels_.size() / nrows == row_bytes();
  if (!fits) {
    fail(ErrorCode::usage, fmt::format("quantized matrix: {} bytes for {} x {} levels of {} bits, expected {} a row",
                                       levels_.size(), nrows, ncols, bits, row_bytes()));
  }
  if (device().is_host()) {
    check_levels(std::as_const(*this).view());
  } else {
    const Buffer<std::uint8_t> here = levels_.to(Device{});
    check_levels({nrows, ncols, row_bytes(), bits, here.data()});
  }
  set_scale(std::move(scale));
}

QuantizedMatrix::QuantizedMatrix(std::size_t nrows, std::size_t ncols, int bits, Buffer<std::uint8_t> levels,
                                 LevelScale scale, Trusted, LevelPacking packing) noexcept
    : nrows_(nrows),
      ncols_(ncols),
      bits_(bits),
      packing_(packing),
      levels_(std::move(levels)),
      scale_(std::move(scale)) {}

void QuantizedMatrix::set_scale(LevelScale scale) {
  if (scale.extent != ScaleExtent::none)
    require_same_place("a quantized matrix", "the levels", device(), "the scale", scale.steps.device());
  require_valid(scale, nrows_, ncols_);
  scale_ = std::move(scale);
}

std::uint32_t QuantizedMatrix::level(std::size_t i, std::size_t j) const {
  require_on_host("reading a level", device());
  return level_at(view(), i, j);
}

void QuantizedMatrix::set_level(std::size_t i, std::size_t j, std::uint32_t level) {
  require_on_host("setting a level", device());
  if (level >> bits_ != 0) fail(ErrorCode::usage, fmt::format("level {} does not fit {} bits", level, bits_));
  put_level(view(), i, j, level);
}

QuantizedMatrix QuantizedMatrix::with(Buffer<std::uint8_t> levels, LevelScale scale) const {
  QuantizedMatrix same;
  same.nrows_ = nrows_;
  same.ncols_ = ncols_;
  same.bits_ = bits_;
  same.packing_ = packing_;
  same.levels_ = std::move(levels);
  same.scale_ = std::move(scale);
  return same;
}

DenseMatrix<std::uint32_t> to_levels(const QuantizedMatrix& x) {
  require_host(x.device(), "to_levels");
  DenseMatrix<std::uint32_t> levels(x.nrows(), x.ncols(), x.device());
  parallel_for(x.device(), x.nrows(), row_grain, [&](std::size_t i) { unpack_levels(x.view(), i, levels.row(i)); });
  return levels;
}

QuantizedMatrix quantized_from_levels(const DenseMatrix<std::uint32_t>& levels, int bits) {
  require_host(levels.device(), "quantized_from_levels");
  QuantizedMatrix x(levels.nrows(), levels.ncols(), bits, levels.device());
  require_levels(levels, bits);
  parallel_for(levels.device(), levels.nrows(), row_grain, [&](std::size_t i) {
    pack_levels(levels.row(i), bits, {x.view().row(i), x.row_bytes()});
  });
  return x;
}

QuantizedMatrix to_packing(const QuantizedMatrix& x, LevelPacking packing) {
  require_host(x.device(), "to_packing");
  QuantizedMatrix made(x.nrows(), x.ncols(), x.bits(), x.device(), packing);
  const QuantizedView<> from = x.view();
  const QuantizedView<std::uint8_t> to = made.view();
  const bool becomes_planes = made.in_planes() && !x.in_planes();
  parallel_for(x.device(), x.nrows(), row_grain, [&](std::size_t i) {
    if (becomes_planes) return planes_of_nibbles({from.row(i), from.row_bytes}, {to.row(i), to.row_bytes});
    for (std::size_t j = 0; j < x.ncols(); ++j) put_level(to, i, j, level_at(from, i, j));
  });
  made.set_scale(x.scale().to(x.device()));
  return made;
}

DenseMatrix<float> to_dense(const QuantizedMatrix& x) {
  require_host(x.device(), "to_dense");
  DenseMatrix<float> values(x.nrows(), x.ncols(), x.device());
  parallel_for(x.device(), x.nrows(), row_grain, [&](std::size_t i) {
    for (std::size_t j = 0; j < x.ncols(); ++j) values(i, j) = x.value(i, j);
  });
  return values;
}

}  // namespace bitgraph
