// SPDX-License-Identifier: Apache-2.0
// PyTorch state dictionaries: the layer names of PyTorch Geometric and Bi-GCN.
#include <bitgraph/graph/generate.hpp>
#include <bitgraph/io/array.hpp>
#include <bitgraph/nn/infer.hpp>

#include "nn/model/architectures.hpp"
#include "nn/model/random_model.hpp"
#include "support/expect_error.hpp"
#include "support/temporary_folder.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace bitgraph::nn {
namespace {

Array array_of(const std::vector<std::uint64_t>& shape, std::span<const float> values) {
  return {ElementType::f32, shape, Buffer<std::byte>::copy_of(std::as_bytes(values))};
}

/// The names of a map from neighbours and of a node's own.
struct Names {
  const char* neighbor;
  const char* root;
};
Names names_of(Architecture architecture) {
  if (architecture == Architecture::sage) return {"lin_l", "lin_r"};
  if (architecture == Architecture::saint) return {"lin_rel", "lin_root"};
  return {"lin", ""};
}

/// The state dictionary of a real model, as PyTorch Geometric names it.
TensorFile state_of(const Model& model, const std::string& prefix) {
  TensorFile file;
  const Names names = names_of(model.architecture);
  const auto put = [&](const std::string& name, const Linear& linear, const std::string& bias) {
    file.tensors[name + ".weight"] = array_of({linear.outputs(), linear.inputs()}, linear.floats().values());
    if (!bias.empty()) file.tensors[bias] = array_of({linear.outputs()}, linear.bias.span());
  };
  for (std::size_t l = 0; l < model.layers.size(); ++l) {
    const Layer& layer = model.layers[l];
    const bool last = l + 1 == model.layers.size();
    if (layers_of_convolution(traits_of(model.architecture)) > 1 && !(last && model.concatenates())) {
      const std::string map = fmt::format("{}{}.nn.{}", prefix, l / 2 + 1, l % 2 == 0 ? 0 : 3);
      put(map, layer.neighbor, map + ".bias");
      continue;
    }
    if (layer.aggregation == Aggregation::none) {
      put("lin", layer.neighbor, "lin.bias");
      continue;
    }
    const std::string name = prefix + std::to_string(l + 1) + ".";
    const bool gcn = layer.root.empty();
    put(name + names.neighbor, layer.neighbor, gcn ? name + "bias" : name + names.neighbor + ".bias");
    if (!gcn) put(name + names.root, layer.root, "");
  }
  return file;
}

Model real_model(Architecture architecture, std::size_t depth) {
  Model model = random_model(architecture, Precision::real, 30, 12, 3, depth, 4);
  for (Layer& layer : model.layers) layer.root.bias = Buffer<float>(layer.root.bias.size(), 0.0F);  // PyG has none
  return model;
}

Dataset planted() {
  return generate_planted_partition(
      {.num_nodes = 80, .num_classes = 3, .num_features = 30, .mean_degree = 4, .seed = 5});
}

void expect_same_logits(const Model& a, const Model& b) {
  const Dataset dataset = planted();
  InferencePlan first(a, dataset, {.forms = a.layer_forms(a.precision)});
  InferencePlan second(b, dataset, {.forms = b.layer_forms(b.precision)});
  const auto x = first.run().values();
  const auto y = second.run().values();
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t n = 0; n < x.size(); ++n) ASSERT_NEAR(x[n], y[n], 1e-5F);
}

TEST(TorchState, EveryArchitectureAndDepth) {
  const test::TemporaryFolder folder;
  for (const auto architecture : all_architectures()) {
    for (const std::size_t depth : {1, 2, 11}) {  // conv10 follows conv9
      for (const char* prefix : {"conv", "convs."}) {
        const Model model = real_model(architecture, depth);
        TensorFile file = state_of(model, prefix);
        if (traits_of(architecture).name.starts_with("inductive")) file.metadata["kind"] = to_string(architecture);
        file.metadata["format"] = "pt";
        save_safetensors(folder / "state.safetensors", file);
        const Model read = Model::load(folder / "state.safetensors");
        EXPECT_EQ(read.architecture, architecture);
        expect_same_logits(read, model);
      }
    }
  }
}

TEST(TorchState, JumpingKnowledgeOfEveryArchitecture) {
  const test::TemporaryFolder folder;
  for (const auto architecture : all_architectures()) {
    Model model = random_model(architecture, Precision::real, 30, 12, 3, 3, 4, true);
    for (Layer& layer : model.layers) layer.root.bias = Buffer<float>(layer.root.bias.size(), 0.0F);
    TensorFile file = state_of(model, "convs.");
    file.metadata["kind"] = to_string(architecture);
    save_safetensors(folder / "state.safetensors", file);
    const Model read = Model::load(folder / "state.safetensors");
    EXPECT_TRUE(read.concatenates());
    expect_same_logits(read, model);
  }
}

