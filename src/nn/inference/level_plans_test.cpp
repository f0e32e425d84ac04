// SPDX-License-Identifier: Apache-2.0
// Plans of models of levels, beside the model in plain double arithmetic and beside one another.
#include <bitgraph/nn/infer.hpp>
#include <bitgraph/nn/quantize.hpp>

#include "nn/inference/input_features.hpp"
#include "support/cuda_device.hpp"
#include "support/everywhere.hpp"
#include "support/level_models.hpp"
#include "support/near_logits.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph::nn {
namespace {

using Floats = DenseMatrix<float>;
using test::LevelData;
using test::LevelModel;

const Dataset& sparse_data() {
  static const Dataset data = test::level_data({});
  return data;
}

const Dataset& dense_data() {
  static const Dataset data = test::level_data({.density = 1, .seed = 2});
  return data;
}

/// Rows have neighbours enough for the graph to be most of what a plan holds.
const Dataset& large_data() {
  static const Dataset data = test::level_data({.nodes = 300, .edges = 9000, .below_zero = false, .seed = 3});
  return data;
}

/// So many features that a CUDA device multiplies their entries.
const Dataset& wide_data() {
  static const Dataset data =
      test::level_data({.nodes = 300, .features = 700, .edges = 900, .density = 0.01, .seed = 4});
  return data;
}

Floats logits_of(const Model& model, const Dataset& data, const InferenceOptions& options,
                 const Device& device = Device::host(1)) {
  InferencePlan plan(model, data, options, device);
  return plan.run().to(Device());
}

/// The same bits where all sums are of whole numbers; else floats are added up in another order, and a level may turn:
/// one of 255, which changes some logits a little.
void expect_same(const Floats& actual, const Floats& expected, const Precision& precision) {
  if (!test::is_of_whole_numbers(precision)) {
    ASSERT_LT(test::distance(actual, expected), 0.02F);
  } else {
    test::expect_identical(actual.values(), expected.values());
  }
}

/// The plan's logits are those of plain arithmetic, all of them. A value that lies halfway between two levels may
/// become the one or the other, so it is enough that one of three models has none such.
template <class MakeModel>
void expect_plain_arithmetic(const Dataset& data, const MakeModel& model_of_seed) {
  constexpr float most = 1e-4F;
  float least = INFINITY;
  for (std::uint64_t seed = 7; seed < 10 && !(least <= most); ++seed) {
    const Model model = model_of_seed(seed);
    const Floats expected = emulate(model, data, model.layer_forms(model.precision));
    least = std::min(least, test::distance(logits_of(model, data, {}), expected));
  }
  EXPECT_LE(least, most);
}

TEST(LevelPlans, MatchPlainArithmetic) {
  for (const Dataset* data : {&sparse_data(), &dense_data()}) {
    test::for_each_level_model([&](LevelModel model, const Precision& precision) {
      expect_plain_arithmetic(*data, [&](std::uint64_t seed) {
        model.seed = seed;
        return model.in_levels(*data, precision);
      });
    });
  }
}

TEST(LevelPlans, OfOneAndOfThreeConvolutionsMatchPlainArithmetic) {
  const Dataset data = test::level_data({.nodes = 30, .below_zero = false, .seed = 4});
  for (const std::size_t depth : {1, 3}) {
    for (const Architecture architecture : all_architectures()) {
      for (const char* const name : {"w8a8", "w4a4", "w8a8m32"}) {
        SCOPED_TRACE(std::string(to_string(architecture)) + " " + name);
        expect_plain_arithmetic(data, [&](std::uint64_t seed) {
          const LevelModel model{
              .architecture = architecture, .hidden = 7, .depth = depth, .normalize_rows = true, .seed = seed};
          return model.in_levels(data, precision_from_string(name));
        });
      }
    }
  }
}

/// Of gin the first form is that of a whole convolution, and then of its sum alone.
TEST(LevelPlans, FormsOfLayersMayDiffer) {
  const char* const names[] = {"float", "w8a8", "w4a8m32", "w32a32m4", "w2a9m8"};
  for (const char* const first : names) {
    for (const char* const last : names) {
      if (std::string("float") == first && std::string("float") == last) continue;
      const Precision a = precision_from_string(first), b = precision_from_string(last);
      const std::pair<Architecture, std::vector<Precision>> cases[] = {{Architecture::gcn, {a, b}},
                                                                       {Architecture::sage, {a, b}},
                                                                       {Architecture::gin, {a, a, b, b}},
                                                                       {Architecture::gin, {a, b, b, a}}};
      for (const auto& [architecture, forms] : cases) {
        SCOPED_TRACE(std::string(to_string(architecture)) + ", " + first + ", " + last);
        expect_plain_arithmetic(sparse_data(), [&, of = architecture, &f = forms](std::uint64_t seed) {
          const LevelModel model{.architecture = of, .seed = seed};
          return quantize(model.in_floats(sparse_data()), sparse_data(), {.forms = f});
        });
      }
    }
  }
}

TEST(LevelPlans, SparseFeaturesGiveTheBitsOfDenseOnes) {
  Dataset dense = test::level_data({});
  dense.dense_features = Floats(dense.graph.nrows(), dense.num_features());
  for (NodeId i = 0; i < dense.graph.nrows(); ++i) {
    const auto row = dense.features.pattern.row(i);
    for (std::size_t e = 0; e < row.size(); ++e)
      dense.dense_features(i, row[e]) = dense.features.values[dense.features.pattern.row_ptr()[i] + e];
  }
  dense.features = {};
  test::for_each_level_model([&](const LevelModel& model, const Precision& precision) {
    const Model made = model.in_levels(sparse_data(), precision);
    InferencePlan sparse(made, sparse_data(), {.features = FeatureStorage::sparse}, Device::host(1));
    InferencePlan levels(made, sparse_data(), {.features = FeatureStorage::dense}, Device::host(1));
    const bool multiplies = precision.multiplies_levels();
    const std::string bits = std::to_string(precision.input.bits);
    EXPECT_EQ(sparse.feature_format(), multiplies ? "sparse levels of " + bits + " bits" : "sparse float");
    EXPECT_EQ(levels.feature_format(), multiplies ? "levels of " + bits + " bits" : "float");
    const Floats expected = sparse.run().clone();
    expect_same(levels.run(), expected, precision);
    expect_same(logits_of(made, dense, {}), expected, precision);
  });
}

TEST(LevelPlans, PartsGiveTheBitsOfTheWhole) {
  test::for_each_level_model([](const LevelModel& model, const Precision& precision) {
    const Model made = model.in_levels(large_data(), precision);
    InferencePlan whole(made, large_data(), {}, Device::host(1));
    const Floats expected = whole.run().clone();
    const Device device = Device::host(2);
    InferencePlan parts(made, large_data(), {.memory = whole.predicted().bytes - large_data().graph.bytes() / 2},
                        device);
    EXPECT_GT(parts.predicted().parts, 1U);
    expect_same(parts.run(), expected, precision);
    expect_same(parts.run(), expected, precision);
    const auto peak = static_cast<double>(device.memory().peak);
    EXPECT_NEAR(static_cast<double>(parts.predicted().bytes), peak, 0.02 * peak);
  });
}

/// Tiles of the graph that meet bit planes.
const InferenceOptions over_tiles{.graph = GraphFormat::tiles, .tile_dim = 64};

std::ptrdiff_t count_of(const InferencePlan& plan, const std::string& part) {
  const auto steps = plan.steps();
  return std::ranges::count_if(steps, [&](const std::string& step) { return step.find(part) != std::string::npos; });
}

TEST(LevelPlans, TilesGiveTheBitsOfThePattern) {
  for (const Dataset* data : {&sparse_data(), &large_data()}) {
    test::for_each_level_model([&](const LevelModel& model, const Precision& precision) {
      const Model made = model.in_levels(*data, precision);
      InferencePlan csr(made, *data, {}, Device::host(1));
      const Floats expected = csr.run().clone();
      InferencePlan tiles(made, *data, over_tiles, Device::host(2));
      EXPECT_EQ(count_of(tiles, ", tiles"), count_of(csr, ", sparse"));
      EXPECT_EQ(count_of(tiles, ", sparse"), 0);
      EXPECT_EQ(count_of(tiles, ", tiles") > 0, precision.sums_levels());
      test::expect_identical(tiles.run().values(), expected.values());
      test::expect_identical(tiles.run().values(), expected.values());
    });
  }
}

/// Of the 300 nodes all 25 tiles have entries: each is read once, and the planes of 64 rows for it.
TEST(LevelPlans, BytesOfTilesAreExplained) {
  const Model made = LevelModel{}.in_levels(large_data(), Precision::of_levels(4, 4, 4));
  InferencePlan plan(made, large_data(), over_tiles, Device::host(1));
  const auto operators = plan.explain(1);
  const auto sum = std::ranges::find(operators, "bitMM2Bit, tiles", &ExplainedOperator::name);
  ASSERT_NE(sum, operators.end());
  EXPECT_NE(sum->kernel.find("plane_gemm"), std::string::npos) << sum->kernel;
  constexpr double rows = 300, slabs = 3, octets = 2, tile = 64 * 8 + 4, octet = 4 * 8 * 16;
  const double planes = slabs * octets * octet, slice = octets * octet / 2;
  EXPECT_EQ(sum->bytes, 2 * rows * 8 + planes + 25 * (tile + slice));
}

TEST(LevelPlans, TilesOfOtherSidesAndPartsTakeThePattern) {
  const LevelModel model{.architecture = Architecture::sage};
  const Model made = model.in_levels(large_data(), Precision::of_levels(4, 4, 4));
  InferencePlan small(made, large_data(), {.graph = GraphFormat::tiles, .tile_dim = 32}, Device::host(1));
  EXPECT_EQ(count_of(small, ", tiles"), 0);
  const Floats expected = small.run().clone();
  InferencePlan whole(made, large_data(), over_tiles, Device::host(1));
  InferenceOptions limited = over_tiles;
  limited.memory = whole.predicted().bytes - large_data().graph.bytes() / 2;
  InferencePlan parts(made, large_data(), limited, Device::host(1));
  EXPECT_GT(parts.predicted().parts, 1U);
  EXPECT_EQ(count_of(parts, ", tiles"), 0);
  test::expect_identical(parts.run().values(), expected.values());
}

TEST(LevelPlans, TilesGiveTheSameBitsInAllOrdersAndOnAllInstructionSets) {
  const Precision w3a5m7 = precision_from_string("w3a5m7");
  for (const Architecture architecture : {Architecture::gcn, Architecture::sage, Architecture::gin}) {
    SCOPED_TRACE(to_string(architecture));
    const Model made = LevelModel{.architecture = architecture}.in_levels(large_data(), w3a5m7);
    const Floats expected = logits_of(made, large_data(), {});
    for (const Order order : {Order::degree, Order::community}) {
      InferenceOptions options = over_tiles;
      options.order = order;
      test::expect_identical(logits_of(made, large_data(), options).values(), expected.values());
    }
    test::everywhere([&](const Device& device) {
      test::expect_identical(logits_of(made, large_data(), over_tiles, device).values(), expected.values());
    });
  }
}

TEST(LevelPlans, MemoryOfTilesIsPredictedWithinTwoPercent) {
  test::for_each_level_model([](const LevelModel& model, const Precision& precision) {
    const Model made = model.in_levels(large_data(), precision);
    const Device device = Device::host(1);
    const auto predicted = static_cast<double>(predict_memory(made, large_data(), over_tiles, device).bytes);
    EXPECT_EQ(device.memory().allocations, 0U);
    InferencePlan plan(made, large_data(), over_tiles, device);
    plan.run();
    const auto peak = static_cast<double>(device.memory().peak);
    EXPECT_NEAR(predicted, peak, 0.02 * peak);
    const std::size_t before = device.memory().allocations;
    plan.run();
    EXPECT_EQ(device.memory().allocations, before);
  });
}

TEST(LevelPlans, TilesOnADeviceGiveTheBitsOfTheHost) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  for (const Dataset* data : {&sparse_data(), &large_data(), &wide_data()}) {
    test::for_each_level_model([&](const LevelModel& model, const Precision& precision) {
      const Model made = model.in_levels(*data, precision);
      const Floats expected = logits_of(made, *data, {});
      for (const Launching launching : {Launching::automatic, Launching::steps, Launching::graph}) {
        InferenceOptions options = over_tiles;
        options.launching = launching;
        InferencePlan plan(made, *data, options, device);
        EXPECT_EQ(count_of(plan, ", sparse"), 0);
        for (int run = 0; run < 3; ++run) expect_same(plan.run().to(Device()), expected, precision);
      }
    });
  }
}

