// SPDX-License-Identifier: Apache-2.0
// Updates of a plan: the logits are those of a new plan over the changed data set, bit for bit.
#include <bitgraph/nn/infer.hpp>
#include <bitgraph/nn/quantize.hpp>

#include "nn/model/architectures.hpp"
#include "nn/model/random_model.hpp"
#include "support/cuda_device.hpp"
#include "support/everywhere.hpp"
#include "support/expect_error.hpp"
#include "support/random_matrices.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace bitgraph::nn {
namespace {

constexpr std::size_t width = 400;  // sparse bits are smaller than dense ones where a row has few
constexpr NodeId most_nodes = 60;
constexpr std::size_t most_entries = 2000;

CsrPattern random_graph(NodeId nodes, std::size_t edges, std::uint32_t seed) {
  std::vector<NodeId> from, to;
  RandomKey key{seed, 0, 0};
  for (std::size_t e = 0; nodes > 1 && e < edges; ++e) {
    from.push_back(static_cast<NodeId>(random_uniform(key, 2 * e) * static_cast<float>(nodes - 1)));
    to.push_back(static_cast<NodeId>(random_uniform(key, 2 * e + 1) * static_cast<float>(nodes - 1)));
  }
  return csr_from_edges(nodes, nodes, from, to, {.symmetrize = true, .drop_loops = true});
}

/// Rows of which some have many features and some have none. Of even seeds every third column is below zero.
DenseMatrix<float> random_rows(std::size_t rows, std::uint32_t seed, float density) {
  DenseMatrix<float> x(rows, width);
  RandomKey key{seed, 1, 0};
  for (std::size_t n = 0; n < x.values().size(); ++n) {
    const float sign = seed % 2 == 0 && n % width % 3 == 0 ? -0.5F : 1.0F;
    const bool there = random_uniform(key, 2 * n) < density;
    if (there) x.values()[n] = sign * (0.25F + random_uniform(key, 2 * n + 1));
  }
  return x;
}

/// What a new plan is made of: no labels.
struct State {
  CsrPattern graph;
  DenseMatrix<float> x;
  bool dense;

  [[nodiscard]] Dataset dataset() const {
    Dataset set;
    set.name = "changing";
    set.graph = graph.clone();
    if (dense) {
      set.dense_features = x.clone();
    } else {
      set.features = sparse_features(x);
    }
    return set;
  }
};

bool same_bits(const DenseMatrix<float>& there, const DenseMatrix<float>& expected_there) {
  const DenseMatrix<float> a = there.to(Device());
  const DenseMatrix<float> b = expected_there.to(Device());
  return a.nrows() == b.nrows() && a.ncols() == b.ncols() &&
         std::equal(a.values().begin(), a.values().end(), b.values().begin());
}

/// Parts of a graph are summed in another order on a device.
bool nearly_same(const DenseMatrix<float>& there, const DenseMatrix<float>& expected_there) {
  const DenseMatrix<float> a = there.to(Device());
  const DenseMatrix<float> b = expected_there.to(Device());
  float largest = 0;
  for (const float v : b.values()) largest = std::max(largest, std::fabs(v));
  return a.nrows() == b.nrows() && a.ncols() == b.ncols() &&
         std::equal(a.values().begin(), a.values().end(), b.values().begin(),
                    [&](float x, float y) { return std::fabs(x - y) <= 1e-5F * largest; });
}

/// Rows of the state become rows of `from`.
void assign_rows(State& state, const std::vector<NodeId>& nodes, const DenseMatrix<float>& from) {
  for (std::size_t i = 0; i < nodes.size(); ++i) std::copy_n(from.row(i).data(), width, state.x.row(nodes[i]).data());
}

void resize_rows(State& state, std::size_t rows) {
  DenseMatrix<float> x(rows, width);
  std::copy_n(std::as_const(state.x).values().data(), std::min(rows, state.x.nrows()) * width, x.values().data());
  state.x = std::move(x);
}

std::vector<NodeId> some_nodes(NodeId nodes) {
  std::vector<NodeId> all(nodes);
  std::iota(all.begin(), all.end(), NodeId{0});
  for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[*rc::gen::inRange<std::size_t>(0, i)]);
  const bool few = *rc::gen::arbitrary<bool>();
  all.resize(*rc::gen::inRange<std::size_t>(0, few ? std::min<std::size_t>(5, all.size() + 1) : all.size() + 1));
  return all;
}