TEST(TorchState, NormalizeRowsInTheMetadataIsHonoured) {
  const test::TemporaryFolder folder;
  Model model = real_model(Architecture::sage, 2);
  TensorFile file = state_of(model, "conv");
  const std::string name = (folder / "state.safetensors").string();
  const auto load_with = [&](const std::string& value) {
    file.metadata["normalize_rows"] = value;
    save_safetensors(name, file);
    return Model::load(name);
  };
  EXPECT_FALSE(load_with("0").normalize_rows);
  const Model read = load_with("1");
  EXPECT_TRUE(read.normalize_rows);
  model.normalize_rows = true;
  expect_same_logits(read, model);
  test::expect_bad_input([&] { static_cast<void>(load_with("2")); }, name + ": normalize_rows is 2, expected 0 or 1");
}

TEST(TorchState, BinaryLayersAndTheBatchNormOfBiGcn) {
  const test::TemporaryFolder folder;
  const Model real = real_model(Architecture::gcn, 2);
  TensorFile file = state_of(real, "convs.");
  for (const char* layer : {"convs.1", "convs.2"}) {
    auto bias = file.tensors.extract(std::string(layer) + ".bias");
    bias.key() = std::string(layer) + ".lin.bias";
    file.tensors.insert(std::move(bias));
  }
  std::vector<float> mean(30, 0.25F);
  std::vector<float> variance(30, 0.09F);
  file.tensors["bn1.running_mean"] = array_of({30}, mean);
  file.tensors["bn1.running_var"] = array_of({30}, variance);
  save_safetensors(folder / "state.safetensors", file);
  const Model read = Model::load(folder / "state.safetensors");
  EXPECT_EQ(read.precision, Precision::full);
  EXPECT_NEAR(read.input_inverse_deviation[7], 1 / std::sqrt(0.09F + 1e-5F), 1e-6F);
  for (std::size_t l = 0; l < 2; ++l) {
    const Linear& linear = read.layers[l].neighbor;
    for (std::size_t f = 0; f < linear.outputs(); ++f) {
      double magnitude = 0;
      for (std::size_t j = 0; j < linear.inputs(); ++j) {
        const float w = real.layers[l].neighbor.floats()(f, j);
        EXPECT_EQ(linear.signs().bits.bit(f, j), w >= 0);
        magnitude += std::fabs(w);
      }
      EXPECT_NEAR(linear.signs().alpha[f], magnitude / static_cast<double>(linear.inputs()), 1e-6);
    }
  }
  file.metadata["precision"] = "bin";
  save_safetensors(folder / "state.safetensors", file);
  EXPECT_EQ(Model::load(folder / "state.safetensors").layers[0].precision, Precision::bin);
}

/// A graph isomorphism network whose MLPs have batch norms, as Sequential(Linear, BatchNorm1d, ReLU, Linear) or as
/// torch_geometric.nn.MLP names them.
TEST(TorchState, BatchNormAndEpsOfGin) {
  const test::TemporaryFolder folder;
  const auto path = folder / "state.safetensors";
  for (const bool sequential : {true, false}) {
    Model model = real_model(Architecture::gin, 2);
    TensorFile file = state_of(model, "convs.");
    std::vector<float> mean(12), variance(12), scale(12), shift(12);
    for (std::size_t f = 0; f < 12; ++f) {
      const auto at = static_cast<float>(f);
      mean[f] = 0.1F * at - 0.4F, variance[f] = 0.5F + 0.2F * at, scale[f] = 0.3F * at - 1, shift[f] = 0.7F - 0.2F * at;
    }
    const std::string norm = sequential ? "convs.2.nn.1" : "convs.2.nn.norms.0.module";
    file.tensors[norm + ".running_mean"] = array_of({12}, mean);
    file.tensors[norm + ".running_var"] = array_of({12}, variance);
    file.tensors[norm + ".weight"] = array_of({12}, scale);
    file.tensors[norm + ".bias"] = array_of({12}, shift);
    const float none = 0, half = 0.5F;
    file.tensors["convs.1.eps"] = array_of({1}, std::span(&none, 1));
    file.tensors["convs.2.eps"] = array_of({1}, std::span(&half, 1));
    if (!sequential) {
      for (const auto& [old_name, name] : {std::pair("convs.2.nn.0", "lins.0"), std::pair("convs.2.nn.3", "lins.1")}) {
        for (const std::string part : {".weight", ".bias"}) {
          auto tensor = file.tensors.extract(old_name + part);
          tensor.key() = "convs.2.nn." + (name + part);
          file.tensors.insert(std::move(tensor));
        }
      }
    }
    Layer& layer = model.layers[2];
    for (std::size_t f = 0; f < 12; ++f) {
      const float factor = scale[f] / std::sqrt(variance[f] + 1e-5F);
      for (float& w : layer.neighbor.floats().row(f)) w *= factor;
      layer.neighbor.bias[f] = factor * (layer.neighbor.bias[f] - mean[f]) + shift[f];
    }
    layer.aggregation = Aggregation::sum;
    layer.root = make_linear(layer.neighbor.floats().clone(), Buffer<float>(12, 0.0F), false);
    for (float& w : layer.root.floats().values()) w *= 1.5F;
    save_safetensors(path, file);
    const Model read = Model::load(path);
    expect_same_logits(read, model);
    read.save(folder / "read.safetensors");
    expect_same_logits(Model::load(folder / "read.safetensors"), model);
    EXPECT_EQ(read.layers[0].aggregation, Aggregation::sum_with_self);
  }
}

