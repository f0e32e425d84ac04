// SPDX-License-Identifier: Apache-2.0
#include "nn/training/recipe.hpp"

#include <bitgraph/ops/batch_norm.hpp>

#include "nn/model/architectures.hpp"
#include "nn/training/sample_from.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <span>
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

/// Columns of dense features by some of the rows, evenly chosen: what is typical, whatever a few large values are.
class TypicalColumns {
 public:
  TypicalColumns(const DenseMatrix<float>& x, std::span<const NodeId> nodes) {
    constexpr std::size_t most_rows = 2048, together = 16;  // columns whose values lie in one line of the cache
    const std::size_t rows = rows_ = std::min(most_rows, nodes.size());
    columns_.resize(x.ncols());
    if (rows == 0) return;
    std::vector<float> values(together * rows);
    for (std::size_t first = 0; first < x.ncols(); first += together) {
      const std::size_t count = std::min(together, x.ncols() - first);
      for (std::size_t i = 0; i < rows; ++i) {
        const std::span<const float> row = x.row(nodes[i * nodes.size() / rows]);
        for (std::size_t j = 0; j < count; ++j) values[j * rows + i] = row[first + j];
      }
      for (std::size_t j = 0; j < count; ++j)
        columns_[first + j] = column_of(std::span<float>(values).subspan(j * rows, rows));
    }
  }

  struct Column {
    float median = 0, deviation = 0;  ///< 0: nearly all values are one
    double root_mean_square = 0;      ///< from the mean: what large values make of the deviation
  };
  [[nodiscard]] const Column& operator[](std::size_t column) const { return columns_[column]; }

  /// Whether large values make the deviations of a quarter of the columns three times as large, or those of a tenth
  /// ten times. Of normal values it is once, of a singular vector of words twice, seldom three times. Few rows do not
  /// tell.
  [[nodiscard]] bool have_long_tails() const {
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

 private:
  /// The value that such a part of all is below.
  static float quantile(std::span<float> values, double part) {
    const auto at = static_cast<std::ptrdiff_t>(part * static_cast<double>(values.size() - 1));
    std::nth_element(values.begin(), values.begin() + at, values.end());
    return values[at];
  }

  static Column column_of(std::span<float> values) {
    // Of a normal distribution: which part of all lies nearer to the middle, and so many deviations off.
    constexpr std::array<std::pair<double, double>, 4> normal{
        {{0.5, 0.6745}, {0.75, 1.1503}, {0.9, 1.6449}, {0.99, 2.5758}}};
    double sum = 0, squares = 0;
    for (const float value : values) sum += value;
    const double mean = sum / static_cast<double>(values.size());
    for (const float value : values) squares += (value - mean) * (value - mean);
    Column column{.root_mean_square = std::sqrt(squares / static_cast<double>(values.size()))};
    column.median = quantile(values, 0.5);
    for (float& value : values) value = std::fabs(value - column.median);
    for (const auto& [part, deviations] : normal) {
      if (column.deviation == 0) column.deviation = static_cast<float>(quantile(values, part) / deviations);
    }
    if (!std::isnormal(column.deviation)) column.deviation = 0;  // what it divides would not be a number
    return column;
  }

  std::vector<Column> columns_;
  std::size_t rows_ = 0;  ///< that were looked at
};

/// The nodes of the samples for training and validation.
std::vector<NodeId> known_nodes(const Dataset& dataset) {
  std::vector<NodeId> nodes;
  for (const auto* samples : {&dataset.train, &dataset.validation}) {
    const auto some = dataset.nodes_of(*samples);
    nodes.insert(nodes.end(), some.begin(), some.end());
  }
  return nodes;
}

}  // namespace

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

namespace {

/// Whether a row's sum means something: words of a node, and how often, in one unit.
bool are_counts(const DataFacts& facts) { return !facts.dense && !facts.negative && !facts.uneven; }

/// Rows of sum 1 are the shorter the more features a node has. Of one length, they need the same number of epochs and
/// the same decay for all data. Other rows have a length that serves, or they get one.
float scale_of_rows(const DataFacts& facts, bool sampled) {
  constexpr double shortest = 1, longest = 25, usual = 4;
  const bool counts = are_counts(facts);
  if (facts.row_length == 0 || (counts && sampled)) return 1;
  if (counts) return static_cast<float>(1 / facts.row_length);
  const bool serves = facts.row_length >= shortest && facts.row_length <= longest;
  return serves ? 1 : static_cast<float>(usual / facts.row_length);
}

}  // namespace

