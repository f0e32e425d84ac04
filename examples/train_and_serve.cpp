// SPDX-License-Identifier: Apache-2.0
// Trains a 1-bit graph network, saves it, loads it as a server would, and classifies all nodes from packed bits.
//   train_and_serve [data set .npz]
#include <bitgraph/bitgraph.hpp>

#include <cstdio>
#include <filesystem>
#include <iterator>

int main(int argc, char** argv) {
  using namespace bitgraph;
  try {
    const Dataset dataset =
        argc > 1 ? load_dataset(argv[1]) : generate_planted_partition({.num_nodes = 600, .num_classes = 4, .seed = 1});
    const nn::TrainResult trained =
        nn::train(dataset, {.precision = nn::Precision::full, .hidden = 32, .epochs = argc > 1 ? 1000U : 60U});

    const auto file = std::filesystem::temp_directory_path() / "bitgraph-example.safetensors";
    trained.model.save(file);
    const nn::Model model = nn::Model::load(file);
    std::filesystem::remove(file);

    // Everything is allocated here; run() allocates nothing and may be called for every request.
    nn::InferencePlan plan(model, dataset, {.forms = model.layer_forms(nn::Precision::bin)});
    const Buffer<std::int32_t> classes = nn::predict(plan.run());
    std::size_t right = 0;
    for (const NodeId node : dataset.test) right += classes[node] == dataset.labels[node] ? 1U : 0U;
    std::printf("%zu nodes, best epoch %zu, %zu of %zu test nodes right; model, graph and features: %zu bytes\n",
                classes.size(), trained.best_epoch, right, dataset.test.size(),
                plan.bytes().model + plan.bytes().graph + plan.bytes().features);
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.code());
  }
}