void update_features(InferencePlan& plan, State& state, float density) {
  const auto seed = *rc::gen::arbitrary<std::uint32_t>();
  const bool sparse = *rc::gen::arbitrary<bool>();
  if (*rc::gen::arbitrary<bool>()) {
    state.x = random_rows(state.graph.nrows(), seed, density);
    if (sparse) {
      plan.set_features(sparse_features(state.x));
    } else if (*rc::gen::arbitrary<bool>()) {
      plan.set_features(state.x);
    } else {
      DenseMatrix<float> given = state.x.clone();
      plan.set_features(std::move(given));
      // NOLINTNEXTLINE(bugprone-use-after-move): it stays the caller's to fill again
      given.values()[0] = 99;
    }
    return;
  }
  const std::vector<NodeId> nodes = some_nodes(state.graph.nrows());
  const DenseMatrix<float> rows = random_rows(nodes.size(), seed, density);
  sparse ? plan.set_features(nodes, sparse_features(rows)) : plan.set_features(nodes, rows);
  assign_rows(state, nodes, rows);
}

void update_graph(InferencePlan& plan, State& state, bool reserved) {
  const NodeId n = state.graph.nrows();
  const int what = *rc::gen::inRange(0, reserved ? 3 : 1);
  if (what == 0) {
    const NodeId nodes = *rc::gen::inRange<NodeId>(1, reserved ? most_nodes + 1 : n + 1);
    const std::size_t entries = reserved ? most_entries : state.graph.nvals();
    CsrPattern next =
        random_graph(nodes, std::min<std::size_t>(nodes * 3, entries / 2), *rc::gen::arbitrary<std::uint32_t>());
    plan.set_graph(next.clone());
    state.graph = std::move(next);
    return resize_rows(state, nodes);
  }
  std::vector<NodeId> from, to;
  for (NodeId i = 0; i < n; ++i) {
    for (const NodeId j : state.graph.row(i)) {
      from.push_back(i);
      to.push_back(j);
    }
  }
  NodeId nodes = n;
  if (what == 1) {
    const NodeId added = *rc::gen::inRange<NodeId>(0, std::min<NodeId>(4, most_nodes - n + 1));
    RC_ASSERT(plan.add_nodes(added) == n);
    nodes += added;
    resize_rows(state, nodes);
  }
  if (what == 1 && *rc::gen::arbitrary<bool>()) {  // nodes without edges
    state.graph = csr_from_edges(nodes, nodes, from, to);
    return;
  }
  std::vector<NodeId> from_added, to_added;
  for (int e = *rc::gen::inRange(0, 6); e > 0 && nodes > 1; --e) {
    const NodeId a = *rc::gen::inRange<NodeId>(0, nodes);
    const NodeId b = *rc::gen::inRange<NodeId>(0, nodes - 1);
    from_added.push_back(a);
    to_added.push_back(b < a ? b : b + 1);
  }
  plan.add_edges(from_added, to_added);
  from.insert(from.end(), from_added.begin(), from_added.end());
  to.insert(to.end(), to_added.begin(), to_added.end());
  state.graph = csr_from_edges(nodes, nodes, from, to, {.symmetrize = true});
}

/// Models that differ in their numbers alone.
struct ModelKind {
  Architecture architecture;
  Precision precision;
  std::size_t hidden, depth;
  bool normalize_rows, mean;