TEST(LevelPlans, MemoryOfTilesOnADeviceIsPredictedWithinTwoPercent) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  test::for_each_level_model([&](const LevelModel& model, const Precision& precision) {
    if (!test::is_of_whole_numbers(precision)) return;
    const Model made = model.in_levels(large_data(), precision);
    const auto predicted = static_cast<double>(predict_memory(made, large_data(), over_tiles, device).bytes);
    const std::size_t before = device.memory().live;
    device.reset_peak();
    InferencePlan plan(made, large_data(), over_tiles, device);
    plan.run();
    const auto peak = static_cast<double>(device.memory().peak - before);
    EXPECT_NEAR(predicted, peak, 0.02 * peak);
  });
}

/// Tiles have some 720 entries: enough for messages of 4 bits. Those of the last layer have 8. A CUDA graph is asked
/// for, since one launch has no tiles.
TEST(LevelPlans, FullTilesAreTakenOnADevice) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  const Model made = LevelModel{}.in_levels(large_data(), Precision::of_levels(4, 4, 4));
  const Floats expected = logits_of(made, large_data(), {});
  for (const GraphFormat format : {GraphFormat::automatic, GraphFormat::csr}) {
    const InferenceOptions options{.graph = format, .launching = Launching::graph};
    const auto predicted = static_cast<double>(predict_memory(made, large_data(), options, device).bytes);
    const std::size_t before = device.memory().live;
    device.reset_peak();
    InferencePlan plan(made, large_data(), options, device);
    EXPECT_EQ(count_of(plan, ", tiles"), format == GraphFormat::csr ? 0 : 1);
    test::expect_identical(plan.run().to(Device()).values(), expected.values());
    const auto peak = static_cast<double>(device.memory().peak - before);
    EXPECT_NEAR(predicted, peak, 0.02 * peak);
  }
}

