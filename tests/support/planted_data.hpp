// SPDX-License-Identifier: Apache-2.0
// A small data set to train on, made in code: most edges lie within a class, and each class prefers some features.
#pragma once

#include <bitgraph/core/random.hpp>
#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/io/dataset.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace bitgraph::test {

enum class FeatureKind {
  counts,           ///< sparse, 1 to 3
  mixed,            ///< sparse, of both signs
  dense,            ///< the same, and a little of everything else
  units,            ///< the same, each feature by another number and from another zero
  counts_in_units,  ///< counts, each feature by another number
  tails             ///< e to the power of three times the dense ones
};

struct PlantedOptions {
  NodeId nodes = 72;
  NodeId features = 26;
  NodeId classes = 3;
  FeatureKind kind = FeatureKind::counts;
  std::size_t train = 30;
  std::size_t validation = 20;
  double mixing = 0.3;  ///< the share of edges and features that do not depend on the class
  std::uint64_t seed = 1;
};

class PlantedDraw : private PlantedOptions {
 public:
  explicit PlantedDraw(const PlantedOptions& options) : PlantedOptions(options) {}

  [[nodiscard]] Dataset make() {
    Dataset dataset;
    dataset.name = "planted";
    dataset.num_classes = static_cast<std::int32_t>(classes);
    for (NodeId i = 0; i < nodes; ++i) dataset.labels.push_back(static_cast<std::int32_t>(i % classes));
    draw_edges(dataset);
    draw_features(dataset);
    std::vector<NodeId> order(nodes);
    std::iota(order.begin(), order.end(), NodeId{0});
    for (NodeId i = nodes; i > 1; --i) std::swap(order[i - 1], order[below(i)]);
    const auto at = [&](std::size_t place) { return order.begin() + static_cast<std::ptrdiff_t>(place); };
    dataset.train.assign(order.begin(), at(train));
    dataset.validation.assign(at(train), at(std::min<std::size_t>(train + validation, nodes)));
    dataset.labels[dataset.train.front()] = -1;
    return dataset;
  }

 private:
  NodeId below(NodeId bound) { return static_cast<NodeId>(random_below({seed, 1, 0}, drawn_++, bound)); }
  float uniform() { return random_uniform({seed, 2, 0}, drawn_++); }

  /// A number below the bound, most often one that is of the class.
  NodeId drawn_for(NodeId of_class, NodeId bound) {
    const NodeId any = below(bound);
    const NodeId alike = any / classes * classes + of_class;
    return uniform() < mixing || alike >= bound ? any : alike;
  }

  void draw_edges(Dataset& dataset) {
    std::vector<NodeId> from, to;
    for (NodeId i = 0; i + 1 < nodes; ++i) {
      for (NodeId edge = 0; edge < 1 + i % 4; ++edge) {
        from.push_back(i);
        to.push_back(drawn_for(i % classes, nodes - 1));
      }
    }
    dataset.graph = csr_from_edges(nodes, nodes, from, to, {.symmetrize = true, .drop_loops = true});
  }

  void draw_features(Dataset& dataset) {
    std::vector<NodeId> owners, columns;
    for (NodeId i = 0; i < nodes; ++i) {
      for (NodeId feature = 0; feature < 3 + i % 5; ++feature) {
        owners.push_back(i);
        columns.push_back(drawn_for(i % classes, features));
      }
    }
    SparseFeatures& sparse = dataset.features;
    sparse.pattern = csr_from_edges(nodes, features, owners, columns);
    sparse.values = Buffer<float>(sparse.pattern.nvals());
    const bool counts = kind == FeatureKind::counts || kind == FeatureKind::counts_in_units;
    for (float& value : sparse.values) {
      value = static_cast<float>(1 + below(3));
      if (!counts && below(3) == 0) value *= -0.7F;
    }
    constexpr std::array<float, 5> units{1e-3F, 0.2F, 1, 30, 2000};
    if (kind == FeatureKind::counts_in_units) {
      for (std::size_t e = 0; e < sparse.values.size(); ++e)
        sparse.values[e] *= units[sparse.pattern.col_ind()[e] % units.size()];
    }
    if (kind != FeatureKind::dense && kind != FeatureKind::units && kind != FeatureKind::tails) return;
    dataset.dense_features = DenseMatrix<float>(nodes, features);
    for (float& value : dataset.dense_features.values()) value = uniform() - 0.5F;
    for (NodeId i = 0; i < nodes; ++i) {
      for (EdgeOffset e = sparse.pattern.row_ptr()[i]; e < sparse.pattern.row_ptr()[i + 1]; ++e)
        dataset.dense_features(i, sparse.pattern.col_ind()[e]) += sparse.values[e];
    }
    sparse = {};
    if (kind == FeatureKind::tails) {
      for (float& value : dataset.dense_features.values()) value = std::exp(3 * value);
    }
    if (kind != FeatureKind::units) return;
    for (std::size_t n = 0; n < dataset.dense_features.values().size(); ++n) {
      float& value = dataset.dense_features.values()[n];
      value = units[n % features % units.size()] * (value + static_cast<float>(n % features % 7));
    }
  }

  std::uint64_t drawn_ = 0;
};

/// Node i is of class i % classes. Training nodes are in any order, and the first of them has no label. The last node
/// has no neighbours.
inline Dataset planted_data(const PlantedOptions& options) { return PlantedDraw(options).make(); }

}  // namespace bitgraph::test