Recipe choose_recipe(const TrainOptions& options, const DataFacts& facts) {
  const ArchitectureTraits& traits = traits_of(options.architecture);
  const bool sampled = traits.sampled();
  const bool few_labels = !sampled && facts.graphs == 0;  // over one whole graph: the teacher has a word on all nodes
  Recipe recipe;
  recipe.standardize = facts.uneven && (!options.precision.multiplies_signs() || !facts.dense);
  recipe.medians = options.start == nullptr ? facts.long_tails : options.start->input_limit != 0;
  if (!options.precision.multiplies_signs()) {
    recipe.normalize_rows = are_counts(facts);
    if (options.start != nullptr) recipe.standardize = !options.start->input_mean.empty();
    // A model to start from may take features otherwise: then they have not the length that was measured.
    if (recipe.standardize == facts.uneven) recipe.feature_scale = scale_of_rows(facts, sampled);
    // Batch norms make accuracy swing from step to step. A model that training starts from has them in its weights.
    recipe.average = is_normalized(traits) && options.start == nullptr;
    if (options.precision.has_levels() && few_labels) recipe.divergence_weight = 4;
    return recipe;
  }
  recipe.presence = !facts.dense && !facts.negative;
  recipe.center = true;
  // Votes over dense features are learned better without the two.
  const bool fits = options.precision == Precision::full || !facts.dense;
  recipe.even_scales = fits;
  recipe.teacher_weights = fits;
  if (few_labels) recipe.divergence_weight = 4;
  // Not of votes: signs of an average vote otherwise than the weights that were trained.
  recipe.average = options.precision == Precision::full;
  return recipe;
}

bool judged_by_accuracy(const TrainOptions& options) {
  if (options.precision.has_levels()) return true;
  if (!options.precision.multiplies_signs()) return options.partition != nullptr;
  return traits_of(options.architecture).sampled() || !options.precision.votes();
}

std::string describe(const Recipe& recipe, const TrainOptions& options, const DataFacts& facts, const DataSize& size) {
  const char* kind = facts.dense ? "dense" : facts.negative ? "of both signs" : "sparse and not negative";
  std::string text;
  if (!options.precision.multiplies_signs()) {
    const char* taken =
        recipe.normalize_rows ? ": rows divided by their sums"
        : !recipe.standardize ? ": as they are"
        : recipe.medians      ? ", with long tails: each less its median, in deviations of most values, 3 at most"
        : facts.dense         ? ", in units of their own or far from 0: each less its mean and divided by its deviation"
                              : ", in units of their own: each divided by its size";
    text = fmt::format("features are {}{}", kind, taken);
    if (recipe.feature_scale != 1)
      text += fmt::format(", times {:.3g} for a mean length of {:.3g}", recipe.feature_scale,
                          recipe.feature_scale * facts.row_length);
    if (options.precision.has_levels())
      text += options.teacher != nullptr ? "; levels, from the given teacher's weights"
                                         : "; levels, from the weights of a float teacher that is trained first";
    else if (options.teacher != nullptr)
      text += "; the given teacher";
    else if (options.self_distillation)
      text += "; trained twice, the second time with the first as its teacher";
  } else {
    const char* signs = recipe.medians       ? "medians, since they have long tails"
                        : !recipe.presence   ? "batch norm"
                        : recipe.standardize ? "presence, and batch norm where most nodes have the feature"
                                             : "presence";
    text = fmt::format("features are {}: signs of {}{}", kind, signs, recipe.center ? ", less their mean" : "");
    if (recipe.even_scales) text += "; a constant unit";
    text += options.teacher != nullptr ? "; the given teacher" : "; a float teacher, trained first";
    if (options.teacher == nullptr && !traits_of(options.architecture).sampled() && facts.graphs == 0)
      text += " (twice, as by --self-distillation)";
    if (recipe.teacher_weights) text += ", and its weights";
  }
  if (recipe.average) text += "; averaged weights";
  if (options.partition != nullptr)
    text += fmt::format("; {} of {} parts a step", *options.batch_parts, options.partition->num_parts());
  if (facts.graphs != 0) text += fmt::format("; {} graphs, {} a step", facts.graphs, *options.batch_size);
  text += fmt::format("; {} epochs", *options.epochs);
  if (*options.patience != 0) text += fmt::format(" at most, patience {}", *options.patience);
  text += fmt::format(", rate {:g}, decay {:g}, dropout {:g}", *options.learning_rate, *options.weight_decay,
                      *options.dropout);
  const double weights = weights_of_label(options, size);
  if (weights < enough_weights_of_label) text += fmt::format(" ({:.2g} weights a label)", weights);
  const std::string samples = describe_samples(options, size);
  return samples.empty() ? text : text + "; " + samples;
}