  /// Where the precision has levels, of the values that the model has over the data set.
  [[nodiscard]] Model some_model(const Dataset& data) const {
    const Precision trained = precision.has_levels() ? Precision::real : precision;
    Model model = random_model(architecture, trained, width, hidden, 5, depth, *rc::gen::inRange(1, 99));
    model.normalize_rows = normalize_rows;
    const Model first = random_model(architecture, trained, width, hidden, 5, depth, 1);
    model.input_mean = mean ? first.input_mean.clone() : Buffer<float>();
    model.input_inverse_deviation = mean ? first.input_inverse_deviation.clone() : Buffer<float>();
    return precision.has_levels() ? quantize(model, data, {.precision = precision}) : std::move(model);
  }
};

void check_updates(const Device& device, const std::vector<Precision>& precisions) {
  const auto architecture = *rc::gen::elementOf(all_architectures());
  const Precision precision = precisions[*rc::gen::inRange<std::size_t>(0, precisions.size())];
  InferenceOptions options{.features = *rc::gen::element(FeatureStorage::sparse, FeatureStorage::dense),
                           .graph = *rc::gen::element(GraphFormat::automatic, GraphFormat::csr, GraphFormat::tiles),
                           .tile_dim = *rc::gen::element(8, 64),
                           .order = *rc::gen::element(Order::original, Order::reverse_cuthill_mckee, Order::degree)};
  const bool reserved = *rc::gen::arbitrary<bool>();
  if (reserved) options.capacity = {most_nodes, most_entries};
  if (*rc::gen::arbitrary<bool>()) options.launching = Launching::steps;
  const float density = *rc::gen::element(0.01F, 0.04F, 0.5F);
  State state{random_graph(*rc::gen::inRange<NodeId>(1, 50), 100, *rc::gen::arbitrary<std::uint32_t>()),
              {},
              *rc::gen::arbitrary<bool>()};
  state.x = random_rows(state.graph.nrows(), 5, density);
  const Dataset first = state.dataset();  // plans in parts walk over its graph
  const ModelKind kind{.architecture = architecture,
                       .precision = precision,
                       .hidden = *rc::gen::element<std::size_t>(7, 64),
                       .depth = *rc::gen::inRange<std::size_t>(1, 4),
                       .normalize_rows = *rc::gen::arbitrary<bool>(),
                       .mean = *rc::gen::arbitrary<bool>()};
  Model model = kind.some_model(first);
  if (options.graph == GraphFormat::automatic && *rc::gen::arbitrary<bool>()) {
    options.memory = predict_memory(model, first, options, device).bytes - 1;
    try {
      static_cast<void>(predict_memory(model, first, options, device));
    } catch (const Error&) {
      options.memory = 0;  // too little for any number of parts
    }
  }
  InferencePlan plan(model, first, options, device);
  RC_LOG() << to_string(architecture) << " " << to_string(precision) << ", " << model.layers.size() << " layers, "
           << options.describe() << ", " << plan.feature_format() << (state.dense ? " of dense ones" : "")
           << (reserved ? ", reserved" : "") << (model.normalize_rows ? ", normalized" : "") << ", "
           << plan.predicted().parts << " parts\n";
  const bool rounds = !device.is_host() && plan.predicted().parts > 1;
  for (int update = 0; update < 5; ++update) {
    const bool trained_on = *rc::gen::arbitrary<bool>(), at_once = *rc::gen::arbitrary<bool>();
    if (trained_on) model = kind.some_model(first);
    if (trained_on && at_once) plan.set_weights(model);
    if (*rc::gen::arbitrary<bool>()) update_features(plan, state, *rc::gen::element(density, 0.02F, 0.6F));
    if (*rc::gen::arbitrary<bool>()) update_graph(plan, state, reserved);
    if (trained_on && !at_once) plan.set_weights(model);
    const Dataset changed = state.dataset();
    InferenceOptions anew = options;
    anew.memory = 0;
    if (anew.capacity.nodes == 0 && *rc::gen::arbitrary<bool>()) anew.capacity.nodes = 1;
    InferencePlan fresh(model, changed, anew, device);
    const DenseMatrix<float>& expected = fresh.run();
    RC_LOG() << "update " << update << ": " << changed.graph.nrows() << " nodes, " << changed.graph.nvals()
             << " entries, " << plan.feature_format() << "; a new plan: " << fresh.feature_format() << "\n";
    for (int repeat = 0; repeat < 2; ++repeat)
      RC_ASSERT((rounds ? nearly_same(plan.run(), expected) : same_bits(plan.run(), expected)));
    // Levels that were sparse are dense once some of them have changed.
    if (!model.has_levels()) RC_ASSERT(plan.feature_format() == fresh.feature_format());
  }
}

