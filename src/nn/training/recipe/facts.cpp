// SPDX-License-Identifier: Apache-2.0
#include "nn/training/recipe/facts.hpp"

#include "nn/training/recipe/typical_columns.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>
#include <vector>

namespace bitgraph::nn {

namespace {

/// fn(column, value) for all of a dense row, or the entries of a sparse one.
template <class Fn>
void for_each_value(const Dataset& dataset, NodeId node, Fn&& fn) {
  if (dataset.has_dense_features()) {
    const auto row = std::as_const(dataset.dense_features).row(node);
    for (std::size_t j = 0; j < row.size(); ++j) fn(j, row[j]);
    return;
  }
  const auto columns = dataset.features.pattern.row(node);
  const EdgeOffset first = dataset.features.pattern.row_ptr()[node];
  for (std::size_t e = 0; e < columns.size(); ++e) fn(columns[e], dataset.features.values[first + e]);
}

/// How large the columns of features are, and of dense ones, how far from 0 they lie.
class ColumnSizes {
 public:
  explicit ColumnSizes(std::size_t ncols) : columns_(ncols) {}

  void add_row() { ++rows_; }

  void add(std::size_t column, float value) {
    Column& c = columns_[column];
    c.sum += value;
    c.squares += static_cast<double>(value) * value;
    c.entries += value != 0 ? 1 : 0;
    c.least = std::min(c.least, value);
    c.greatest = std::max(c.greatest, value);
  }

  /// Whether some columns that a tenth of the rows have are so large that they drown the usual one, or a tenth of the
  /// columns so small that it drowns them. A size is the root mean square of what is not 0: of words that are there or
  /// not it is 1, however rare they are. Singular values of words differ by less.
  [[nodiscard]] bool differ() const {
    constexpr double much_larger = 100, much_smaller = 8;
    std::vector<double> sizes;
    double largest = 0;
    for (const Column& column : columns_) {
      if (column.entries == 0) continue;
      sizes.push_back(std::sqrt(column.squares / static_cast<double>(column.entries)));
      if (10 * column.entries >= rows_) largest = std::max(largest, sizes.back());
    }
    if (sizes.empty()) return false;
    std::sort(sizes.begin(), sizes.end());
    const double usual = sizes[sizes.size() / 2];
    return largest > much_larger * usual || sizes[sizes.size() / 10] * much_smaller < usual;
  }

  /// Whether rows are nearly alike: their mean is longer than three deviations from it.
  [[nodiscard]] bool lie_far_from_zero() const {
    constexpr double far = 3;
    double of_mean = 0, all = 0;
    for (const Column& column : columns_) {
      of_mean += column.sum * column.sum / static_cast<double>(rows_);
      all += column.squares;
    }
    return of_mean > far * far * (all - of_mean);
  }

  /// The root mean square length of rows where each column that does not hold one value has a deviation of 1,
  [[nodiscard]] double length_by_deviations() const {
    return std::sqrt(std::count_if(columns_.begin(), columns_.end(),
                                   [](const Column& column) { return column.least < column.greatest; }));
  }

  /// and where each has a size of 1.
  [[nodiscard]] double length_by_sizes() const {
    std::size_t entries = 0;
    for (const Column& column : columns_) entries += column.entries;
    return std::sqrt(static_cast<double>(entries) / static_cast<double>(rows_));
  }

 private:
  struct Column {
    double sum = 0, squares = 0;
    std::size_t entries = 0;
    float least = std::numeric_limits<float>::infinity(), greatest = -least;
  };
  std::vector<Column> columns_;
  std::size_t rows_ = 0;
};

}  // namespace

std::vector<NodeId> known_nodes(const Dataset& dataset) {
  std::vector<NodeId> nodes;
  for (const auto* samples : {&dataset.train, &dataset.validation}) {
    const auto some = dataset.nodes_of(*samples);
    nodes.insert(nodes.end(), some.begin(), some.end());
  }
  return nodes;
}

DataFacts measure_facts(const Dataset& dataset) {
  DataFacts facts{.dense = dataset.has_dense_features()};
  std::set<std::int32_t> classes;
  double squares = 0, squares_of_shares = 0;
  std::size_t rows_with_sums = 0;
  ColumnSizes sizes(dataset.num_features());
  for (const auto* samples : {&dataset.train, &dataset.validation}) {
    for (const NodeId sample : *samples) {
      if (dataset.labels[sample] >= 0) classes.insert(dataset.labels[sample]);
    }
  }
  const std::vector<NodeId> nodes = known_nodes(dataset);
  const std::size_t rows = nodes.size();
  for (const NodeId node : nodes) {
    double sum = 0, row_squares = 0;
    sizes.add_row();
    for_each_value(dataset, node, [&](std::size_t column, float value) {
      sum += value;
      row_squares += static_cast<double>(value) * value;
      facts.negative |= value < 0;
      sizes.add(column, value);
    });
    squares += row_squares;
    if (sum > 0) squares_of_shares += row_squares / (sum * sum), ++rows_with_sums;
  }
  facts.classes = classes.size();
  if (facts.dense) {
    const std::vector<NodeId> trained = dataset.nodes_of(dataset.train);
    facts.long_tails = TypicalColumns(dataset.dense_features, trained).have_long_tails();
  }
  facts.uneven = sizes.differ() || (facts.dense && sizes.lie_far_from_zero()) || facts.long_tails;
  if (dataset.num_graphs() != 0) facts.graphs = dataset.train.size();
  if (facts.uneven) {
    facts.row_length = facts.dense ? sizes.length_by_deviations() : sizes.length_by_sizes();
  } else if (facts.dense || facts.negative) {
    facts.row_length = rows == 0 ? 0 : std::sqrt(squares / static_cast<double>(rows));
  } else if (rows_with_sums != 0) {
    facts.row_length = std::sqrt(squares_of_shares / static_cast<double>(rows_with_sums));
  }
  return facts;
}

}  // namespace bitgraph::nn
