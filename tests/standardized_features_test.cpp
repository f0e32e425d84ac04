// SPDX-License-Identifier: Apache-2.0
// Float models and models of levels of features in units of their own: they take dense ones each less its mean, divided
// by its deviation, sparse ones divided by their size. All is as over features that were prepared so beforehand, by a
// model that takes them as they are.
#include <bitgraph/io/array.hpp>
#include <bitgraph/nn/infer.hpp>
#include <bitgraph/nn/quantize.hpp>
#include <bitgraph/nn/train.hpp>

#include "support/cuda_device.hpp"
#include "support/damaged_file.hpp"
#include "support/everywhere.hpp"
#include "support/expect_error.hpp"
#include "support/level_models.hpp"
#include "support/near_logits.hpp"
#include "support/planted_data.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph::nn {
namespace {

using test::FeatureKind;

Dataset data_of(FeatureKind kind) { return test::planted_data({.nodes = 300, .kind = kind}); }

const Dataset& in_units() {
  static const Dataset made = data_of(FeatureKind::units);
  return made;
}
const Dataset& with_tails() {
  static const Dataset made = data_of(FeatureKind::tails);
  return made;
}
const Dataset& sparse_in_units() {
  static const Dataset made = data_of(FeatureKind::counts_in_units);
  return made;
}

/// What a model does to the features, done beforehand.
Dataset prepared_for(const Model& model, FeatureKind kind = FeatureKind::units) {
  Dataset made = data_of(kind);
  SparseFeatures& entries = made.features;
  for (std::size_t e = 0; e < entries.values.size(); ++e)
    entries.values[e] *= model.input_inverse_deviation[entries.pattern.col_ind()[e]];
  DenseMatrix<float>& x = made.dense_features;
  for (std::size_t i = 0; i < x.nrows(); ++i) {
    for (std::size_t j = 0; j < x.ncols(); ++j)
      x(i, j) = (x(i, j) - model.input_mean[j]) * model.input_inverse_deviation[j];
  }
  if (model.input_limit == 0) return made;
  for (float& value : x.values()) value = std::min(std::max(value, -model.input_limit), model.input_limit);
  return made;
}

Model without_means(const Model& model) {
  const test::TemporaryFolder folder;
  model.save(folder / "m");
  Model made = Model::load(folder / "m");  // models are not copied
  made.input_mean = {};
  made.input_inverse_deviation = {};
  made.input_limit = 0;
  return made;
}

TrainOptions quick(Architecture architecture, const Precision& precision) {
  return {.precision = precision,
          .architecture = architecture,
          .hidden = 10,
          .sample_from = traits_of(architecture).sampled() ? SampleFrom::training : SampleFrom::automatic,
          .epochs = 3,
          .batch_size = 12,
          .fan_outs = {3, 2},
          .walk_roots = 5};
}

const std::vector<Precision> precisions{Precision::real, Precision::of_levels(8, 8, 8), Precision::of_levels(4, 4, 32)};

template <class Fn>
void for_each_model(Fn&& fn) {
  for (const Architecture architecture : {Architecture::gcn, Architecture::sage, Architecture::gin}) {
    for (const Precision& precision : precisions) {
      SCOPED_TRACE(std::string(to_string(architecture)) + " " + to_string(precision));
      fn(architecture, precision);
    }
  }
}

void expect_same_weights(const Model& actual, const Model& expected) {
  ASSERT_EQ(actual.layers.size(), expected.layers.size());
  EXPECT_EQ(without_means(actual).fingerprint(), without_means(expected).fingerprint());
}

void expect_trained_as_prepared(FeatureKind kind, float limit) {
  const Dataset dataset = data_of(kind);
  for_each_model([&](Architecture architecture, const Precision& precision) {
    const TrainOptions options = quick(architecture, precision);
    const Model model = train(dataset, options, Device::host(2)).model;
    ASSERT_EQ(model.input_mean.size(), dataset.num_features());
    EXPECT_EQ(model.input_limit, limit);
    const TrainResult expected = train(prepared_for(model, kind), options, Device::host(2));
    EXPECT_TRUE(expected.model.input_mean.empty());
    expect_same_weights(model, expected.model);
  });
}

TEST(StandardizedFeatures, AreTrainedOnAsThosePreparedBeforehand) { expect_trained_as_prepared(FeatureKind::units, 0); }
TEST(StandardizedFeatures, WithLongTailsAreTrainedOnAsThosePreparedBeforehand) {
  expect_trained_as_prepared(FeatureKind::tails, 3);
}

/// So few nodes are all looked at.
TEST(StandardizedFeatures, WithLongTailsAreLessTheirMediansAndHalfOfThemLieWithinThoseOfANormalDistribution) {
  const Model model = train(with_tails(), quick(Architecture::gcn, Precision::real), Device::host(1)).model;
  const DenseMatrix<float>& x = with_tails().dense_features;
  for (std::size_t j = 0; j < x.ncols(); ++j) {
    std::size_t below = 0, near = 0;
    for (std::size_t i = 0; i < x.nrows(); ++i) {
      below += x(i, j) < model.input_mean[j] ? 1 : 0;
      near += std::fabs(x(i, j) - model.input_mean[j]) * model.input_inverse_deviation[j] < 0.6745F ? 1 : 0;
    }
    EXPECT_NEAR(static_cast<double>(below), static_cast<double>(x.nrows()) / 2, 1);
    EXPECT_NEAR(static_cast<double>(near), static_cast<double>(x.nrows()) / 2, 2);
  }
}

/// Of all nodes where training sees all, of the training nodes where it sees no others.
TEST(StandardizedFeatures, HaveTheMeansAndDeviationsOfTheNodesThatTrainingSees) {
  const DenseMatrix<float>& x = in_units().dense_features;
  std::vector<NodeId> all(x.nrows());
  std::iota(all.begin(), all.end(), NodeId{0});
  for (const Architecture architecture : {Architecture::gcn, Architecture::sage}) {
    const Model model = train(in_units(), quick(architecture, Precision::real), Device::host(1)).model;
    const std::vector<NodeId>& nodes = architecture == Architecture::gcn ? all : in_units().train;
    for (std::size_t j = 0; j < x.ncols(); ++j) {
      double mean = 0, squares = 0;
      for (const NodeId i : nodes) mean += x(i, j) / static_cast<double>(nodes.size());
      for (const NodeId i : nodes) squares += std::pow(x(i, j) - mean, 2) / static_cast<double>(nodes.size());
      EXPECT_NEAR(model.input_mean[j], mean, 1e-5 * std::sqrt(squares) + 1e-6 * std::fabs(mean));
      EXPECT_NEAR(model.input_inverse_deviation[j] * std::sqrt(squares), 1, 1e-4);
    }
  }
}

TEST(StandardizedFeatures, ThatAreTheSameEverywhereBecomeZeros) {
  Dataset dataset = data_of(FeatureKind::units);
  for (std::size_t i = 0; i < dataset.dense_features.nrows(); ++i) dataset.dense_features(i, 3) = 1e5F;
  const Model model = train(dataset, quick(Architecture::gcn, Precision::real), Device::host(1)).model;
  EXPECT_EQ(model.input_mean[3], 1e5F);
  EXPECT_EQ(model.input_inverse_deviation[3], 0);
}

TEST(StandardizedFeatures, ThatAreSparseHaveASizeOfOneAndNoMean) {
  const Model model = train(sparse_in_units(), quick(Architecture::gcn, Precision::real), Device::host(1)).model;
  const Dataset prepared = prepared_for(model, FeatureKind::counts_in_units);
  std::vector<double> squares(prepared.num_features(), 0), entries(prepared.num_features(), 0);
  for (std::size_t e = 0; e < prepared.features.values.size(); ++e) {
    const NodeId j = prepared.features.pattern.col_ind()[e];
    squares[j] += std::pow(prepared.features.values[e], 2);
    ++entries[j];
  }
  for (std::size_t j = 0; j < squares.size(); ++j) {
    EXPECT_EQ(model.input_mean[j], 0);
    EXPECT_NEAR(squares[j], entries[j], 1e-4 * entries[j]);
  }
  EXPECT_FALSE(model.normalize_rows);
}

/// A float model as training makes it, and levels of it.
Model some_model(Architecture architecture, const Precision& precision, const Dataset& dataset = in_units()) {
  Model model = train(dataset, quick(architecture, Precision::real), Device::host(2)).model;
  return precision == Precision::real ? std::move(model) : quantize(model, dataset, {.precision = precision});
}

DenseMatrix<float> logits_of(const Model& model, const Dataset& dataset, const InferenceOptions& options,
                             const Device& device) {
  return InferencePlan(model, dataset, options, device).run().to(Device());
}

TEST(StandardizedFeatures, OnEveryDeviceGiveTheLogitsOfThosePreparedBeforehand) {
  std::vector<Device> devices{Device::host(1), Device::host(2)};
  if (test::cuda_device()) devices.push_back(*test::cuda_device());
  std::vector<NodeId> part_of(in_units().graph.nrows());
  for (NodeId i = 0; i < part_of.size(); ++i) part_of[i] = i % 5;
  const Partition partition(std::move(part_of), 5);
  const auto check = [&](const Dataset& dataset, const Model& model, const Dataset& prepared) {
    const Model plain = without_means(model);
    for (const Device& device : devices) {
      const std::size_t whole = predict_memory(model, dataset, {}, device).bytes;
      const InferenceOptions all_options[] = {{},
                                              {.features = FeatureStorage::dense, .order = Order::degree},
                                              {.memory = whole - dataset.graph.bytes() / 2},
                                              {.partition = &partition, .batch_parts = 2}};
      for (const InferenceOptions& options : all_options) {
        const DenseMatrix<float> expected = logits_of(plain, prepared, options, device);
        test::expect_identical(logits_of(model, dataset, options, device).values(), expected.values());
      }
    }
    const auto forms = model.layer_forms(model.precision);
    EXPECT_LT(test::distance(logits_of(model, dataset, {}, Device()), emulate(model, dataset, forms)),
              model.precision == Precision::real ? 1e-4F : 0.02F);
  };
  for_each_model([&](Architecture architecture, const Precision& precision) {
    const Model model = some_model(architecture, precision);
    check(in_units(), model, prepared_for(model));
    const Model of_tails = some_model(architecture, precision, with_tails());
    check(with_tails(), of_tails, prepared_for(of_tails, FeatureKind::tails));
    const Model of_sparse = some_model(architecture, precision, sparse_in_units());
    check(sparse_in_units(), of_sparse, prepared_for(of_sparse, FeatureKind::counts_in_units));
  });
}

void expect_updates(FeatureKind kind) {
  std::vector<Device> devices{Device::host(2)};
  if (test::cuda_device()) devices.push_back(*test::cuda_device());
  const Dataset dataset = data_of(kind);
  Dataset changed = data_of(kind);
  const std::vector<NodeId> rows{5, 200, 17};
  DenseMatrix<float> values(rows.size(), changed.num_features());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < values.ncols(); ++j)
      values(i, j) = changed.dense_features(rows[i], j) = changed.dense_features(i, j) * 1.5F;
  }
  for_each_model([&](Architecture architecture, const Precision& precision) {
    const Model model = some_model(architecture, precision, dataset);
    for (const Device& device : devices) {
      const DenseMatrix<float> expected = logits_of(model, changed, {}, device);
      InferencePlan plan(model, dataset, {}, device);
      plan.set_features(rows, values);
      test::expect_identical(plan.run().to(Device()).values(), expected.values());
      InferencePlan all(model, prepared_for(model, kind), {}, device);  // other features
      all.set_features(changed.dense_features);
      test::expect_identical(all.run().to(Device()).values(), expected.values());
    }
  });
}

