// SPDX-License-Identifier: Apache-2.0
// Turns a float model into models of 8 and 4 bits, without labels and without training. Compares the class of every
// node with that of the float model, and saves the model of 8 bits.
//   quantize_model MODEL.safetensors DATASET.npz OUT.safetensors
// MODEL is a file of `bitgraph train --precision float`, or the state dictionary of a model of PyTorch Geometric.
// Without arguments the example trains a model first, and writes it as PyTorch Geometric would.
#include <bitgraph/bitgraph.hpp>

#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace bitgraph;
namespace fs = std::filesystem;

/// A model as it runs: its classes, and the bytes of its weights.
struct Run {
  Buffer<std::int32_t> classes;
  std::size_t model_bytes = 0;
};

Run run(const nn::Model& model, const Dataset& dataset) {
  nn::InferencePlan plan(model, dataset);
  Buffer<std::int32_t> classes = nn::predict(plan.run());
  return {std::move(classes), plan.bytes().model};
}

/// The share of the nodes that have the same class in both.
double agreement(const Buffer<std::int32_t>& a, const Buffer<std::int32_t>& b) {
  std::size_t same = 0;
  for (std::size_t n = 0; n < a.size(); ++n) same += a[n] == b[n] ? 1U : 0U;
  return static_cast<double>(same) / static_cast<double>(a.size());
}

/// Quantizes, compares and saves. Returns the least agreement.
double quantize_and_compare(const fs::path& file, const Dataset& dataset, const fs::path& out) {
  const nn::Model model = nn::Model::load(file);
  const Run before = run(model, dataset);
  std::printf("float: %zu bytes of weights\n", before.model_bytes);
  double least = 1;
  for (const int bits : {8, 4}) {
    // Weights, inputs and messages: what is multiplied, and what is added up over neighbours.
    const nn::Model made = nn::quantize(model, dataset, {.precision = nn::Precision::of_levels(bits, bits, bits)});
    const Run after = run(made, dataset);
    const double same = agreement(before.classes, after.classes);
    std::printf("%s: %zu bytes of weights, the same class at %.1f %% of the nodes\n",
                nn::to_string(made.precision).c_str(), after.model_bytes, 100 * same);
    if (bits == 8) made.save(out);
    least = same < least ? same : least;
  }
  return least;
}

/// A GCN of two layers, trained here, with the names of PyTorch Geometric.
void write_state(const fs::path& path, const Dataset& dataset) {
  nn::train(dataset, {.precision = nn::Precision::real, .hidden = 32, .epochs = 60}).model.save(path);
  TensorFile ours = load_safetensors(path);
  TensorFile state;
  state.metadata = {{"format", "pt"}, {"normalize_rows", ours.metadata.at("normalize_rows")}};
  for (const auto& [layer, conv] : {std::pair{"layer0.", "conv1."}, std::pair{"layer1.", "conv2."}}) {
    state.tensors[std::string(conv) + "lin.weight"] = std::move(ours.tensors.at(std::string(layer) + "weight"));
    state.tensors[std::string(conv) + "bias"] = std::move(ours.tensors.at(std::string(layer) + "bias"));
  }
  save_safetensors(path, state);
}

/// The example without arguments: a saved model of levels runs as it did before it was saved.
int test() {
  const Dataset dataset =
      generate_planted_partition({.num_nodes = 1000, .num_classes = 4, .num_features = 100, .seed = 1});
  const fs::path state = fs::temp_directory_path() / "bitgraph-example-quantize-state.safetensors";
  const fs::path out = fs::temp_directory_path() / "bitgraph-example-quantize-out.safetensors";
  write_state(state, dataset);
  const double least = quantize_and_compare(state, dataset, out);
  const nn::Model loaded = nn::Model::load(out);
  const nn::Model made = nn::quantize(nn::Model::load(state), dataset);  // 8 bits is the default
  const double same = agreement(run(loaded, dataset).classes, run(made, dataset).classes);
  fs::remove(state);
  fs::remove(out);
  return least > 0.9 && same == 1 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 4) return test();
    quantize_and_compare(argv[1], load_dataset(argv[2]), argv[3]);
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.code());
  }
}