const std::vector<Precision> presets{Precision::real, Precision::full, Precision::bin};
const std::vector<Precision> of_levels{Precision::of_levels(8, 8, 8),  Precision::of_levels(8, 4, 2),
                                       Precision::of_levels(1, 1, 1),  Precision::of_levels(16, 16, 16),
                                       Precision::of_levels(8, 8, 32), Precision::of_levels(32, 32, 8)};

TEST(PlanUpdates, GiveTheBitsOfANewPlan) {
  for (const int threads : {1, 3}) {
    EXPECT_TRUE(rc::check([&] { check_updates(Device::host(threads), presets); }));
  }
}

TEST(PlanUpdates, OfModelsOfLevelsGiveTheBitsOfANewPlan) {
  for (const int threads : {1, 3}) {
    EXPECT_TRUE(rc::check([&] { check_updates(Device::host(threads), of_levels); }));
  }
}

TEST(PlanUpdates, GiveTheBitsOfANewPlanOnADevice) {
  BITGRAPH_REQUIRE_CUDA();
  for (const auto& precisions : {presets, of_levels}) {
    EXPECT_TRUE(rc::check([&] { check_updates(*test::cuda_device(), precisions); }));
  }
}

/// Signs that came sparse are kept dense while that is smaller: they are counted once, and then row by row.
TEST(PlanUpdates, TheFormatFollowsManyRowsAtOnce) {
  const Model model = random_model(Architecture::gcn, Precision::full, width, 16, 5, 2, 1);
  State state{random_graph(20, 40, 1), random_rows(20, 1, 0.5F), false};
  const Dataset first = state.dataset();
  InferencePlan plan(model, first);
  EXPECT_EQ(plan.feature_format(), "bits");
  const auto set = [&](const std::vector<NodeId>& nodes, const DenseMatrix<float>& rows) {
    plan.set_features(nodes, sparse_features(rows));
    assign_rows(state, nodes, rows);
    const Dataset changed = state.dataset();
    InferencePlan fresh(model, changed);
    EXPECT_EQ(plan.feature_format(), fresh.feature_format());
    EXPECT_TRUE(same_bits(plan.run(), fresh.run()));
  };
  set({3}, random_rows(1, 2, 0.5F));
  std::vector<NodeId> most(19);
  std::iota(most.begin(), most.end(), NodeId{1});
  set(most, DenseMatrix<float>(19, width));
  EXPECT_EQ(plan.feature_format(), "sparse bits");
  set(most, random_rows(19, 3, 0.5F));
  EXPECT_EQ(plan.feature_format(), "bits");
}

/// A plan over 6 nodes and 10 entries, with room for 7 and 12.
struct Small {
  State state{csr_from_edges(6, 6, std::vector<NodeId>{0, 1, 2, 3, 4}, std::vector<NodeId>{1, 2, 3, 4, 5},
                             {.symmetrize = true}),
              random_rows(6, 1, 0.5F), true};
  Model model = random_model(Architecture::sage, Precision::bin, width, 16, 3, 2, 1);
  InferencePlan plan{model, state.dataset(), InferenceOptions{.capacity = {7, 12}}, Device::host(1)};
};

ErrorCode code_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::internal;
}