TEST(LevelPlans, ThreadsOrdersAndInstructionSetsGiveTheSameBits) {
  test::for_each_level_model([](const LevelModel& model, const Precision& precision) {
    const Model made = model.in_levels(sparse_data(), precision);
    const Floats expected = logits_of(made, sparse_data(), {});
    for (const Order order : {Order::degree, Order::reverse_cuthill_mckee, Order::community}) {
      for (const FeatureStorage storage : {FeatureStorage::sparse, FeatureStorage::dense})
        expect_same(logits_of(made, sparse_data(), {.features = storage, .order = order}), expected, precision);
    }
    test::everywhere(
        [&](const Device& device) { expect_same(logits_of(made, sparse_data(), {}, device), expected, precision); });
  });
}

TEST(LevelPlans, ADeviceGivesTheBitsOfTheHost) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  for (const Dataset* data : {&sparse_data(), &dense_data(), &large_data(), &wide_data()}) {
    test::for_each_level_model([&](const LevelModel& model, const Precision& precision) {
      const Model made = model.in_levels(*data, precision);
      const Floats expected = logits_of(made, *data, {});
      for (const Launching launching : {Launching::automatic, Launching::steps, Launching::graph}) {
        InferencePlan plan(made, *data, {.launching = launching}, device);
        for (int run = 0; run < 3; ++run) expect_same(plan.run().to(Device()), expected, precision);
      }
      const Floats parts = logits_of(made, *data, {.order = Order::degree}, device);
      expect_same(parts, expected, precision);
    });
  }
}

