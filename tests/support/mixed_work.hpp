// SPDX-License-Identifier: Apache-2.0
// A little of everything that runs on a device: conversions, products, searches, a network.
#pragma once

#include <bitgraph/graph/bfs.hpp>
#include <bitgraph/graph/generate.hpp>
#include <bitgraph/graph/pagerank.hpp>
#include <bitgraph/nn/infer.hpp>
#include <bitgraph/ops/mxm.hpp>

#include "nn/model/random_model.hpp"

#include <cstddef>
#include <vector>

namespace bitgraph::test {

/// Its input, on the host.
struct MixedInput {
  CsrPattern graph = symmetrized(generate_rmat(10, 8, 3));
  Dataset dataset = generate_planted_partition({.num_nodes = 500, .num_classes = 4, .num_features = 60, .seed = 5});
};

/// Results of operators over `graph`, which lies on a device, and of networks there. They depend on the kind of device
/// only.
inline std::vector<double> mixed_work(const MixedInput& input, const CsrPattern& graph) {
  const Device& device = graph.device();
  std::vector<double> results;
  const auto keep = [&](const auto& values) {
    const auto here = values.to(Device{});
    results.insert(results.end(), here.begin(), here.end());
  };
  const BitTileMatrix tiles = pack(graph, {.tile_dim = 8}, device);
  results.push_back(static_cast<double>(mxm_sum(tiles, transpose(tiles), tiles)));
  const PackedGraph packed = pack_graph(graph, {}, device);
  keep(bfs(packed, {.source = 1}).level);
  keep(pagerank(packed).rank);
  for (const nn::Precision precision : {nn::Precision::real, nn::Precision::bin}) {
    const nn::Model model =
        nn::random_model(nn::Architecture::sage, precision, input.dataset.num_features(), 32, 4, 2, 7);
    nn::InferencePlan plan(model, input.dataset, {}, device);
    const DenseMatrix<float> logits = plan.run().to(Device{});
    results.insert(results.end(), logits.values().begin(), logits.values().end());
  }
  return results;
}

}  // namespace bitgraph::test