TEST(PlanUpdates, WhatDoesNotFitIsRefusedAndChangesNothing) {
  Small small;
  InferencePlan& plan = small.plan;
  const DenseMatrix<float> before = plan.run().clone();
  const std::vector<NodeId> twice{2, 2}, absent{6}, zero{0}, one{1}, two{2}, three{3};
  EXPECT_EQ(code_of([&] { plan.set_features(DenseMatrix<float>(5, width)); }), ErrorCode::usage);
  EXPECT_EQ(code_of([&] { plan.set_features(DenseMatrix<float>(6, width + 1)); }), ErrorCode::usage);
  EXPECT_EQ(code_of([&] { plan.set_features(twice, DenseMatrix<float>(2, width)); }), ErrorCode::usage);
  EXPECT_EQ(code_of([&] { plan.set_features(absent, DenseMatrix<float>(1, width)); }), ErrorCode::usage);
  EXPECT_EQ(code_of([&] { plan.set_features(zero, DenseMatrix<float>(2, width)); }), ErrorCode::usage);
  for (const float wrong : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    DenseMatrix<float> x = random_rows(6, 2, 0.5F);
    x(3, width - 1) = wrong;
    EXPECT_EQ(code_of([&] { plan.set_features(x.clone()); }), ErrorCode::bad_input);
    EXPECT_EQ(code_of([&] { plan.set_features(sparse_features(x)); }), ErrorCode::bad_input);
    DenseMatrix<float> row(1, width);
    row(0, 0) = wrong;
    EXPECT_EQ(code_of([&] { plan.set_features(zero, row); }), ErrorCode::bad_input);
  }
  EXPECT_EQ(code_of([&] { plan.set_graph(random_graph(8, 4, 1)); }), ErrorCode::not_possible);
  EXPECT_EQ(code_of([&] { plan.set_graph(random_graph(7, 200, 1)); }), ErrorCode::not_possible);
  EXPECT_EQ(code_of([&] { plan.set_graph(CsrPattern(2, 3, Buffer<EdgeOffset>(3, 0), {})); }), ErrorCode::usage);
  EXPECT_EQ(code_of([&] {
              plan.set_graph(CsrPattern(2, 2, Buffer<EdgeOffset>{0, 1, 1}, Buffer<NodeId>{7}));
            }),
            ErrorCode::bad_input);
  EXPECT_EQ(code_of([&] { static_cast<void>(plan.add_nodes(2)); }), ErrorCode::not_possible);
  EXPECT_EQ(code_of([&] { plan.add_edges(zero, zero); }), ErrorCode::usage);
  EXPECT_EQ(code_of([&] { plan.add_edges(zero, absent); }), ErrorCode::usage);
  EXPECT_EQ(code_of([&] { plan.add_edges(twice, zero); }), ErrorCode::usage);
  plan.add_edges(zero, two);
  EXPECT_EQ(code_of([&] { plan.add_edges(one, three); }), ErrorCode::not_possible) << "12 entries are there";
  plan.set_graph(small.state.graph.clone());
  EXPECT_TRUE(same_bits(plan.run(), before));
  EXPECT_EQ(plan.num_nodes(), 6U);
}

TEST(PlanUpdates, OfLevelsKeepTheirFeaturesWhereNewOnesAreNotFinite) {
  for (const bool dense : {false, true}) {
    State state{random_graph(20, 40, 1), random_rows(20, 1, 0.04F), dense};
    const Model model =
        quantize(random_model(Architecture::sage, Precision::real, width, 16, 3, 2, 1), state.dataset());
    InferencePlan plan(model, state.dataset());
    const DenseMatrix<float> before = plan.run().clone();
    const std::vector<NodeId> one{7};
    for (const float wrong : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
      DenseMatrix<float> x = random_rows(20, 2, 0.5F);
      x(3, width - 1) = wrong;
      EXPECT_EQ(code_of([&] { plan.set_features(x); }), ErrorCode::bad_input);
      EXPECT_EQ(code_of([&] { plan.set_features(sparse_features(x)); }), ErrorCode::bad_input);
      EXPECT_EQ(code_of([&] { plan.set_features(x.clone()); }), ErrorCode::bad_input);
      DenseMatrix<float> row(1, width);
      row(0, 0) = wrong;
      EXPECT_EQ(code_of([&] { plan.set_features(one, row); }), ErrorCode::bad_input);
      EXPECT_EQ(code_of([&] { plan.set_features(one, sparse_features(row)); }), ErrorCode::bad_input);
      EXPECT_EQ(code_of([&] { plan.set_features(one, DenseMatrix<float>(1, width + 1)); }), ErrorCode::usage);
    }
    EXPECT_TRUE(same_bits(plan.run(), before));
  }
}

