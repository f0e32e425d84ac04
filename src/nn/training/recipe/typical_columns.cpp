// SPDX-License-Identifier: Apache-2.0
#include "nn/training/recipe/typical_columns.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace bitgraph::nn {

namespace {

/// The value that such a part of all is below.
float quantile(std::span<float> values, double part) {
  const auto at = static_cast<std::ptrdiff_t>(part * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[at];
}

TypicalColumns::Column column_of(std::span<float> values) {
  // Of a normal distribution: which part of all lies nearer to the middle, and so many deviations off.
  constexpr std::array<std::pair<double, double>, 4> normal{
      {{0.5, 0.6745}, {0.75, 1.1503}, {0.9, 1.6449}, {0.99, 2.5758}}};
  double sum = 0, squares = 0;
  for (const float value : values) sum += value;
  const double mean = sum / static_cast<double>(values.size());
  for (const float value : values) squares += (value - mean) * (value - mean);
  TypicalColumns::Column column{.root_mean_square = std::sqrt(squares / static_cast<double>(values.size()))};
  column.median = quantile(values, 0.5);
  for (float& value : values) value = std::fabs(value - column.median);
  for (const auto& [part, deviations] : normal) {
    if (column.deviation == 0) column.deviation = static_cast<float>(quantile(values, part) / deviations);
  }
  if (!std::isnormal(column.deviation)) column.deviation = 0;  // what it divides would not be a number
  return column;
}

}  // namespace

TypicalColumns::TypicalColumns(const DenseMatrix<float>& x, std::span<const NodeId> nodes)
    : columns_(x.ncols()), rows_(std::min<std::size_t>(2048, nodes.size())) {
  constexpr std::size_t together = 16;  // columns whose values lie in one line of the cache
  if (rows_ == 0) return;
  std::vector<float> values(together * rows_);
  for (std::size_t first = 0; first < x.ncols(); first += together) {
    const std::size_t count = std::min(together, x.ncols() - first);
    for (std::size_t i = 0; i < rows_; ++i) {
      const std::span<const float> row = x.row(nodes[i * nodes.size() / rows_]);
      for (std::size_t j = 0; j < count; ++j) values[j * rows_ + i] = row[first + j];
    }
    for (std::size_t j = 0; j < count; ++j)
      columns_[first + j] = column_of(std::span<float>(values).subspan(j * rows_, rows_));
  }
}

bool TypicalColumns::have_long_tails() const {
  constexpr std::size_t fewest_rows = 20;
  constexpr double large = 3, very_large = 10;
  if (rows_ < fewest_rows) return false;
  std::size_t changing = 0, many = 0, some = 0;
  for (const Column& column : columns_) {
    if (column.deviation == 0) continue;
    ++changing;
    many += column.root_mean_square > large * column.deviation ? 1 : 0;
    some += column.root_mean_square > very_large * column.deviation ? 1 : 0;
  }
  return changing != 0 && (4 * many >= changing || 10 * some >= changing);
}

}  // namespace bitgraph::nn
