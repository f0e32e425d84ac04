// SPDX-License-Identifier: Apache-2.0
// Model files and checkpoints that were damaged, or made to do harm.
#include <bitgraph/graph/generate.hpp>
#include <bitgraph/io/array.hpp>
#include <bitgraph/nn/infer.hpp>
#include <bitgraph/nn/train.hpp>

#include "nn/model/random_model.hpp"
#include "support/damaged_file.hpp"
#include "support/expect_error.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bitgraph::nn {
namespace {

using test::contents;
using test::Damage;
using test::expect_bad_input;
using test::expect_refused;
using test::metadata;
using test::put_value;
using test::TemporaryFolder;

/// 70 features: two words a row, the second with padding.
Dataset planted() {
  return generate_planted_partition({.num_nodes = 60, .num_classes = 3, .num_features = 70, .seed = 1});
}

TrainOptions quick(Precision precision, const std::filesystem::path& checkpoint = {}) {
  TrainOptions options{.precision = precision, .hidden = 5, .epochs = 2, .seed = 9};
  options.checkpoint = checkpoint;
  return options;
}

TEST(ModelFile, EveryPartIsChecked) {
  const TemporaryFolder folder;
  const auto path = folder / "m.safetensors";
  train(planted(), quick(Precision::full), Device::host(1)).model.save(path);
  const float nan = std::nanf("");
  const std::vector<Damage> cases{
      {[](TensorFile& f) { f.metadata.erase("format"); },
       "neither a bitgraph model nor a state dictionary with GCNConv (NAME.lin.weight), SAGEConv (NAME.lin_l.weight), "
       "GraphConv (NAME.lin_rel.weight) or GINConv (NAME.nn.0.weight)"},
      {metadata("format", "another"), "not a bitgraph model"},
      {metadata("version", "\n2\x1B"), "version '?2?', this program reads versions 1 to 3"},
      {metadata("kind", "gat\n"), "unknown kind of model 'gat?'"},
      {metadata("precision", "two\nlines"), "unknown precision 'two?lines'"},
      {metadata("seed", "-1"), "metadata 'seed': '-1' is not a whole number"},
      {metadata("seed", ""), "metadata 'seed': '' is not a whole number"},
      {metadata("num_features", "70 "), "metadata 'num_features': '70 ' is not a whole number"},
      {metadata("num_features", "18446744073709551616"),
       "metadata 'num_features': '18446744073709551616' is not a whole number"},
      {metadata("hidden", "\n"), "metadata 'hidden': '?' is not a whole number"},
      {metadata("normalize_rows", "2"), "normalize_rows is 2, expected 0 or 1"},
      {metadata("depth", "0"), "a depth of 0, expected 1 to 64"},
      {metadata("depth", "65"), "a depth of 65, expected 1 to 64"},
      {metadata("depth", "1"), "the tensor 'layer0.weight' is u64 [5, 2], expected u64 [3, 2]"},
      {metadata("num_features", "0"), "a layer's width is out of range"},
      {metadata("hidden", "1000000000000"), "a layer's width is out of range"},
      {metadata("hidden", "1000000000"), "the tensor 'layer0.weight' is u64 [5, 2], expected u64 [1000000000, 2]"},
      {metadata("num_features", "2147483647"), "the tensor 'layer0.weight' is u64 [5, 2], expected u64 [5, 33554432]"},
      {metadata("num_classes", "4"), "the tensor 'layer1.weight' is u64 [3, 1], expected u64 [4, 1]"},
      {metadata("precision", "float"),
       "metadata 'layer0.formats': layer 0 of a model of precision float cannot be of precision full"},
      {metadata("layer0.formats", "sign*row/sign*row/float32"),
       "unknown formats of layer 0 'sign*row/sign*row/float32'"},
      {metadata("layer1.formats", formats_of(Precision::bin)),
       "metadata 'layer1.formats': layer 1 of a model of precision full cannot be of precision bin"},
      {[](TensorFile& f) { f.metadata.erase("layer1.formats"); }, "the metadata lack 'layer1.formats'"},
      {[](TensorFile& f) { f.tensors.erase("layer1.weight_scale"); }, "the tensor 'layer1.weight_scale' is missing"},
      {[](TensorFile& f) {
         f.tensors["layer0.root_bias"] = {ElementType::f32, {1}, Buffer<std::byte>(4, std::byte{0})};
       },
       "the tensor 'layer0.root_bias' belongs to no layer that is known here"},
      {[](TensorFile& f) { f.tensors.erase("input.mean"); }, "the tensor 'input.mean' is missing"},
      {[](TensorFile& f) { f.tensors["layer0.bias"].type = ElementType::i32; },
       "the tensor 'layer0.bias' is i32 [5], expected f32 [5]"},
      {[](TensorFile& f) {
         f.tensors["layer0.bias"].shape = {5, 1};
       },
       "the tensor 'layer0.bias' is f32 [5, 1], expected f32 [5]"},
      {[=](TensorFile& f) { put_value(f.tensors["layer0.weight_scale"], 1, nan); },
       "the tensor 'layer0.weight_scale' holds a value that is not finite"},
      {[](TensorFile& f) {
         put_value(f.tensors["input.inverse_deviation"], 69, std::numeric_limits<float>::infinity());
       },
       "the tensor 'input.inverse_deviation' holds a value that is not finite"},
      {[](TensorFile& f) { put_value(f.tensors["layer1.weight_scale"], 2, -1.0F); },
       "the tensor 'layer1.weight_scale' holds a negative scale"},
      {[](TensorFile& f) { put_value(f.tensors["input.inverse_deviation"], 0, -1e-9F); },
       "the tensor 'input.inverse_deviation' holds a negative scale"},
      {[](TensorFile& f) { put_value(f.tensors["layer0.weight"], 9, std::uint64_t{1} << 6); },
       "the tensor 'layer0.weight': bit matrix: row 4: a padding bit behind column 70 is set"},
  };
  expect_refused(path, cases, [&] { (void)Model::load(path); });
}

/// More layers stand side by side than the product of them has room for.
TEST(ModelFile, AModelThatIsTooDeepIsRefused) {
  const TemporaryFolder folder;
  const auto path = folder / "m.safetensors";
  TrainOptions options = quick(Precision::bin);
  options.architecture = Architecture::saint;
  options.depth = most_depth;
  const Dataset dataset = planted();
  const Model deepest = train(dataset, options, Device::host(1)).model;
  EXPECT_NO_THROW(static_cast<void>(
      InferencePlan(deepest, dataset, {.forms = deepest.layer_forms(Precision::bin)}, Device::host(1)).run()));
  deepest.save(path);
  EXPECT_EQ(Model::load(path).layers.size(), deepest.layers.size());
  TensorFile file = load_safetensors(path);
  file.metadata["depth"] = "100";
  save_safetensors(path, file);
  expect_bad_input([&] { (void)Model::load(path); }, path.string() + ": a depth of 100, expected 1 to 64");
  options.depth = most_depth + 1;
  options.precision = Precision::real;
  EXPECT_THROW((void)train(dataset, options, Device::host(1)), Error);
}

TEST(ModelFile, EveryPartOfAFloatModelIsChecked) {
  const TemporaryFolder folder;
  const auto path = folder / "m.safetensors";
  train(planted(), quick(Precision::real), Device::host(1)).model.save(path);
  const std::vector<Damage> cases{
      {metadata("hidden", "6"), "the tensor 'layer0.weight' is f32 [5, 70], expected f32 [6, 70]"},
      {metadata("precision", "bin"),
       "metadata 'layer0.formats': layer 0 of a model of precision bin cannot be of precision float"},
      {[](TensorFile& f) { put_value(f.tensors["layer1.weight"], 0, std::nanf("")); },
       "the tensor 'layer1.weight' holds a value that is not finite"},
  };
  expect_refused(path, cases, [&] { (void)Model::load(path); });
}

/// Writes the file of a model as older versions of the format were.
void make_older(const std::filesystem::path& path, int version) {
  TensorFile file = load_safetensors(path);
  file.metadata["version"] = std::to_string(version);
  std::erase_if(file.metadata, [](const auto& entry) { return entry.first.ends_with(".formats"); });
  const bool binary = file.metadata["precision"] != "float";
  std::map<std::string, Array> tensors;
  for (auto& [name, array] : file.tensors) {
    const bool weight = name.ends_with("weight");
    if (weight && !binary && version == 1) {
      const DenseMatrix<float> here(array.shape[0], array.shape[1], array.as<float>());
      std::swap(array.shape[0], array.shape[1]);
      for (std::size_t i = 0; i < here.nrows(); ++i) {
        for (std::size_t j = 0; j < here.ncols(); ++j) put_value(array, j * here.nrows() + i, here(i, j));
      }
    }
    tensors.emplace(weight && binary ? name + "_bits" : name, std::move(array));
  }
  file.tensors = std::move(tensors);
  if (version == 1) file.metadata.erase("depth");
  save_safetensors(path, file);
}

TEST(ModelFile, OlderVersionsAreRead) {
  const TemporaryFolder folder;
  const auto path = folder / "m.safetensors";
  for (const Architecture architecture : {Architecture::gcn, Architecture::saint}) {
    for (const Precision& precision : {Precision::real, Precision::full, Precision::bin}) {
      Model model = random_model(architecture, precision, 70, 5, 3, 2, 7);
      for (const int version : {3, 2, 1}) {
        if (version == 1 && architecture != Architecture::gcn) continue;
        if (version == 2) {  // one precision for all layers
          for (Layer& layer : model.layers) layer.precision = precision;
          model.layers.back().precision = precision.of_last_layer();
        }
        SCOPED_TRACE(to_string(precision) + ", version " + std::to_string(version));
        model.save(path);
        if (version != 3) make_older(path, version);
        const Model read = Model::load(path);
        EXPECT_EQ(read.fingerprint(), model.fingerprint());
        ASSERT_EQ(read.layers.size(), model.layers.size());
        for (std::size_t l = 0; l < read.layers.size(); ++l)
          EXPECT_EQ(read.layers[l].precision, model.layers[l].precision);
      }
    }
  }
}

TEST(ModelFile, TheFingerprintTellsWeights) {
  const TemporaryFolder folder;
  for (const Precision precision : {Precision::real, Precision::full}) {
    const Model model = random_model(Architecture::sage, precision, 70, 5, 3, 2, 7);
    model.save(folder / "model");
    const auto expect_new = [&](const std::function<void(Model&)>& change) {
      Model other = Model::load(folder / "model");
      ASSERT_EQ(other.fingerprint(), model.fingerprint());
      change(other);
      EXPECT_NE(other.fingerprint(), model.fingerprint());
    };
    expect_new([](Model& m) { m.layers[1].root.bias[2] += 1; });
    expect_new([](Model& m) { std::swap(m.layers[0].neighbor, m.layers[0].root); });
    if (precision == Precision::real) {
      expect_new([](Model& m) { m.layers[0].root.floats().values()[0] += 1; });
      continue;
    }
    expect_new([](Model& m) { m.layers[1].neighbor.signs().bits.words()[0] ^= 1; });
    expect_new([](Model& m) { m.layers[0].neighbor.signs().alpha[4] += 1; });
    expect_new([](Model& m) { m.input_mean[69] += 1; });
    expect_new([](Model& m) { m.input_inverse_deviation[0] += 1; });
  }
}

TEST(Model, ValidateChecksBothWeightsOfALayer) {
  struct Wrong {
    std::function<void(Linear&)> change;
    std::string message;
  };
  const float infinite = std::numeric_limits<float>::infinity();
  for (const Precision precision : {Precision::real, Precision::full}) {
    std::vector<Wrong> cases{
        {[&](Linear& w) { w.bias[1] = infinite; }, "layer 0 has a weight that is infinite or not a number"},
        {[](Linear& w) { w.bias = Buffer<float>(4, 0.0F); }, "layer 0 has 5 outputs, "},
        {[](Linear& w) { w.weight = DenseMatrix<float>(); }, "layer 0 "}};
    if (precision == Precision::real) {
      cases.push_back({[&](Linear& w) { w.floats()(4, 69) = -infinite; }, "layer 0 has a weight that is infinite"});
      cases.push_back({[](Linear& w) {
                         w.weight = Binarized{BitMatrix<PlusMinusOne>(5, 70), Buffer<float>(5, 1.0F)};
                       },
                       "layer 0 has weights in sign*row, expected float32"});
    } else {
      cases.push_back({[](Linear& w) { w.signs().alpha[3] = -1; }, "layer 0 has a negative scale"});
      cases.push_back({[&](Linear& w) { w.signs().alpha[3] = infinite; }, "layer 0 has a weight that is infinite"});
      cases.push_back({[](Linear& w) { w.weight = DenseMatrix<float>(5, 70); },
                       "layer 0 has weights in float32, expected sign*row"});
    }
    for (const auto linear : {&Layer::neighbor, &Layer::root}) {
      for (const Wrong& wrong : cases) {
        Model model = random_model(Architecture::sage, precision, 70, 5, 3, 2, 7);
        ASSERT_NO_THROW(model.validate());
        wrong.change(model.layers[0].*linear);
        try {
          model.validate();
          ADD_FAILURE() << "taken: " << wrong.message;
        } catch (const Error& error) {
          EXPECT_TRUE(std::string_view(error.what()).starts_with("the model: " + wrong.message)) << error.what();
        }
      }
    }
  }
}

TEST(Model, ValidateRefusesFeaturesWithoutScales) {
  Model model = random_model(Architecture::saint, Precision::full, 70, 5, 3, 2, 7);
  ASSERT_NO_THROW(model.validate());
  model.layers[0].precision = Precision::full.with_plain_input();
  test::expect_bad_input([&] { model.validate(); }, "the model: layer 0 reads features, whose signs have scales");
}

TEST(ModelFile, EveryCutIsFound) {
  const TemporaryFolder folder;
  const auto path = folder / "m.safetensors";
  train(planted(), quick(Precision::full), Device::host(1)).model.save(path);
  const std::string good = contents(path);
  for (std::size_t size = 0; size < good.size(); size += 7) {
    folder.put("m.safetensors", good.substr(0, size));
    try {
      (void)Model::load(path);
      ADD_FAILURE() << size << " bytes were taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::bad_input);
      EXPECT_TRUE(std::string_view(error.what()).starts_with(path.string() + ": ")) << error.what();
    }
  }
}

TEST(Checkpoint, EveryPartIsChecked) {
  const TemporaryFolder folder;
  const auto path = folder / "state";
  const Dataset dataset = planted();
  const auto resume = [&] { (void)train(dataset, quick(Precision::full, path), Device::host(1)); };
  resume();
  const std::string another = "a checkpoint of another run: ";
  const std::string advice = ": remove it, or give this run another";
  std::string weight;
  for (const auto& [name, array] : load_safetensors(path).tensors) {
    if (weight.empty() && name.ends_with(".value")) weight = name;
  }
  const std::vector<Damage> cases{
      {[](TensorFile& f) { f.metadata.erase("precision"); }, "not a checkpoint: it lacks 'precision'"},
      {[](TensorFile& f) { f.metadata.erase("epoch"); }, "not a checkpoint: it lacks 'epoch'"},
      {metadata("seed", "10\n"), another + "seed is '10?', expected '9'" + advice},
      {metadata("version", "11"), another + "version is '11', expected '13'" + advice},
      {metadata("hidden", "6"), another + "hidden is '6', expected '5'" + advice},
      {metadata("format", "\x01"), another + "format is '?', expected 'bitgraph-checkpoint'" + advice},
      {metadata("epoch", "1e3"), "'epoch' is not a whole number"},
      {metadata("best_epoch", "3"), "the best epoch or its loss makes no sense"},
      {metadata("best_loss_bits", "18446744073709551615"), "the best epoch or its loss makes no sense"},
      {metadata("best_epoch", "0"), "the best epoch or its loss makes no sense"},
      {metadata("best_loss_bits", "9218868437227405312"), "the best epoch or its loss makes no sense"},
      {metadata("epoch", "18446744073709551615"),
       "18446744073709551615 epochs are done, more than the 2 that are asked for"},
      {[&](TensorFile& f) { put_value(f.tensors[weight], 0, std::nanf("")); },
       "the tensor '" + weight + "' holds a value that is not finite"},
      {metadata("best_accuracy_bits", "18446744073709551615"), "the best epoch or its loss makes no sense"},
      {[&](TensorFile& f) { f.tensors.erase(weight); }, "the tensor '" + weight + "' is missing or misshapen"},
      {[&](TensorFile& f) { f.tensors[weight].type = ElementType::i32; },
       "the tensor '" + weight + "' is missing or misshapen"},
      {[&](TensorFile& f) { f.tensors[weight].shape.push_back(1); },
       "the tensor '" + weight + "' is missing or misshapen"},
  };
  expect_refused(path, cases, resume);
}

}  // namespace
}  // namespace bitgraph::nn