TEST(LevelPlans, ADeviceKeepsTheEntriesOfWideFeatures) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  test::for_each_level_model([&](const LevelModel& model, const Precision& precision) {
    if (!precision.multiplies_levels()) return;
    const Model made = model.in_levels(wide_data(), precision);
    InferencePlan sparse(made, wide_data(), {}, device);
    InferencePlan dense(made, wide_data(), {.features = FeatureStorage::dense}, device);
    const std::string bits = std::to_string(precision.input.bits);
    EXPECT_EQ(sparse.feature_format(), "sparse levels of " + bits + " bits");
    EXPECT_EQ(dense.feature_format(), "levels of " + bits + " bits");
    expect_same(sparse.run().to(Device()), dense.run().to(Device()), precision);
    const auto kernels = sparse.explain(1);
    EXPECT_TRUE(std::ranges::any_of(kernels, [](const ExplainedOperator& op) {
      return op.kernel.find("level_gemm_entries") != std::string::npos;
    }));
  });
}

/// Entries enough for sums of two bits to be those of planes. A plan with a limit of memory has none.
TEST(LevelPlans, SumsByPlanesOfADeviceGiveTheSameBits) {
  BITGRAPH_REQUIRE_CUDA();
  const Dataset data = test::level_data({.nodes = 40'000, .features = 40, .edges = 450'000, .seed = 5});
  for (const Architecture architecture : {Architecture::gcn, Architecture::inductive_gcn, Architecture::gin}) {
    const LevelModel model{.architecture = architecture, .hidden = 128};
    const Model made = model.in_levels(data, Precision::of_levels(2, 2, 2));
    InferencePlan planes(made, data, {}, *test::cuda_device());
    EXPECT_TRUE(std::ranges::any_of(
        planes.explain(1), [](const auto& op) { return op.kernel.find("level_spmm_planes") != std::string::npos; }));
    const Floats expected = logits_of(made, data, {.memory = std::size_t{1} << 34}, *test::cuda_device());
    test::expect_identical(planes.run().to(Device()).values(), expected.values());
  }
}