namespace {

ColumnStatistics statistics_of(const Dataset& dataset) {
  return dataset.has_dense_features() ? column_statistics(dataset.dense_features)
                                      : column_statistics(dataset.features.pattern, dataset.features.values.span());
}

/// Of a number that nearly all nodes have it says nothing that they do: columns that most rows have an entry in become
/// those of the other map.
void take_common_columns(FeatureMap& map, const FeatureMap& from, const CsrPattern& pattern) {
  std::vector<std::size_t> entries(pattern.ncols(), 0);
  for (const NodeId j : pattern.col_ind()) ++entries[j];
  for (std::size_t j = 0; j < entries.size(); ++j) {
    if (2 * entries[j] <= pattern.nrows()) continue;
    map.shift[j] = from.shift[j];
    map.scale[j] = from.scale[j];
  }
}

}  // namespace

FeatureMap sign_map(const Dataset& dataset, const Recipe& recipe) {
  const auto of_batch_norm = [&]() -> FeatureMap {
    ColumnStatistics statistics = statistics_of(dataset);
    Buffer<float> scale = inverse_deviation(statistics.variance.span());
    return {std::move(statistics.mean), std::move(scale)};
  };
  if (recipe.medians) return typical_map(dataset);
  if (!recipe.presence) return of_batch_norm();
  FeatureMap map = presence_map(dataset.features, dataset.num_features());
  if (recipe.standardize) take_common_columns(map, of_batch_norm(), dataset.features.pattern);
  return map;
}

FeatureMap standard_map(const Dataset& dataset) {
  FeatureMap map;
  if (dataset.has_dense_features()) {
    ColumnStatistics statistics = statistics_of(dataset);
    map = {std::move(statistics.mean), std::move(statistics.variance)};
    for (float& scale : map.scale) scale = scale > 0 ? 1 / std::sqrt(scale) : 0;
    return map;
  }
  const SparseFeatures& features = dataset.features;
  std::vector<double> squares(dataset.num_features(), 0), entries(dataset.num_features(), 0);
  for (std::size_t e = 0; e < features.values.size(); ++e) {
    const NodeId j = features.pattern.col_ind()[e];
    squares[j] += static_cast<double>(features.values[e]) * features.values[e];
    entries[j] += 1;
  }
  map = {Buffer<float>(dataset.num_features(), 0.0F), Buffer<float>(dataset.num_features(), 0.0F)};
  for (std::size_t j = 0; j < squares.size(); ++j)
    map.scale[j] = squares[j] > 0 ? static_cast<float>(std::sqrt(entries[j] / squares[j])) : 0;
  return map;
}

FeatureMap typical_map(const Dataset& dataset) {
  FeatureMap map = standard_map(dataset);
  std::vector<NodeId> nodes(dataset.dense_features.nrows());
  std::iota(nodes.begin(), nodes.end(), NodeId{0});
  const TypicalColumns columns(dataset.dense_features, nodes);
  for (std::size_t j = 0; j < map.shift.size(); ++j) {
    if (columns[j].deviation == 0) continue;
    map.shift[j] = columns[j].median;
    map.scale[j] = 1 / columns[j].deviation;
  }
  return map;
}

}  // namespace bitgraph::nn
