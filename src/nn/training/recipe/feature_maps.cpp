// SPDX-License-Identifier: Apache-2.0
#include "nn/training/recipe/feature_maps.hpp"

#include <bitgraph/ops/batch_norm.hpp>

#include "nn/training/recipe/typical_columns.hpp"

#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace bitgraph::nn {

namespace {

/// Takes features to +1 where a node has them, as far as their values are one, and to -1 where it does not: then all
/// nodes' rows have one mean magnitude. Batch norm's rows do not. Its unset features lie near 0 and a rare one far off,
/// so that the magnitudes of the rows of blogcatalog differ by 70 %; the signs of thousands of unset features, by which
/// that is multiplied, then bury those of the few that are set.
FeatureMap presence_map(const SparseFeatures& features, std::size_t num_features) {
  std::vector<double> sums(num_features, 0), entries(num_features, 0);
  double sum = 0;
  for (std::size_t e = 0; e < features.values.size(); ++e) {
    const NodeId j = features.pattern.col_ind()[e];
    sums[j] += features.values[e];
    entries[j] += 1;
    sum += features.values[e];
  }
  const double usual = sum > 0 ? sum / static_cast<double>(features.values.size()) : 1.0;
  FeatureMap map{Buffer<float>(num_features), Buffer<float>(num_features)};
  for (std::size_t j = 0; j < num_features; ++j) {
    const double half = (sums[j] > 0 ? sums[j] / entries[j] : usual) / 2;
    map.shift[j] = static_cast<float>(half);
    map.scale[j] = static_cast<float>(1 / half);
  }
  return map;
}

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