TEST(StandardizedFeatures, AreUpdatedOnEveryDeviceAsInANewPlan) { expect_updates(FeatureKind::units); }
TEST(StandardizedFeatures, WithLongTailsAreUpdatedOnEveryDeviceAsInANewPlan) { expect_updates(FeatureKind::tails); }

TEST(StandardizedFeatures, ThatAreSparseAreUpdatedOnEveryDeviceAsInANewPlan) {
  std::vector<Device> devices{Device::host(2)};
  if (test::cuda_device()) devices.push_back(*test::cuda_device());
  Dataset changed = data_of(FeatureKind::counts_in_units);
  for (float& value : changed.features.values) value *= 1.5F;
  for_each_model([&](Architecture architecture, const Precision& precision) {
    const Model model = some_model(architecture, precision, sparse_in_units());
    for (const Device& device : devices) {
      const DenseMatrix<float> expected = logits_of(model, changed, {}, device);
      InferencePlan plan(model, sparse_in_units(), {}, device);
      plan.set_features(changed.features);
      test::expect_identical(plan.run().to(Device()).values(), expected.values());
      std::vector<NodeId> all(changed.graph.nrows());
      std::iota(all.begin(), all.end(), NodeId{0});
      InferencePlan by_rows(model, sparse_in_units(), {}, device);
      by_rows.set_features(all, changed.features);
      test::expect_identical(by_rows.run().to(Device()).values(), expected.values());
    }
  });
}