/// Levels that were sparse become dense.
TEST(LevelPlans, FeaturesOfADeviceChange) {
  BITGRAPH_REQUIRE_CUDA();
  const std::vector<NodeId> nodes{0, 7, 299};
  const Dataset other = test::level_data({.nodes = 300, .features = 700, .density = 0.02, .seed = 9});
  const Floats rows_of_all = dense_features(other.features, other.features.values.span(), Device());
  Floats rows(nodes.size(), wide_data().num_features());
  Floats x = dense_features(wide_data().features, wide_data().features.values.span(), Device());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::ranges::copy(rows_of_all.row(nodes[i]), rows.row(i).begin());
    std::ranges::copy(rows_of_all.row(nodes[i]), x.row(nodes[i]).begin());
  }
  Dataset changed = test::level_data({.nodes = 300, .features = 700, .edges = 900, .density = 0.01, .seed = 4});
  changed.features = sparse_features(x);
  test::for_each_level_model([&](const LevelModel& model, const Precision& precision) {
    const Model made = model.in_levels(wide_data(), precision);
    InferencePlan plan(made, wide_data(), {}, *test::cuda_device());
    expect_same(plan.run().to(Device()), logits_of(made, wide_data(), {}), precision);
    plan.set_features(nodes, rows);
    expect_same(plan.run().to(Device()), logits_of(made, changed, {}), precision);
  });
}

TEST(LevelPlans, ARepeatedRunAllocatesNothing) {
  test::for_each_level_model([](const LevelModel& model, const Precision& precision) {
    const Model made = model.in_levels(sparse_data(), precision);
    const Device device = Device::host(1);
    InferencePlan plan(made, sparse_data(), {}, device);
    const Floats first = plan.run().clone();
    const std::size_t before = device.memory().allocations;
    test::expect_identical(plan.run().values(), first.values());
    EXPECT_EQ(device.memory().allocations, before);
  });
}

/// 65,535 steps lose next to nothing.
TEST(LevelPlans, SixteenBitsAreNearTheFloatModel) {
  for (const Dataset* data : {&sparse_data(), &dense_data()}) {
    for (const Architecture architecture : all_architectures()) {
      for (const bool jumping : {false, true}) {
        const LevelModel model{.architecture = architecture, .jumping_knowledge = jumping};
        SCOPED_TRACE(model.name());
        const Floats floats = logits_of(model.in_floats(*data), *data, {});
        const Model made = model.in_levels(*data, Precision::of_levels(16, 16, 16));
        EXPECT_LT(test::distance(logits_of(made, *data, {}), floats), 1e-3F);
      }
    }
  }
}