TEST(PlanUpdates, NewNodesNeedCapacity) {
  Small small;
  InferencePlan plan(small.model, small.state.dataset());
  test::expect_error([&] { static_cast<void>(plan.add_nodes(1)); }, ErrorCode::not_possible,
                     "the plan has no room for nodes and edges: make it with InferenceOptions::capacity");
}

TEST(PlanUpdates, MemoryIsPredictedForTheCapacity) {
  State state{random_graph(1000, 4000, 1), random_rows(1000, 2, 0.5F), true};
  const Model model = random_model(Architecture::gcn, Precision::bin, width, 64, 5, 2, 1);
  const Device device = Device::host(1);
  const InferenceOptions options{.capacity = {1100, 10000}};
  const std::size_t predicted = predict_memory(model, state.dataset(), options, device).bytes;
  InferencePlan plan(model, state.dataset(), options, device);
  plan.run();
  for (NodeId added = 0; added < 100; ++added) {
    const std::vector<NodeId> node{plan.add_nodes(1)}, neighbor{added};
    plan.add_edges(node, neighbor);
    plan.set_features(node, random_rows(1, added, 0.5F));
    plan.run();
  }
  EXPECT_EQ(plan.num_nodes(), 1100U);
  EXPECT_NEAR(static_cast<double>(predicted), static_cast<double>(device.memory().peak),
              0.15 * static_cast<double>(device.memory().peak));
}

TEST(PlanUpdates, MemoryOfLevelsIsPredictedForTheCapacity) {
  for (const bool dense : {true, false}) {
    State state{random_graph(1000, 4000, 1), random_rows(1000, 2, dense ? 0.5F : 0.02F), dense};
    const Dataset data = state.dataset();
    const Model model = quantize(random_model(Architecture::gcn, Precision::real, width, 64, 5, 2, 1), data);
    const Device device = Device::host(1);
    const InferenceOptions options{.capacity = {1100, 10000}};
    const std::size_t predicted = predict_memory(model, data, options, device).bytes;
    InferencePlan plan(model, data, options, device);
    plan.run();
    for (NodeId added = 0; added < 100; ++added) {
      const std::vector<NodeId> node{plan.add_nodes(1)}, neighbor{added};
      plan.add_edges(node, neighbor);
      plan.set_features(node, random_rows(1, added, 0.02F));
      plan.run();
    }
    EXPECT_NEAR(static_cast<double>(predicted), static_cast<double>(device.memory().peak),
                0.15 * static_cast<double>(device.memory().peak))
        << plan.feature_format();
  }
}

TEST(Softmax, RowsAreProbabilitiesWhateverTheSizeOfTheLogits) {
  const DenseMatrix<float> p = softmax(DenseMatrix<float>(3, 3, Buffer<float>{0, 0, 0, 1e4F, 0, -1e4F, 1, 2, 3}));
  for (std::size_t c = 0; c < 3; ++c) EXPECT_FLOAT_EQ(p(0, c), 1.0F / 3);
  EXPECT_EQ(p(1, 0), 1);
  EXPECT_EQ(p(1, 2), 0);
  EXPECT_FLOAT_EQ(p(2, 2) / p(2, 1), std::exp(1.0F));
  EXPECT_FLOAT_EQ(p(2, 0) + p(2, 1) + p(2, 2), 1);
  EXPECT_EQ(softmax(DenseMatrix<float>(0, 3)).nrows(), 0U);
}

}  // namespace
}  // namespace bitgraph::nn