TEST(StandardizedFeatures, StayWithAModelThatIsSavedQuantizedOrTrainedFurther) {
  const test::TemporaryFolder folder;
  for (const Dataset* dataset : {&in_units(), &with_tails()}) {
    const Model model = some_model(Architecture::gcn, Precision::real, *dataset);
    const auto expect_means = [&](const Model& other) {
      test::expect_identical(other.input_mean.span(), model.input_mean.span());
      test::expect_identical(other.input_inverse_deviation.span(), model.input_inverse_deviation.span());
      EXPECT_EQ(other.input_limit, dataset == &with_tails() ? 3 : 0);
    };
    for (const Precision& precision : precisions) {
      some_model(Architecture::gcn, precision, *dataset).save(folder / "model");
      const Model loaded = Model::load(folder / "model");
      EXPECT_EQ(loaded.precision, precision);
      expect_means(loaded);
    }
    TrainOptions further = quick(Architecture::gcn, Precision::real);
    further.start = &model;
    expect_means(train(*dataset, further, Device::host(1)).model);
    expect_means(train(in_units(), further, Device::host(1)).model);  // and keep its rules over other features
  }
}

TEST(StandardizedFeatures, WithMeansMustBeDense) {
  const Model model = some_model(Architecture::gcn, Precision::real);
  test::expect_error_with([&] { static_cast<void>(InferencePlan(model, data_of(FeatureKind::mixed), {})); },
                          ErrorCode::bad_input, "less their means, for which they must be dense");
}

