// SPDX-License-Identifier: Apache-2.0
#include "nn/training/recipe/feature_maps.hpp"

#include "support/planted_data.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace bitgraph::nn {
namespace {

using test::FeatureKind;

TEST(FeatureMaps, SignsOfUnevenFeaturesAreOfPresenceButForThoseThatMostNodesHave) {
  Dataset dataset = test::planted_data({.features = 3, .kind = FeatureKind::counts_in_units});
  // Of ten nodes all have the first feature, five the second and two the third.
  const std::vector<NodeId> nodes{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 8, 9};
  const std::vector<NodeId> columns{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2};
  dataset.features.pattern = csr_from_edges(10, 3, nodes, columns);
  dataset.features.values = Buffer<float>(17, 1.0F);
  for (NodeId i = 0; i < 10; ++i)
    dataset.features.values[dataset.features.pattern.row_ptr()[i]] = 100 + static_cast<float>(i);
  const FeatureMap map = sign_map(dataset, {.standardize = true, .presence = true});
  EXPECT_EQ(map.shift[0], 104.5F);
  EXPECT_NEAR(map.scale[0], 1 / std::sqrt(8.25F), 1e-5F);
  EXPECT_EQ(map.shift[1], 0.5F);
  EXPECT_EQ(map.shift[2], 0.5F);
  EXPECT_EQ(sign_map(dataset, {.presence = true}).shift[0], 52.25F);
}

TEST(FeatureMaps, TypicalMapsOfFewRowsOrOfOneValueAreThoseOfMeansAndDeviations) {
  Dataset dataset = test::planted_data({.features = 3, .kind = FeatureKind::tails});
  DenseMatrix<float>& x = dataset.dense_features;
  for (std::size_t i = 0; i < x.nrows(); ++i) x(i, 0) = 7, x(i, 1) = i == 5 ? 1e30F : 0;
  const FeatureMap typical = typical_map(dataset), standard = standard_map(dataset);
  for (const std::size_t j : {0U, 1U}) {
    EXPECT_EQ(typical.shift[j], standard.shift[j]);
    EXPECT_EQ(typical.scale[j], standard.scale[j]);
  }
  EXPECT_LT(typical.shift[2], standard.shift[2]);
  EXPECT_GT(typical.scale[2], standard.scale[2]);
  const FeatureMap signs = sign_map(dataset, {.medians = true, .center = true});
  EXPECT_EQ(signs.shift[2], typical.shift[2]);
}

}  // namespace
}  // namespace bitgraph::nn
