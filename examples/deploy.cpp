// SPDX-License-Identifier: Apache-2.0
// Deploys a model without Python: loads a model file, holds a plan within a limit of memory, and serves updates.
//   deploy MODEL.safetensors DATASET.npz [CLASSES.npy [LIMIT_IN_BYTES]]
// Without arguments the example trains a small model first.
#include <bitgraph/bitgraph.hpp>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace {

using namespace bitgraph;

/// The class of every node, by a plan that holds at most `limit` bytes; 0: as many as it needs.
Buffer<std::int32_t> classify(const nn::Model& model, const Dataset& dataset, std::size_t limit) {
  const Device device = Device::best();
  const nn::InferenceOptions options{.memory = limit};
  const nn::PredictedMemory memory = nn::predict_memory(model, dataset, options, device);
  std::printf("%s: %zu bytes predicted, %zu part%s of the graph\n", device.name().c_str(), memory.bytes, memory.parts,
              memory.parts == 1 ? "" : "s");
  nn::InferencePlan plan(model, dataset, options, device);  // allocates everything
  const DenseMatrix<float>& logits = plan.run();            // call it for every request
  return nn::predict(logits.to(Device{}));
}

/// The class of every node after two updates of a plan that has room for them.
Buffer<std::int32_t> serve_updates(const nn::Model& model, const Dataset& dataset) {
  const nn::PlanCapacity capacity{.nodes = dataset.graph.nrows() + 100, .entries = dataset.graph.nvals() + 2000};
  nn::InferencePlan plan(model, dataset, {.capacity = capacity});
  plan.set_features(std::vector<NodeId>{17}, DenseMatrix<float>(1, dataset.num_features()));  // node 17 loses all
  const NodeId node = plan.add_nodes(1);
  plan.add_edges(std::vector<NodeId>{node, node}, std::vector<NodeId>{3, 17});
  const DenseMatrix<float> probabilities = nn::softmax(plan.run());
  std::printf("node %u of %zu: class 0 with probability %.2f\n", node, probabilities.nrows(),
              static_cast<double>(probabilities(node, 0)));
  return nn::predict(probabilities);
}

std::size_t number_of_differences(const Buffer<std::int32_t>& a, const Buffer<std::int32_t>& b) {
  std::size_t count = 0;
  for (std::size_t n = 0; n < a.size(); ++n) count += a[n] == b[n] ? 0U : 1U;
  return count;
}

/// The example without arguments: a model and a graph of its own, and checks of what must hold.
int test() {
  const Dataset dataset =
      generate_planted_partition({.num_nodes = 1000, .num_classes = 4, .mean_degree = 40, .seed = 1});
  const auto file = std::filesystem::temp_directory_path() / "bitgraph-example-deploy.safetensors";
  nn::train(dataset, {.precision = nn::Precision::bin, .hidden = 16, .epochs = 20}).model.save(file);
  const nn::Model model = nn::Model::load(file);
  std::filesystem::remove(file);

  const Buffer<std::int32_t> whole = classify(model, dataset, 0);
  const std::size_t limit = nn::predict_memory(model, dataset).bytes * 3 / 4;
  const Buffer<std::int32_t> parts = classify(model, dataset, limit);
  const Buffer<std::int32_t> updated = serve_updates(model, dataset);
  return number_of_differences(whole, parts) == 0 && updated.size() == whole.size() + 1 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 3) return test();
    const nn::Model model = nn::Model::load(argv[1]);
    const Dataset dataset = load_dataset(argv[2]);
    const Buffer<std::int32_t> classes = classify(model, dataset, argc > 4 ? std::strtoull(argv[4], nullptr, 10) : 0);
    if (argc > 3) save_npy<std::int32_t>(argv[3], classes.span());
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.code());
  }
}
