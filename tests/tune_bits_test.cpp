// SPDX-License-Identifier: Apache-2.0
// tune(): quantized candidates, a limit of memory, and batches of parts.
#include <bitgraph/formats/partition.hpp>
#include <bitgraph/graph/generate.hpp>
#include <bitgraph/nn/infer.hpp>
#include <bitgraph/nn/train.hpp>
#include <bitgraph/nn/tune.hpp>
#include <bitgraph/ops/log_softmax.hpp>

#include "nn/model/random_model.hpp"
#include "nn/tuning/candidates.hpp"
#include "support/expect_error.hpp"
#include "support/planted_data.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph::nn {
namespace {

const Dataset& data() {
  static const Dataset made =
      generate_planted_partition({.num_nodes = 600, .num_classes = 4, .num_features = 90, .mean_degree = 6, .seed = 5});
  return made;
}

/// Of many values between its layers, so that bits make a difference to the memory.
const Model& float_model() {
  static const Model made = train(data(), {.precision = Precision::real, .hidden = 96, .epochs = 30}).model;
  return made;
}

/// 16 parts of neighbouring numbers.
const Partition& parts() {
  static const Partition made = [] {
    std::vector<NodeId> part_of;
    for (NodeId i = 0; i < 600; ++i) part_of.push_back(i * 16 / 600);
    return Partition(std::move(part_of), 16, {undirected_fingerprint(data().graph), 0});
  }();
  return made;
}

TuneReport tuned(TuneOptions options, const Dataset& dataset = data()) {
  options.repeats = 1;
  return tune(float_model(), dataset, options, Device::host(1));
}

double accuracy_of(const TuneReport& report, const TuneCandidate& c, const Dataset& dataset) {
  InferencePlan plan(report.model_of(c, std::span(&float_model(), 1)), dataset, c.options, Device::host(1));
  return score(plan.run(), dataset.labels, dataset.validation).accuracy();
}

void expect_memory_as_predicted(const TuneReport& report) {
  for (const TuneCandidate& c : report.candidates) {
    const auto peak = static_cast<double>(c.peak_bytes);
    EXPECT_NEAR(static_cast<double>(c.predicted_bytes), peak, 0.1 * peak) << c.options.describe();
  }
}

/// The forms of each quantized model.
std::vector<std::string> forms_of_quantized(const TuneReport& report) {
  std::vector<std::string> all;
  for (const Model& model : report.quantized)
    all.push_back(InferenceOptions{.forms = model.layer_forms(model.precision)}.describe());
  return all;
}

TEST(TuneBits, AFloatModelAloneBecomesCandidatesOfFewBits) {
  const TuneReport report = tuned({.max_loss = 0.02});
  EXPECT_TRUE(report.complete && report.has_default);
  EXPECT_FALSE(report.candidates.front().quantized);
  ASSERT_GE(report.quantized.size(), 2U);
  EXPECT_EQ(forms_of_quantized(report)[0], "w8a8+w8a8d");
  EXPECT_EQ(forms_of_quantized(report)[1], "w4a4+w4a4m8d");
  std::vector<bool> judged(report.quantized.size());
  double smallest = INFINITY;
  for (const TuneCandidate& c : report.candidates) {
    EXPECT_EQ(c.model, 0U);
    EXPECT_EQ(accuracy_of(report, c, data()), c.validation_accuracy) << c.options.describe();
    if (!c.quantized) continue;
    judged[*c.quantized] = true;
    smallest = std::min(smallest, static_cast<double>(c.peak_bytes));
    const Model& model = report.quantized[*c.quantized];
    EXPECT_EQ(c.options.forms, model.layer_forms(model.precision));
  }
  EXPECT_EQ(std::count(judged.begin(), judged.end(), false), 0);
  EXPECT_LT(smallest, 0.7 * static_cast<double>(report.candidates.front().peak_bytes));
  EXPECT_TRUE(std::any_of(report.candidates.begin(), report.candidates.end(),
                          [](const TuneCandidate& c) { return c.on_front && c.quantized; }));
  expect_memory_as_predicted(report);
}

/// The same data with other labels of all nodes but the validation nodes.
Dataset with_labels_of_validation_alone() {
  Dataset other{.name = data().name,
                .graph = data().graph.share(),
                .features = {data().features.pattern.share(), data().features.values.share()},
                .dense_features = data().dense_features.share(),
                .labels = std::vector<std::int32_t>(data().labels.size(), 0),
                .num_classes = data().num_classes,
                .train = data().train,
                .validation = data().validation,
                .test = data().test};
  for (const NodeId node : other.validation) other.labels[node] = data().labels[node];
  return other;
}

TEST(TuneBits, OnlyValidationLabelsCount) {
  const Dataset other = with_labels_of_validation_alone();
  const TuneReport expected = tuned({});
  const TuneReport actual = tuned({}, other);
  EXPECT_EQ(forms_of_quantized(actual), forms_of_quantized(expected));
  for (std::size_t n = 0; n < expected.quantized.size(); ++n)
    EXPECT_EQ(actual.quantized[n].fingerprint(), expected.quantized[n].fingerprint());
}

TEST(TuneBits, NoLossAtAllKeepsMoreBitsThanAnyLoss) {
  const auto least_bytes = [](const TuneReport& report) {
    std::size_t least = report.quantized.front().bytes();
    for (const TuneCandidate& c : report.candidates) {
      if (c.quantized && c.validation_accuracy >= report.candidates[0].validation_accuracy)
        least = std::min(least, report.quantized[*c.quantized].bytes());
    }
    return least;
  };
  const TuneReport any = tuned({.max_loss = 1});
  const TuneReport none = tuned({.max_loss = 0});
  EXPECT_LE(any.quantized.back().bytes(), least_bytes(none));
  EXPECT_GE(none.candidates[none.chosen].validation_accuracy, none.candidates[0].validation_accuracy);
}

TEST(TuneBits, BitsCanBeBoundedOrLeftOut) {
  EXPECT_TRUE(tuned({.bits = {}}).quantized.empty());
  const TuneReport eight = tuned({.bits = {8}});
  EXPECT_EQ(forms_of_quantized(eight), std::vector<std::string>{"w8a8+w8a8d"});
  for (const std::string& forms : forms_of_quantized(tuned({.max_loss = 1, .bits = {16, 8}})))
    EXPECT_EQ(forms.find('4'), std::string::npos) << forms;
}

TEST(TuneBits, AModelThatIsNotInFloatsIsNotQuantized) {
  const Model bits = random_model(Architecture::gcn, Precision::bin, 90, 16, 4, 2, 7);
  EXPECT_TRUE(tune(bits, data(), {.repeats = 1}, Device::host(1)).quantized.empty());
}

TEST(TuneMemory, WhatDoesNotFitIsNotRun) {
  const TuneReport all = tuned({});
  std::size_t least = all.candidates[0].peak_bytes;
  for (const TuneCandidate& c : all.candidates) least = std::min(least, c.peak_bytes);
  const std::size_t limit = (least + all.candidates[0].peak_bytes) / 2;
  const TuneReport bounded = tuned({.max_loss = 1, .memory = limit});
  for (const TuneCandidate& c : bounded.candidates) {
    EXPECT_LE(c.predicted_bytes, limit);
    EXPECT_EQ(c.options.memory, limit);
  }
  EXPECT_LE(bounded.candidates[bounded.chosen].peak_bytes, limit);
  expect_memory_as_predicted(bounded);

  // A little less than the whole needs: the rows of the graph come in parts.
  const TuneReport in_parts =
      tuned({.bits = {}, .memory = all.candidates[0].predicted_bytes - data().graph.bytes() / 4});
  EXPECT_TRUE(in_parts.has_default);
  EXPECT_GT(in_parts.candidates[0].row_parts, 1U);
  EXPECT_EQ(in_parts.candidates[0].validation_accuracy, all.candidates[0].validation_accuracy);
  expect_memory_as_predicted(in_parts);
  test::expect_error_with([] { static_cast<void>(tuned({.memory = 1000})); }, ErrorCode::not_possible,
                          "the limit of 1000 bytes is too small");
}

/// How often each model is tried in batches of so many parts, with all else automatic. Which models are tried, and
/// which other options, depends on measured times.
std::map<std::optional<std::size_t>, std::multiset<std::size_t>> batches_of_each_model(const TuneReport& report) {
  std::map<std::optional<std::size_t>, std::multiset<std::size_t>> sizes;
  for (const TuneCandidate& c : report.candidates) {
    const InferenceOptions automatic{
        .forms = c.options.forms, .partition = c.options.partition, .batch_parts = c.options.batch_parts};
    if (c.options.partition != nullptr && c.options.describe() == automatic.describe())
      sizes[c.quantized].insert(c.options.batch_parts);
  }
  return sizes;
}

TEST(TuneParts, BatchesOfPartsAreCandidates) {
  const TuneReport report = tuned({.partition = &parts(), .batch_parts = {2, 8, 2}});
  for (const TuneCandidate& c : report.candidates) {
    if (c.options.partition == nullptr) {
      EXPECT_EQ(c.batches, 1U);
      continue;
    }
    EXPECT_EQ(c.batches, parts().num_parts() / c.options.batch_parts);
    EXPECT_EQ(accuracy_of(report, c, data()), c.validation_accuracy) << c.options.describe();
  }
  const auto sizes = batches_of_each_model(report);
  EXPECT_FALSE(sizes.empty());
  for (const auto& of_model : sizes) EXPECT_EQ(of_model.second, (std::multiset<std::size_t>{2, 8}));
  expect_memory_as_predicted(report);
}

/// A limit between the memory of two sizes of batches: the larger one is not run.
TEST(TuneParts, TheMemoryChoosesTheBatches) {
  const auto bytes_of = [](std::size_t batch_parts) {
    const InferenceOptions options{.partition = &parts(), .batch_parts = batch_parts};
    return predict_memory(float_model(), data(), options, Device::host(1)).bytes;
  };
  const std::size_t limit = (bytes_of(4) + bytes_of(8)) / 2;
  const TuneReport report = tuned({.bits = {}, .memory = limit, .partition = &parts()});
  EXPECT_FALSE(report.has_default) << "the whole graph takes more";
  EXPECT_EQ(report.candidates.front().options.batch_parts, 4U) << "the largest that fits comes first";
  for (const TuneCandidate& c : report.candidates) {
    EXPECT_LE(c.options.batch_parts, 4U);
    EXPECT_LE(c.peak_bytes, limit);
  }
  expect_memory_as_predicted(report);

  const TuneReport quantized = tuned({.max_loss = 1, .memory = limit, .partition = &parts()});
  EXPECT_EQ(forms_of_quantized(quantized), forms_of_quantized(tuned({.max_loss = 1}))) << "judged over the whole graph";
  EXPECT_LE(quantized.candidates[quantized.chosen].peak_bytes, limit);
  expect_memory_as_predicted(quantized);
}

TEST(TuneParts, BatchSizesAreHalvesOrThoseGiven) {
  EXPECT_EQ(batch_sizes(parts(), {}), (std::vector<std::size_t>{8, 4, 2, 1}));
  EXPECT_EQ(batch_sizes(parts(), {3, 16, 3}), (std::vector<std::size_t>{16, 3}));
  EXPECT_EQ(batch_sizes(Partition({0, 0}, 1), {}), std::vector<std::size_t>{1});
}

TEST(TuneParts, WhatCannotBeIsRefused) {
  const auto refuse = [](const TuneOptions& options, ErrorCode code, const std::string& message) {
    test::expect_error_with([&] { static_cast<void>(tuned(options)); }, code, message);
  };
  refuse({.batch_parts = {2}}, ErrorCode::usage, "batches of parts are given, and no partition");
  refuse({.partition = &parts(), .batch_parts = {2, 0}}, ErrorCode::usage, "a batch has at least one part");
  refuse({.bits = {4, 8}}, ErrorCode::usage, "the most bits come first");
  refuse({.bits = {17}}, ErrorCode::usage, "17 bits, expected 1 to 16");
  const Partition other(std::vector<NodeId>(600, 0), 1, {"0123456789abcdef", 0});
  refuse({.partition = &other}, ErrorCode::bad_input, "the parts belong to another graph");
  const Partition smaller(std::vector<NodeId>(500, 0), 1);
  refuse({.partition = &smaller}, ErrorCode::bad_input, "500 nodes");
}

}  // namespace
}  // namespace bitgraph::nn
