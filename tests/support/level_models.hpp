// SPDX-License-Identifier: Apache-2.0
// Models of levels, and data for them.
#pragma once

#include <bitgraph/core/random.hpp>
#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/nn/infer.hpp>
#include <bitgraph/nn/quantize.hpp>

#include "nn/model/architectures.hpp"
#include "nn/model/random_model.hpp"
#include "support/sanitized.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph::test {

/// Few bits and many, an odd number of each, products alone, sums alone.
inline constexpr std::array level_precisions{"w8a8",   "w4a4",   "w2a2",    "w1a1",    "w8a4m2",
                                             "w16a16", "w3a5m7", "w8a8m32", "w32a32m8"};

/// All that is multiplied or added up is whole numbers: no order of sums changes a bit.
inline bool is_of_whole_numbers(const nn::Precision& precision) {
  return precision.multiplies_levels() && precision.sums_levels();
}

struct LevelData {
  NodeId nodes = 40;
  NodeId features = 64;
  std::size_t edges = 80;  ///< between any two nodes but the last one, which has no neighbours
  double density = 0.05;   ///< of the features; 1: they are dense
  bool below_zero = true;  ///< some of them are negative
  std::uint64_t seed = 1;
};

/// Features are of any size, so that none lies halfway between two levels. Three classes, without labels.
inline Dataset level_data(const LevelData& o) {
  Dataset set;
  set.name = "levels";
  set.num_classes = 3;
  set.labels.assign(o.nodes, -1);
  std::vector<NodeId> from, to;
  for (std::size_t e = 0; e < o.edges; ++e) {
    from.push_back(static_cast<NodeId>(random_below({o.seed, 1, 0}, e, o.nodes - 1)));
    to.push_back(static_cast<NodeId>(random_below({o.seed, 2, 0}, e, o.nodes - 1)));
  }
  set.graph = csr_from_edges(o.nodes, o.nodes, from, to, {.symmetrize = true, .drop_loops = true});
  const float low = o.below_zero ? -0.6F : 0.1F;
  const auto drawn = [&](std::size_t n) { return low + (1.7F - low) * random_uniform({o.seed, 3, 0}, n); };
  if (o.density == 1) {
    set.dense_features = DenseMatrix<float>(o.nodes, o.features);
    for (std::size_t n = 0; n < set.dense_features.values().size(); ++n) set.dense_features.values()[n] = drawn(n);
    return set;
  }
  std::vector<NodeId> rows, cols;
  const auto entries = static_cast<std::size_t>(o.density * o.nodes * o.features);
  for (std::size_t e = 0; e < entries; ++e) {
    rows.push_back(static_cast<NodeId>(random_below({o.seed, 4, 0}, e, o.nodes - 2)));  // one has no features
    cols.push_back(static_cast<NodeId>(random_below({o.seed, 5, 0}, e, o.features)));
  }
  set.features.pattern = csr_from_edges(o.nodes, o.features, rows, cols);
  set.features.values = Buffer<float>(set.features.pattern.nvals());
  for (std::size_t e = 0; e < set.features.values.size(); ++e) set.features.values[e] = drawn(e);
  return set;
}

struct LevelModel {
  nn::Architecture architecture = nn::Architecture::gcn;
  std::size_t hidden = 12;
  std::size_t depth = 2;
  bool jumping_knowledge = false;
  bool normalize_rows = false;
  std::uint64_t seed = 7;

  [[nodiscard]] nn::Model in_floats(const Dataset& data) const {
    nn::Model model = nn::random_model(architecture, nn::Precision::real, data.num_features(), hidden, 3, depth, seed,
                                       jumping_knowledge);
    model.normalize_rows = normalize_rows;
    return model;
  }

  [[nodiscard]] nn::Model in_levels(const Dataset& data, const nn::Precision& precision) const {
    return nn::quantize(in_floats(data), data, {.precision = precision});
  }

  [[nodiscard]] std::string name() const {
    return std::string(to_string(architecture)) + (jumping_knowledge ? ", jumping" : "");
  }
};

/// fn(model, precision) for each architecture, with and without jumping knowledge, and each precision. Where a
/// sanitizer watches, a precision is with it or without.
template <class Fn>
void for_each_level_model(Fn&& fn) {
  for (const nn::Architecture architecture : nn::all_architectures()) {
    for (const bool jumping : {false, true}) {
      bool left_out = jumping;
      for (const char* const name : level_precisions) {
        left_out = !left_out;
        if (sanitized && left_out) continue;
        const LevelModel model{.architecture = architecture, .jumping_knowledge = jumping};
        SCOPED_TRACE(model.name() + " " + name);
        fn(model, nn::precision_from_string(name));
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

}  // namespace bitgraph::test
