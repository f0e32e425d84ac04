// SPDX-License-Identifier: Apache-2.0
// Data sets and models whose fields disagree at random, given to plans, splits, files and training: they throw an
// Error, or give the right results. BITGRAPH_CASES sets the number of cases; hostile_test.cpp has those of the formats.
#include <bitgraph/bitgraph.hpp>

#include "nn/model/architectures.hpp"
#include "nn/model/random_model.hpp"
#include "support/hostile.hpp"
#include "support/near_logits.hpp"
#include "support/random_matrices.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace bitgraph {
namespace {

using test::Draw;

/// A data set that is right but for what `d` spoils.
Dataset perhaps_wrong_dataset(Draw& d, std::uint64_t seed) {
  constexpr std::uint64_t features = 6;
  constexpr std::int32_t classes = 3;
  Dataset set;
  set.name = "hostile";
  const auto n = static_cast<NodeId>(1 + d.below(12));
  const CsrPattern a = symmetrized(test::random_pattern(n, n, 0.2, seed));
  set.graph = d.once_in(12) ? a.clone() : without_self_loops(a);
  if (d.once_in(12)) set.graph = test::random_pattern(n, n + 1, 0.2, seed);
  const auto rows = d.perhaps(std::size_t{n}, 10) % 9000;
  const auto columns = d.perhaps(std::size_t{features}, 10) % 50;
  const auto value = [&] { return d.once_in(300) ? std::nanf("") : static_cast<float>(d.below(4)); };
  if (d.once_in(2)) {
    set.dense_features = DenseMatrix<float>(rows, columns, test::random_buffer<float>(rows * columns, value));
  }
  if (!set.has_dense_features()) {
    set.features.pattern = test::random_pattern(static_cast<NodeId>(rows), static_cast<NodeId>(columns), 0.4, seed + 1);
    set.features.values =
        test::random_buffer<float>(d.perhaps(std::size_t{set.features.pattern.nvals()}, 10) % 200000, value);
  }
  set.num_classes = d.perhaps(classes, 10);
  set.labels.resize(d.perhaps(std::size_t{n}, 10) % 100);
  for (auto& label : set.labels) label = static_cast<std::int32_t>(d.below(d.once_in(20) ? 5 : 4)) - 1;
  for (auto* part : {&set.train, &set.validation, &set.test}) {
    for (NodeId i = 0; i < n; ++i) {
      if (d.once_in(2)) part->push_back(d.perhaps(i, 60));
    }
  }
  return set;
}

void spoil(nn::Linear& linear, Draw& d) {
  const bool floats = !linear.binary() && !linear.in_levels();
  switch (d.below(8)) {
    case 0: linear.weight = DenseMatrix<float>(d.below(5), d.below(9)); break;
    case 1:
      linear.weight = Binarized{BitMatrix<PlusMinusOne>(d.below(5), d.below(9)), Buffer<float>(d.below(9), 1.0F)};
      break;
    case 2:
      if (linear.binary()) linear.signs().alpha = Buffer<float>(d.below(9), 1.0F);
      break;
    case 3: linear.bias = Buffer<float>(d.below(9), 1.0F); break;
    case 4:
      if (!linear.bias.empty()) linear.bias[0] = INFINITY;
      break;
    case 5:
      if (linear.binary() && !linear.signs().alpha.empty()) linear.signs().alpha[0] = d.once_in(2) ? -1.0F : NAN;
      break;
    case 6: {
      QuantizedMatrix levels(d.below(6), d.below(9), 1 + static_cast<int>(d.below(16)));
      if (d.once_in(2)) levels.set_scale({ScaleExtent::tensor, Buffer<float>{0.5F}, {}});
      linear.weight = std::move(levels);
      break;
    }
    default:
      if (floats && !linear.floats().values().empty()) linear.floats().values()[0] = NAN;
  }
}

void spoil(LevelScale& scale, Draw& d) {
  switch (d.below(4)) {
    case 0: scale.steps = Buffer<float>(d.below(6), 0.5F); break;
    case 1: scale.offsets = Buffer<float>(d.below(6), 0.5F); break;
    case 2: scale.extent = static_cast<ScaleExtent>(d.below(4)); break;
    default:
      if (!scale.steps.empty()) scale.steps[0] = d.once_in(2) ? 0.0F : NAN;
  }
}

LevelScale any_scale(ScaleExtent extent, std::size_t count) {
  return {extent, Buffer<float>(count, 0.01F), Buffer<float>(count, -0.5F)};
}

/// A model of levels whose scales are of no data.
nn::Model in_levels(nn::Model model, const nn::Precision& precision) {
  model.precision = precision;
  for (std::size_t l = 0; l < model.layers.size(); ++l) {
    nn::Layer& layer = model.layers[l];
    layer.precision = l + 1 == model.layers.size() ? precision.of_last_layer() : precision;
    for (nn::Linear* linear : {&layer.neighbor, &layer.root}) {
      if (linear->empty() || !precision.multiplies_levels()) continue;
      QuantizedMatrix weight(linear->outputs(), linear->inputs(), precision.weight.bits);
      weight.set_scale(any_scale(ScaleExtent::row, linear->outputs()));
      linear->weight = std::move(weight);
    }
    if (l > 0 && precision.multiplies_levels()) layer.input_scale = any_scale(ScaleExtent::tensor, 1);
    if (layer.aggregation != nn::Aggregation::none && precision.sums_levels())
      layer.message_scale = any_scale(ScaleExtent::column, layer.outputs());
  }
  return model;
}

/// A model that is right but for what `d` spoils.
nn::Model perhaps_wrong_model(Draw& d, std::uint64_t seed) {
  const std::vector<nn::Architecture> architectures = nn::all_architectures();
  const std::array precisions{nn::Precision::real, nn::Precision::full, nn::Precision::bin,
                              nn::Precision::of_levels(8, 4, 2), nn::Precision::of_levels(32, 32, 8)};
  const nn::Precision& precision = precisions[d.below(precisions.size())];
  nn::Model model = nn::random_model(architectures[d.below(architectures.size())],
                                     precision.has_levels() ? nn::Precision::real : precision,
                                     1 + d.perhaps(std::size_t{5}, 15) % 50, 5, 3, 1 + d.below(3), seed, d.once_in(4));
  if (precision.has_levels()) model = in_levels(std::move(model), precision);
  model.normalize_rows = d.once_in(2);
  if (!d.once_in(2)) return model;
  nn::Layer& layer = model.layers[d.below(model.layers.size())];
  switch (d.below(12)) {
    case 0: model.layers.clear(); break;
    case 1: layer.precision = precisions[d.below(precisions.size())]; break;
    case 2: layer.aggregation = static_cast<nn::Aggregation>(d.below(6)); break;
    case 3: model.input_mean = Buffer<float>(d.below(9), 0.5F); break;
    case 4: model.input_inverse_deviation = Buffer<float>(d.below(9), 0.5F); break;
    case 5: model.precision = precisions[d.below(precisions.size())]; break;
    case 6: spoil(layer.root, d); break;
    case 7: model.jumping_knowledge = !model.jumping_knowledge; break;
    case 8: spoil(layer.input_scale, d); break;
    case 9: spoil(layer.message_scale, d); break;
    case 10: model.input_limit = d.once_in(2) ? 0.5F : -0.5F; break;
    default: spoil(layer.neighbor, d);
  }
  return model;
}

TEST(Hostile, DataSetsModelsAndPlans) {
  test::Outcomes outcomes;
  for (std::size_t n = 0; n < test::hostile_cases(); ++n) {
    SCOPED_TRACE(n);
    Draw d(n);
    const Dataset set = perhaps_wrong_dataset(d, n);
    const nn::Model model = perhaps_wrong_model(d, n);
    nn::InferenceOptions options;
    options.features = d.once_in(2) ? nn::FeatureStorage::dense : nn::FeatureStorage::sparse;
    options.graph = static_cast<nn::GraphFormat>(d.below(4));
    options.tile_dim = d.perhaps(8, 9);
    options.order = static_cast<Order>(d.below(4));
    options.sequence = static_cast<nn::Sequence>(d.below(3));
    const std::array precisions{nn::Precision::real, nn::Precision::full, nn::Precision::bin,
                                nn::Precision{.weight = {NumberKind::int8, 8}}, nn::Precision::of_levels(8, 4, 2)};
    if (d.once_in(5)) options.forms.assign(d.below(4), precisions[d.below(precisions.size())]);
    if (d.once_in(5)) options.memory = d.below(9000);
    const Device host = Device::host(1 + static_cast<int>(d.below(2)));
    outcomes.add(
        [&] {
          nn::InferencePlan plan(model, set, options, host);
          static_cast<void>(nn::predict_memory(model, set, options, host));
          return plan.run().clone();
        },
        [&](const DenseMatrix<float>& logits) {
          std::vector<nn::Precision> forms = options.forms;
          if (forms.empty()) {
            for (const nn::Layer& layer : model.layers) forms.push_back(layer.precision);
          }
          const DenseMatrix<float> expected = emulate(model, set, forms);
          ASSERT_EQ(logits.nrows(), set.graph.nrows());
          ASSERT_EQ(logits.ncols(), model.num_classes());
          // A sum that is nearly 0 may have its sign from rounding, and one such row is many of a few.
          if (forms.front() == nn::Precision::real) test::expect_near(logits, expected);
        });
  }
}

TEST(Hostile, SplitsAndFiles) {
  test::Outcomes outcomes;
  const test::TemporaryFolder folder;
  for (std::size_t n = 0; n < test::hostile_cases() / 10; ++n) {
    SCOPED_TRACE(n);
    Draw d(n);
    Dataset set = perhaps_wrong_dataset(d, n);
    outcomes.add(
        [&] {
          if (d.once_in(2)) {
            draw_split(set, {.train_per_class = d.below(4), .validation_per_class = d.below(4), .seed = n});
          } else {
            inductive_split(set, {.train = 0.5, .validation = 0.25, .test = 0.25}, n);
          }
          save_dataset(set, folder / "set.npz");
          return load_dataset(folder / "set.npz");
        },
        [&](const Dataset& loaded) {
          EXPECT_EQ(loaded.graph, set.graph);
          EXPECT_EQ(loaded.train, set.train);
          EXPECT_EQ(loaded.test, set.test);
        });
  }
}

TEST(Hostile, Training) {
  test::Outcomes outcomes;
  for (std::size_t n = 0; n < test::hostile_cases() / 10; ++n) {
    SCOPED_TRACE(n);
    Draw d(n);
    const Dataset set = perhaps_wrong_dataset(d, n);
    nn::TrainOptions options{.precision = nn::Precision::real,
                             .architecture = static_cast<nn::Architecture>(d.below(4))};
    options.hidden = d.perhaps(std::size_t{4}, 9) % 100;
    options.depth = d.perhaps(std::size_t{2}, 9) % 5;
    options.epochs = 1;
    options.batch_size = d.perhaps(std::size_t{3}, 9) % 100;
    options.walk_roots = d.perhaps(std::size_t{3}, 9) % 100;
    outcomes.add([&] { return nn::train(set, options, Device::host(2)); },
                 [&](const nn::TrainResult& trained) {
                   EXPECT_TRUE(std::isfinite(trained.validation_loss));
                   trained.model.require_fit(set);
                 });
  }
}

TEST(Hostile, ThreeNodesAndTheFeaturesOfThousands) {
  Dataset set;
  set.graph = test::grid_pattern(3, 1);
  set.features.pattern = test::random_pattern(7650, 6, 0.3, 1);
  set.features.values = Buffer<float>(set.features.pattern.nvals(), 1.0F);
  const nn::Model model = nn::random_model(nn::Architecture::gcn, nn::Precision::full, 6, 4, 3, 2, 1);
  EXPECT_THROW(nn::InferencePlan(model, set), Error);
  set.features.pattern = test::random_pattern(3, 6, 0.9, 1);
  set.features.values = {};
  EXPECT_THROW(nn::InferencePlan(model, set), Error);
}

}  // namespace
}  // namespace bitgraph
