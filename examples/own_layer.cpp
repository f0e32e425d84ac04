// SPDX-License-Identifier: Apache-2.0
// Layers of your own, made of operators: graph convolutions, the second with a residual connection. They are built in
// floats. The precision of each layer, fused kernels and memory are then chosen as for the library's own networks.
#include <bitgraph/bitgraph.hpp>

#include <cstdio>
#include <utility>

using namespace bitgraph;

int main() {
  const Dataset data = generate_planted_partition({.num_nodes = 1000, .num_features = 100});
  nn::Model model{.precision = nn::Precision::full};  // products of bits, sums of floats
  for (const auto& [outputs, inputs] : {std::pair{64, 100}, {64, 64}, {7, 64}}) {
    DenseMatrix<float> weight(outputs, inputs);  // that no training made
    for (std::size_t n = 0; n < weight.values().size(); ++n) weight.values()[n] = random_uniform({7}, n) - 0.5F;
    Buffer<float> bias(outputs, 0.0F);
    model.layers.push_back(
        {.precision = model.precision, .neighbor = nn::make_linear(std::move(weight), std::move(bias), true)});
  }
  model.network = [](nn::ProgramBuilder& build) {
    const auto layer = [&](std::size_t l, nn::ValueId x, std::size_t outputs) {
      build.begin_layer(l);
      return build.aggregate(build.product(x, nn::WeightOf::neighbor, outputs), nn::Aggregation::symmetric);
    };
    const nn::ValueId first = build.relu(layer(0, build.features(), 64));
    const nn::ValueId second = build.add(layer(1, first, 64), first);  // the residual connection
    return layer(2, second, 7);
  };
  nn::InferencePlan plan(model, data);
  for (const nn::ExplainedOperator& op : plan.explain()) std::printf("layer %zu  %s\n", op.layer, op.name.c_str());
  const DenseMatrix<float>& logits = plan.run();
  std::printf("%zu nodes, %zu logits each\n", logits.nrows(), logits.ncols());
}
