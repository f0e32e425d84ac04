// SPDX-License-Identifier: Apache-2.0
// Files of models of levels that were damaged, or made to do harm; models whose scales do not fit.
#include <bitgraph/nn/infer.hpp>
#include <bitgraph/nn/quantize.hpp>

#include "support/damaged_file.hpp"
#include "support/level_models.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace bitgraph::nn {
namespace {

using test::expect_refused;
using test::metadata;
using test::TemporaryFolder;
using test::with_value;
using test::without_tensor;

/// 61 features: rows of nibbles end in the middle of a byte.
const Dataset& data() {
  static const Dataset made = test::level_data({.features = 61});
  return made;
}

Model model_of(const char* precision) {
  const test::LevelModel model{.architecture = Architecture::sage, .hidden = 5};
  return model.in_levels(data(), precision_from_string(precision));
}

std::function<void(TensorFile&)> with_shape(const std::string& name, std::vector<std::uint64_t> shape) {
  return [=](TensorFile& file) { file.tensors.at(name).shape = shape; };
}

TEST(LevelModelFile, EveryPartIsChecked) {
  const TemporaryFolder folder;
  const auto path = folder / "m.safetensors";
  model_of("w3a5m7").save(path);
  const float nan = std::nanf(""), infinite = std::numeric_limits<float>::infinity();
  const std::string not_finite = " holds a value that is not finite";
  expect_refused(
      path,
      {{without_tensor("layer0.weight"), "the tensor 'layer0.weight' is missing"},
       {without_tensor("layer0.weight_step"), "the tensor 'layer0.weight_step' is missing"},
       {without_tensor("layer1.root_weight_step"), "the tensor 'layer1.root_weight_step' is missing"},
       {without_tensor("layer0.weight_offset"), "the tensor 'layer0.weight_offset' is missing"},
       {without_tensor("layer0.message_step"), "the tensor 'layer0.message_step' is missing"},
       {without_tensor("layer1.message_step"), "the tensor 'layer1.message_step' is missing"},
       {without_tensor("layer1.input_step"), "the tensor 'layer1.input_step' is missing"},
       {with_value("layer0.weight_step", 2, 0.0F),
        "the tensor 'layer0.weight_step': step 2 is 0, expected a positive number"},
       {with_value("layer0.root_weight_step", 0, -0.5F),
        "the tensor 'layer0.root_weight_step': step 0 is -0.5, expected a positive number"},
       {with_value("layer1.input_step", 0, 0.0F),
        "the tensor 'layer1.input_step': step 0 is 0, expected a positive number"},
       {with_value("layer0.message_step", 4, -1.0F),
        "the tensor 'layer0.message_step': step 4 is -1, expected a positive number"},
       {with_value("layer0.weight_step", 2, nan), "the tensor 'layer0.weight_step'" + not_finite},
       {with_value("layer0.weight_offset", 1, infinite), "the tensor 'layer0.weight_offset'" + not_finite},
       {with_value("layer1.message_step", 0, infinite), "the tensor 'layer1.message_step'" + not_finite},
       {with_value("layer0.message_offset", 4, nan), "the tensor 'layer0.message_offset'" + not_finite},
       {with_value("layer1.input_step", 0, nan), "the tensor 'layer1.input_step'" + not_finite},
       {with_value("layer0.weight", 32 + 1, std::uint8_t{0x80}),
        "the tensor 'layer0.weight': quantized matrix: level 8 in row 1, column 3: 3 bits hold at most 7"},
       {with_value("layer0.weight", 4 * 32 + 31, std::uint8_t{1}),
        "the tensor 'layer0.weight': quantized matrix: row 4: a level behind column 61"},
       {with_value("layer0.weight", 30, std::uint8_t{0x10}),
        "the tensor 'layer0.weight': quantized matrix: row 0: a level behind column 61"},
       {with_shape("layer0.weight", {32, 5}), "the tensor 'layer0.weight' is u8 [32, 5], expected u8 [5, 32]"},
       {with_shape("layer0.weight_step", {1, 5}), "the tensor 'layer0.weight_step' is f32 [1, 5], expected f32 [5]"},
       {with_shape("layer0.weight_offset", {5, 1}),
        "the tensor 'layer0.weight_offset' is f32 [5, 1], expected f32 [5]"},
       {with_shape("layer0.message_step", {5, 1}), "the tensor 'layer0.message_step' is f32 [5, 1], expected f32 [5]"},
       {with_shape("layer1.input_step", {}), "the tensor 'layer1.input_step' is f32 [], expected f32 [1]"},
       {[](TensorFile& f) { f.tensors["layer0.weight"].type = ElementType::i8; },
        "the tensor 'layer0.weight' is i8 [5, 32], expected u8 [5, 32]"},
       {[](TensorFile& f) {
          f.tensors["layer0.input_step"] = {ElementType::f32, {1}, f.tensors["layer1.input_step"].data.clone()};
        },
        "the tensor 'layer0.input_step' belongs to no layer that is known here"}},
      [&] { static_cast<void>(Model::load(path)); });
}

TEST(LevelModelFile, FormatsOfLayersAreChecked) {
  const TemporaryFolder folder;
  const auto path = folder / "m.safetensors";
  model_of("w3a5m7").save(path);
  const auto formats = [](const char* name) { return formats_of(precision_from_string(name)); };
  expect_refused(
      path,
      {{metadata("precision", "w0a4"), "unknown precision 'w0a4'"},
       {metadata("precision", "w17a8"), "unknown precision 'w17a8'"},
       {metadata("precision", "w8a32\n"), "unknown precision 'w8a32?'"},
       {metadata("precision", "float"),
        "metadata 'layer0.formats': layer 0 of a model of precision float cannot be of precision w3a5m7"},
       {metadata("precision", "full"),
        "metadata 'layer0.formats': layer 0 of a model of precision full cannot be of precision w3a5m7"},
       {metadata("layer1.formats", formats_of(Precision::full)),
        "metadata 'layer1.formats': layer 1 of a model of precision w3a5m7 cannot be of precision full"},
       {metadata("layer0.formats", "levels99*tensor+offset/levels3*row+offset/levels7*column+offset/float32"),
        "unknown formats of layer 0 'levels99*tensor+offset/levels3*row+offse...'"},
       {metadata("layer0.formats", "levels5*column+offset/levels3*row+offset/levels7*column+offset/float32"),
        "unknown formats of layer 0 'levels5*column+offset/levels3*row+offset...'"},
       {metadata("layer0.formats", formats("w8a5m7")), "the tensor 'layer0.weight' is u8 [5, 32], expected u8 [5, 64]"},
       {metadata("layer0.formats", formats("w1a5m7")),
        "the tensor 'layer0.weight': quantized matrix: level 4 in row 0, column 0: 1 bits hold at most 1"},
       {metadata("layer0.formats", formats("float")), "the tensor 'layer0.weight' is u8 [5, 32], expected f32 [5, 61]"},
       {metadata("layer0.formats", formats("w3a5m32")),
        "the tensor 'layer0.message_offset' belongs to no layer that is known here"},
       {metadata("hidden", "2000000000"), "the tensor 'layer0.weight' is u8 [5, 32], expected u8 [2000000000, 32]"}},
      [&] { static_cast<void>(Model::load(path)); });
}

/// Any byte may be another: the file is refused, or is a model that runs.
TEST(LevelModelFile, ChangedBytesAreRefusedOrHarmless) {
  const TemporaryFolder folder;
  const auto path = folder / "m.safetensors";
  for (const char* const precision : {"w3a5m7", "w16a8m32"}) {
    model_of(precision).save(path);
    const std::string good = test::contents(path);
    std::size_t refused = 0;
    for (std::size_t at = 0; at < good.size(); at += 5) {
      std::string bytes = good;
      bytes[at] = static_cast<char>(bytes[at] ^ static_cast<char>(1U << (at % 8)));
      folder.put("m.safetensors", bytes);
      try {
        const Model model = Model::load(path);
        model.validate();
        InferencePlan plan(model, data(), {}, Device::host(1));
        static_cast<void>(plan.run());
      } catch (const Error& error) {
        EXPECT_NE(error.code(), ErrorCode::internal) << error.what();
        ++refused;
      }
    }
    EXPECT_GT(refused, 0U);
  }
}

TEST(LevelModelFile, EveryCutIsFound) {
  const TemporaryFolder folder;
  const auto path = folder / "m.safetensors";
  model_of("w3a5m7").save(path);
  const std::string good = test::contents(path);
  for (std::size_t size = 0; size < good.size(); size += 7) {
    folder.put("m.safetensors", good.substr(0, size));
    test::expect_error_with([&] { static_cast<void>(Model::load(path)); }, ErrorCode::bad_input, path.string() + ": ");
  }
}

TEST(LevelModelFile, TheFingerprintTellsLevelsAndScales) {
  const Model model = model_of("w3a5m7");
  const auto expect_new = [&](const std::function<void(Model&)>& change) {
    Model other = model_of("w3a5m7");
    ASSERT_EQ(other.fingerprint(), model.fingerprint());
    change(other);
    EXPECT_NE(other.fingerprint(), model.fingerprint());
  };
  expect_new([](Model& m) {
    QuantizedMatrix& w = m.layers[1].root.levels();
    w.set_level(2, 4, w.level(2, 4) ^ 1U);
  });
  expect_new([](Model& m) {
    LevelScale scale = m.layers[0].neighbor.levels().scale().to(Device());
    scale.offsets[3] += 1;
    m.layers[0].neighbor.levels().set_scale(std::move(scale));
  });
  expect_new([](Model& m) { m.layers[1].input_scale.steps[0] *= 2; });
  expect_new([](Model& m) { m.layers[0].message_scale.steps[4] *= 2; });
  expect_new([](Model& m) { m.layers[0].message_scale.offsets[0] += 1; });
}

TEST(Model, ValidateChecksLayersOfLevels) {
  struct Wrong {
    std::function<void(Model&)> change;
    std::string message;
  };
  const auto levels = [](std::size_t nrows, std::size_t ncols, int bits) {
    return quantize(DenseMatrix<float>(nrows, ncols), {.bits = bits, .extent = ScaleExtent::row});
  };
  const std::vector<Wrong> cases{
      {[](Model& m) { m.layers[1].input_scale = {}; }, "layer 1: 0 steps of its inputs"},
      {[](Model& m) { m.layers[0].input_scale = m.layers[1].input_scale.to(Device()); },
       "layer 0: 1 steps of its inputs"},
      {[](Model& m) { m.layers[0].message_scale = {}; }, "layer 0: 0 steps of its messages"},
      {[](Model& m) { m.layers[0].message_scale = m.layers[1].message_scale.to(Device()); },
       "layer 0: 3 steps of its messages"},
      {[](Model& m) { m.layers[0].message_scale.extent = ScaleExtent::row; },
       "layer 0: its messages have steps of another extent"},
      {[](Model& m) { m.layers[0].message_scale.extent = ScaleExtent::none; },
       "layer 0: its messages have steps of another extent"},
      {[](Model& m) { m.layers[0].input_scale.offsets = Buffer<float>(1, 0.0F); },
       "layer 0: 0 steps and 1 offsets of its inputs"},
      {[](Model& m) { m.layers[0].message_scale.steps[1] = 0; }, "step 1 is 0"},
      {[](Model& m) { m.layers[1].input_scale.steps[0] = std::nanf(""); }, "step 0 is nan"},
      {[](Model& m) { m.layers[0].message_scale.offsets = Buffer<float>(2, 0.0F); },
       "layer 0: 5 steps and 2 offsets of its messages"},
      {[&](Model& m) { m.layers[0].neighbor.weight = levels(5, 61, 4); }, "layer 0 has weights in levels4*row+offset"},
      {[](Model& m) { m.layers[0].root.weight = DenseMatrix<float>(5, 61); },
       "layer 0 has weights in float32, expected levels3*row+offset"},
      {[&](Model& m) { m.layers[0].neighbor.weight = levels(5, 60, 3); }, "layer 0 "},
      {[](Model& m) { m.layers[0].neighbor.bias[1] = std::nanf(""); }, "layer 0 has a weight that is infinite"},
      {[](Model& m) { m.layers[1].precision = Precision::full; }, "layer 1 is of precision full"},
      {[](Model& m) { m.precision = Precision::real; },
       "layer 0 is of precision w3a5m7 in a model of precision float"}};
  for (const Wrong& wrong : cases) {
    SCOPED_TRACE(wrong.message);
    Model model = model_of("w3a5m7");
    ASSERT_NO_THROW(model.validate());
    wrong.change(model);
    try {
      model.validate();
      ADD_FAILURE() << "taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::bad_input) << error.what();
      EXPECT_NE(std::string(error.what()).find(wrong.message), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace bitgraph::nn
