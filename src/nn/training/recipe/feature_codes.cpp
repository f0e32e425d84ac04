// SPDX-License-Identifier: Apache-2.0
#include "nn/training/recipe/feature_codes.hpp"

#include "nn/inference/input_features.hpp"
#include "nn/model/architectures.hpp"
#include "nn/training/recipe/facts.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace bitgraph::nn {

namespace {

// Chosen on tolokers (10 features) and on Cora ML with 8 to 64 numbers in place of its words: docs/notebook.
constexpr std::size_t few_features = 64;
constexpr std::size_t usual_thresholds = 15;
constexpr std::size_t signs_of_a_node = 256;

constexpr std::size_t rows_at_once = 4096;

DenseMatrix<float> features_as_stored(const Dataset& dataset, std::span<const NodeId> nodes) {
  return dense_features(dataset, {}, Device(), nodes);
}

bool has_many_values(const DenseMatrix<float>& rows, std::size_t column) {
  std::size_t different = 0;
  float other = 0;
  for (std::size_t i = 1; i < rows.nrows(); ++i) {
    const float value = rows(i, column);
    if (value == rows(0, column) || (different != 0 && value == other)) continue;
    if (++different == 2) return true;
    other = value;
  }
  return false;
}

/// The nodes whose features training sees; some of them where there are very many.
std::vector<NodeId> seen_nodes(const Dataset& dataset, const TrainOptions& options) {
  constexpr std::size_t most = 1 << 16;
  const bool samples = traits_of(options.architecture).sampled() && options.sample_from != SampleFrom::all;
  std::vector<NodeId> nodes;
  if (samples || dataset.num_graphs() != 0) {
    nodes = dataset.nodes_of(dataset.train);
  } else {
    nodes.resize(dataset.graph.nrows());
    std::iota(nodes.begin(), nodes.end(), NodeId{0});
  }
  const std::size_t step = std::max<std::size_t>(1, nodes.size() / most);
  std::size_t kept = 0;
  for (std::size_t n = 0; n < nodes.size(); n += step) nodes[kept++] = nodes[n];
  nodes.resize(kept);
  return nodes;
}

/// A number that parts sorted values at `place`, or as near above it as values differ.
float between(const std::vector<float>& sorted, std::size_t place) {
  const float value = sorted[place];
  const auto above = std::upper_bound(sorted.begin(), sorted.end(), value);
  const auto first = std::lower_bound(sorted.begin(), sorted.end(), value);
  const bool least = first == sorted.begin();
  const float low = least ? value : *std::prev(first);
  const float high = least && above != sorted.end() ? *above : value;
  const float middle = std::midpoint(low, high);
  return middle > low ? middle : high;  // of neighbouring floats
}

}  // namespace

std::size_t choose_thresholds(const Dataset& dataset, const TrainOptions& options) {
  if (!options.precision.multiplies_signs()) return 1;
  if (options.thresholds) return *options.thresholds;
  const std::size_t columns = dataset.num_features();
  if (columns > few_features || options.start != nullptr) return 1;
  const DenseMatrix<float> rows = features_as_stored(dataset, known_nodes(dataset));
  bool numbers = false;
  for (std::size_t j = 0; j < columns && !numbers; ++j) numbers = has_many_values(rows, j);
  return numbers ? std::min(usual_thresholds, signs_of_a_node / columns) : 1;
}

Buffer<float> feature_thresholds(const Dataset& dataset, const TrainOptions& options, std::size_t count) {
  const DenseMatrix<float> rows = features_as_stored(dataset, seen_nodes(dataset, options));
  Buffer<float> thresholds(rows.ncols() * count);
  std::vector<float> values(rows.nrows());
  for (std::size_t j = 0; j < rows.ncols(); ++j) {
    for (std::size_t i = 0; i < rows.nrows(); ++i) values[i] = rows(i, j);
    std::sort(values.begin(), values.end());
    for (std::size_t t = 0; t < count; ++t)
      thresholds[j * count + t] = between(values, (t + 1) * values.size() / (count + 1));
  }
  return thresholds;
}

Dataset with_codes(const Dataset& dataset, const Buffer<float>& thresholds) {
  const std::size_t n = dataset.graph.nrows(), count = thresholds.size() / dataset.num_features();
  Dataset coded{.name = dataset.name,
                .graph = dataset.graph.share(),
                .first_node = dataset.first_node,
                .labels = dataset.labels,
                .num_classes = dataset.num_classes,
                .train = dataset.train,
                .validation = dataset.validation,
                .test = dataset.test,
                .split = dataset.split};
  Buffer<EdgeOffset> row_ptr(n + 1, EdgeOffset{0});
  std::vector<NodeId> columns, nodes;
  for (std::size_t first = 0; first < n; first += rows_at_once) {
    nodes.resize(std::min(rows_at_once, n - first));
    std::iota(nodes.begin(), nodes.end(), static_cast<NodeId>(first));
    const DenseMatrix<float> rows = features_as_stored(dataset, nodes);
    for (std::size_t i = 0; i < rows.nrows(); ++i) {
      for (std::size_t j = 0; j < rows.ncols(); ++j) {
        for (std::size_t c = j * count; c < (j + 1) * count; ++c) {
          if (rows(i, j) - thresholds[c] >= 0) columns.push_back(static_cast<NodeId>(c));
        }
      }
      row_ptr[first + i + 1] = columns.size();
    }
  }
  Buffer<float> values(columns.size(), 1.0F);
  coded.features = {CsrPattern(static_cast<NodeId>(n), static_cast<NodeId>(thresholds.size()), std::move(row_ptr),
                               Buffer<NodeId>::copy_of(columns), trusted),
                    std::move(values)};
  return coded;
}

}  // namespace bitgraph::nn
