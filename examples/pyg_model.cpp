// SPDX-License-Identifier: Apache-2.0
// A model of PyTorch Geometric, run without Python.
//   pyg_model STATE.safetensors DATASET.npz
// In Python: safetensors.torch.save_file(model.state_dict(), "state.safetensors"), where the model has its convolutions
// as conv1, conv2 ... or convs.0, convs.1 ...: GCNConv, SAGEConv, or GraphConv and a linear layer over all of them.
// metadata={"kind": "inductive-gcn"} says that a mean is meant where GCNConv has symmetric weights.
// Without arguments it writes such a file itself: a SAGE network with two layers.
#include <bitgraph/bitgraph.hpp>
#include <bitgraph/io/array.hpp>

#include <cstdio>
#include <filesystem>

namespace {

using namespace bitgraph;

void put(TensorFile& file, const char* name, std::vector<std::uint64_t> shape, std::uint32_t stream) {
  std::size_t size = 1;
  for (const std::uint64_t side : shape) size *= side;
  Buffer<float> values(size);
  for (std::size_t n = 0; n < size; ++n) values[n] = random_uniform({3, stream, 0}, n) - 0.5F;
  file.tensors[name] = {ElementType::f32, std::move(shape), Buffer<std::byte>::copy_of(std::as_bytes(values.span()))};
}

void write_sage(const std::filesystem::path& path, std::size_t features, std::size_t hidden, std::size_t classes) {
  TensorFile file;
  file.metadata["format"] = "pt";
  put(file, "conv1.lin_l.weight", {hidden, features}, 1);
  put(file, "conv1.lin_l.bias", {hidden}, 2);
  put(file, "conv1.lin_r.weight", {hidden, features}, 3);
  put(file, "conv2.lin_l.weight", {classes, hidden}, 4);
  put(file, "conv2.lin_l.bias", {classes}, 5);
  put(file, "conv2.lin_r.weight", {classes, hidden}, 6);
  save_safetensors(path, file);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const bool given = argc > 2;
    const Dataset dataset = given
                                ? load_dataset(argv[2])
                                : generate_planted_partition({.num_nodes = 300, .num_classes = 4, .num_features = 50});
    std::filesystem::path state = given ? argv[1] : "";
    if (!given) {
      state = std::filesystem::temp_directory_path() / "bitgraph-example-state.safetensors";
      write_sage(state, dataset.num_features(), 16, 4);
    }
    const nn::Model model = nn::Model::load(state);
    if (!given) std::filesystem::remove(state);

    nn::InferencePlan plan(model, dataset);
    const DenseMatrix<float>& logits = plan.run();
    const auto kind = nn::to_string(model.architecture);
    std::printf("%.*s with %zu layers, %zu features, %zu classes; node 0:", static_cast<int>(kind.size()), kind.data(),
                model.layers.size(), model.num_features(), model.num_classes());
    for (const float v : logits.row(0)) std::printf(" %.4f", static_cast<double>(v));
    std::printf("\n");
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.code());
  }
}
