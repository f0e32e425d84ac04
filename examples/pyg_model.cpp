// SPDX-License-Identifier: Apache-2.0
// Brings a model of PyTorch Geometric: loads its state dictionary, trains the same model in bits, compares accuracy
// and latency, and keeps the fastest way to run it that is accurate enough.
//   pyg_model STATE.safetensors DATASET.npz CHOICE.safetensors
// In Python: safetensors.torch.save_file(model.state_dict(), "state.safetensors"). The model has its convolutions as
// conv1, conv2 ... or convs.0, convs.1 ...: GCNConv, SAGEConv, or GraphConv and a linear layer over all of them.
//   pyg_model --write STATE.safetensors DATASET.npz
// trains a float model and writes it as PyTorch Geometric would. Without arguments the example does both.
#include <bitgraph/bitgraph.hpp>

#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace bitgraph;
namespace fs = std::filesystem;

/// A SAGE model with two layers, trained here, with the names of PyTorch Geometric.
void write_state(const fs::path& path, const Dataset& dataset) {
  const nn::TrainOptions options{
      .precision = nn::Precision::real, .architecture = nn::Architecture::sage, .epochs = 60};
  nn::train(dataset, options).model.save(path);
  TensorFile ours = load_safetensors(path);
  TensorFile state;
  state.metadata["format"] = "pt";
  for (const std::string n : {"1", "2"}) {
    const std::string layer = n == "1" ? "layer0." : "layer1.";
    state.tensors["conv" + n + ".lin_l.weight"] = std::move(ours.tensors.at(layer + "weight"));
    state.tensors["conv" + n + ".lin_l.bias"] = std::move(ours.tensors.at(layer + "bias"));
    state.tensors["conv" + n + ".lin_r.weight"] = std::move(ours.tensors.at(layer + "root_weight"));
  }
  save_safetensors(path, state);
}

/// A binary model of the same shape. It starts from the weights of `given` and learns from its predictions.
nn::Model train_in_bits(const nn::Model& given, const Dataset& dataset, std::size_t epochs) {
  nn::TrainOptions options{.precision = nn::Precision::bin, .architecture = given.architecture};
  options.hidden = given.hidden();
  options.epochs = epochs;
  options.start = &given;
  options.teacher = &given;
  return nn::train(dataset, options).model;
}

/// The share of the test nodes whose class is right.
double accuracy(const nn::Model& model, const Dataset& dataset, const nn::InferenceOptions& options) {
  nn::InferencePlan plan(model, dataset, options);
  const Buffer<std::int32_t> classes = nn::predict(plan.run());
  std::size_t right = 0;
  for (const NodeId node : dataset.test) right += classes[node] == dataset.labels[node] ? 1U : 0U;
  return static_cast<double>(right) / static_cast<double>(dataset.test.size());
}

/// Runs both models in every way that there is, and what the float model becomes in 8, 4 and 2 bits. Keeps the fastest
/// that loses at most two points of validation accuracy. Returns its test accuracy.
double choose(const fs::path& state, const Dataset& dataset, const fs::path& choice) {
  std::vector<nn::Model> models;
  models.push_back(nn::Model::load(state));
  models.push_back(train_in_bits(models.front(), dataset, 40));
  const nn::TuneReport report = nn::tune(models, dataset, {.seconds = 5, .max_loss = 0.02});
  double found = 0;
  for (const bool given : {true, false}) {
    const nn::TuneCandidate& way = report.candidates[given ? 0 : report.chosen];
    found = accuracy(report.model_of(way, models), dataset, way.options);
    std::printf("%s: %s, %.1f us, %zu bytes, test accuracy %.3f\n", given ? "given" : "chosen",
                way.options.describe().c_str(), way.microseconds, way.peak_bytes, found);
  }
  report.model_of(report.candidates[report.chosen], models).save(choice);
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc > 3 && std::string_view(argv[1]) == "--write") {
      write_state(argv[2], load_dataset(argv[3]));
      return 0;
    }
    if (argc > 3) {
      choose(argv[1], load_dataset(argv[2]), argv[3]);
      return 0;
    }
    const Dataset dataset =
        generate_planted_partition({.num_nodes = 1000, .num_classes = 4, .num_features = 100, .seed = 1});
    const fs::path state = fs::temp_directory_path() / "bitgraph-example-state.safetensors";
    const fs::path choice = fs::temp_directory_path() / "bitgraph-example-choice.safetensors";
    write_state(state, dataset);
    const double found = choose(state, dataset, choice);
    fs::remove(state);
    fs::remove(choice);
    return found > 0.8 ? 0 : 1;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.code());
  }
}