TEST(LevelPlans, AFileGivesTheSameModel) {
  const test::TemporaryFolder folder;
  test::for_each_level_model([&](const LevelModel& model, const Precision& precision) {
    const Model made = model.in_levels(sparse_data(), precision);
    made.save(folder / "a");
    const Model read = Model::load(folder / "a");
    EXPECT_EQ(read.fingerprint(), made.fingerprint());
    EXPECT_EQ(read.precision, made.precision);
    EXPECT_EQ(read.bytes(), made.bytes());
    for (std::size_t l = 0; l < made.layers.size(); ++l) EXPECT_EQ(read.layers[l].precision, made.layers[l].precision);
    test::expect_identical(logits_of(read, sparse_data(), {}).values(), logits_of(made, sparse_data(), {}).values());
    read.save(folder / "b");
    EXPECT_EQ(test::contents(folder / "a"), test::contents(folder / "b"));
  });
}

TEST(LevelPlans, MemoryIsPredictedWithinTwoPercent) {
  test::for_each_level_model([](const LevelModel& model, const Precision& precision) {
    for (const bool dense : {false, true}) {
      const Dataset& data = dense ? dense_data() : large_data();
      const Model made = model.in_levels(data, precision);
      for (const FeatureStorage storage : {FeatureStorage::sparse, FeatureStorage::dense}) {
        for (const Order order : {Order::original, Order::degree}) {
          const InferenceOptions options{.features = storage, .order = order};
          const Device device = Device::host(1);
          const auto predicted = static_cast<double>(predict_memory(made, data, options, device).bytes);
          EXPECT_EQ(device.memory().allocations, 0U);
          InferencePlan plan(made, data, options, device);
          plan.run();
          const auto peak = static_cast<double>(device.memory().peak);
          EXPECT_NEAR(predicted, peak, 0.02 * peak) << plan.feature_format() << (dense ? ", dense" : "");
        }
      }
    }
  });
}

TEST(LevelPlans, MemoryOfADeviceIsPredictedWithinTwoPercent) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  test::for_each_level_model([&](const LevelModel& model, const Precision& precision) {
    if (!test::is_of_whole_numbers(precision)) return;
    const Model made = model.in_levels(wide_data(), precision);
    for (const FeatureStorage storage : {FeatureStorage::sparse, FeatureStorage::dense}) {
      const InferenceOptions options{.features = storage};
      const auto predicted = static_cast<double>(predict_memory(made, wide_data(), options, device).bytes);
      const std::size_t before = device.memory().live;
      device.reset_peak();
      InferencePlan plan(made, wide_data(), options, device);
      plan.run();
      const auto peak = static_cast<double>(device.memory().peak - before);
      EXPECT_NEAR(predicted, peak, 0.02 * peak) << plan.feature_format();
    }
  });
}

TEST(LevelPlans, OtherFormsThanTheModelsAreRefused) {
  const LevelModel model;
  const Model floats = model.in_floats(sparse_data());
  const Model w8a8 = model.in_levels(sparse_data(), Precision::of_levels(8, 8, 8));
  const Precision w4a4 = Precision::of_levels(4, 4, 4);
  const auto refuse = [](const Model& of, const std::vector<Precision>& forms, const char* message) {
    test::expect_usage_error([&] { InferencePlan(of, sparse_data(), {.forms = forms}); }, message);
    test::expect_usage_error([&] { static_cast<void>(predict_memory(of, sparse_data(), {.forms = forms})); }, message);
  };
  refuse(w8a8, {w4a4, w4a4}, "runs in its own form alone");
  refuse(w8a8, {Precision::real, Precision::real}, "runs in its own form alone");
  refuse(floats, {w4a4, w4a4}, "a model of precision float has no layer of form w4a4");
  refuse(floats, {Precision::real, Precision::of_levels(32, 32, 8)},
         "a model of precision float has no layer of form w32a32m8");
  test::expect_usage_error([&] { static_cast<void>(w8a8.layer_forms(w4a4)); }, "has no form w4a4");
  test::expect_usage_error([&] { static_cast<void>(floats.layer_forms(w4a4)); }, "has no form w4a4");
}

}  // namespace
}  // namespace bitgraph::nn