TEST(TorchState, WhatIsNotUnderstoodIsRefused) {
  const test::TemporaryFolder folder;
  const auto path = folder / "state.safetensors";
  const auto refuse = [&](Architecture architecture, auto&& change, const std::string& message) {
    TensorFile file = state_of(real_model(architecture, 2), "conv");
    change(file);
    save_safetensors(path, file);
    test::expect_bad_input([&] { static_cast<void>(Model::load(path)); }, path.string() + ": " + message);
  };
  const std::vector<float> some(30, 1.0F);
  refuse(
      Architecture::gcn,
      [&](TensorFile& f) {
        for (int n = 3; n < 70; ++n) f.tensors["conv" + std::to_string(n) + ".lin.weight"] = array_of({1, 30}, some);
      },
      "69 convolutions, at most 64 can be run");
  refuse(
      Architecture::sage, [](TensorFile& f) { f.tensors.erase("conv2.lin_r.weight"); },
      "the tensor 'conv2.lin_r.weight' is missing");
  refuse(
      Architecture::saint, [](TensorFile& f) { f.tensors.erase("lin.weight"); },
      "0 linear layers behind the convolutions, expected 1");
  refuse(
      Architecture::gcn, [&](TensorFile& f) { f.tensors["conv2.bias"] = array_of({30}, some); },
      "the tensor 'conv2.bias' is f32 [30], expected f32 [3]");
  refuse(
      Architecture::gcn,
      [&](TensorFile& f) {
        f.tensors["conv2.lin.weight"] = array_of({3, 10}, some);
      },
      "layer 1 goes from 10 to 3, expected from 12 to 3");
  refuse(
      Architecture::gcn, [](TensorFile& f) { f.tensors.erase("conv2.lin.weight"); },
      "the tensor 'conv2.bias' belongs to no layer that is known here");
  refuse(
      Architecture::gcn,
      [&](TensorFile& f) {
        f.tensors["conv1.att_src"] = array_of({30}, some);  // GATConv
      },
      "the tensor 'conv1.att_src' belongs to no layer that is known here");
  refuse(
      Architecture::gcn,
      [&](TensorFile& f) {
        f.tensors["lin.weight"] = array_of({3, 3}, std::span(some).first(9));
      },
      "the tensor 'lin.weight' belongs to no layer that is known here");
  refuse(
      Architecture::gcn, [](TensorFile& f) { f.metadata["kind"] = "sage"; }, "its layers are not those of 'sage'");
  refuse(
      Architecture::gcn, [](TensorFile& f) { f.metadata["kind"] = "gat\n"; }, "metadata 'kind' is 'gat?'");
  refuse(
      Architecture::gcn,
      [&](TensorFile& f) {
        f.tensors["conv2.lin_l.weight"] = array_of({5, 6}, some);
      },
      "'conv2' is a convolution of another kind");
  refuse(
      Architecture::gin,
      [&](TensorFile& f) { f.tensors["conv1.nn.2.running_mean"] = array_of({12}, std::span(some).first(12)); },
      "'conv1.nn.2': a batch norm must follow a linear map");
  refuse(
      Architecture::gin, [](TensorFile& f) { f.tensors.erase("conv2.nn.3.weight"); },
      "'conv2.nn' has 1 linear maps, expected 2");
  refuse(
      Architecture::gin, [](TensorFile& f) { f.metadata["precision"] = "full"; },
      "'conv1.nn': of a state dictionary an MLP is read in full precision alone");
  refuse(
      Architecture::gcn,
      [](TensorFile& f) {
        f.tensors.clear();
        f.metadata["a"] = "b";
      },
      "neither a bitgraph model nor a state dictionary with GCNConv (NAME.lin.weight), SAGEConv (NAME.lin_l.weight), "
      "GraphConv (NAME.lin_rel.weight) or GINConv (NAME.nn.0.weight)");
  refuse(
      Architecture::gcn,
      [&](TensorFile& f) {
        f.tensors["bn1.running_mean"] = array_of({30}, some);
        f.tensors["bn1.running_var"] = array_of({30}, some);
      },
      "'conv1.bias': a binary layer's bias is that of its linear map, conv1.lin.bias");
}

}  // namespace
}  // namespace bitgraph::nn