/// The plan takes the model with all features, and then has the logits of a new one.
void expect_needs_features(InferencePlan& plan, const Model& model, const Dataset& data) {
  test::expect_error_with([&] { plan.set_weights(model); }, ErrorCode::not_possible,
                          "by another mean, deviation or limit, the plan has them by its own: give the features, too");
  plan.set_weights(model, data.dense_features);
  InferencePlan fresh(model, data, {}, Device::host(1));
  test::expect_identical(plan.run().values(), fresh.run().values());
}

TEST(StandardizedFeatures, OfAnotherMeanAreGivenWithTheModel) {
  Model model = some_model(Architecture::gcn, Precision::real);
  InferencePlan plan(model, in_units(), {}, Device::host(1));
  model.input_mean[3] += 1;
  expect_needs_features(plan, model, in_units());
}

TEST(StandardizedFeatures, WithAnotherLimitAreGivenWithTheModel) {
  Model model = some_model(Architecture::gcn, Precision::real, with_tails());
  InferencePlan plan(model, with_tails(), {}, Device::host(1));
  const std::string before = model.fingerprint();
  model.input_limit = 4;
  EXPECT_NE(model.fingerprint(), before);
  expect_needs_features(plan, model, with_tails());
}

TEST(StandardizedFeatures, WithALimitThatIsNoDistanceAreRefused) {
  Model model = some_model(Architecture::gcn, Precision::real, with_tails());
  for (const float limit : {-1.0F, std::numeric_limits<float>::infinity(), std::nanf("")}) {
    model.input_limit = limit;
    test::expect_error_with([&] { model.validate(); }, ErrorCode::bad_input, "its limit of features");
  }
  model.input_limit = 3;
  model.input_mean = {};
  model.input_inverse_deviation = {};
  test::expect_error_with([&] { model.validate(); }, ErrorCode::bad_input, "a limit of features that it takes without");
}

TEST(StandardizedFeatures, WithALimitThatIsNoDistanceOrFitsNothingAreRefusedInAFile) {
  const test::TemporaryFolder folder;
  some_model(Architecture::gcn, Precision::real, with_tails()).save(folder / "model");
  const auto expect_refused = [&](const auto& damage, const std::string& what) {
    TensorFile file = load_safetensors(folder / "model");
    damage(file);
    save_safetensors(folder / "damaged", file);
    test::expect_error_with([&] { static_cast<void>(Model::load(folder / "damaged")); }, ErrorCode::bad_input, what);
  };
  expect_refused([](TensorFile& file) { test::put_value(file.tensors.at("input.limit"), 0, -3.0F); },
                 "the tensor 'input.limit' holds a negative scale");
  expect_refused([](TensorFile& file) { test::put_value(file.tensors.at("input.limit"), 0, std::nanf("")); },
                 "the tensor 'input.limit' holds a value that is not finite");
  expect_refused([](TensorFile& file) { std::swap(file.tensors.at("input.limit"), file.tensors.at("input.mean")); },
                 "the tensor 'input.mean'");
  expect_refused(
      [](TensorFile& file) {
        file.tensors.erase("input.mean");
        file.tensors.erase("input.inverse_deviation");
      },
      "the tensor 'input.limit' belongs to no layer");
}

}  // namespace
}  // namespace bitgraph::nn
