// SPDX-License-Identifier: Apache-2.0
#include "nn/sequence.hpp"

#include <algorithm>

namespace bitgraph::nn {

namespace {

constexpr std::size_t sector = 32;                 ///< what a gather moves at least
constexpr std::size_t most_count_bytes = 1 << 25;  ///< of a block's counts

std::size_t gathered(std::size_t bytes) { return (bytes + sector - 1) / sector * sector; }

bool has_empty_row(const CsrPattern& a) {
  for (NodeId i = 0; i < a.nrows(); ++i) {
    if (a.row(i).empty()) return true;
  }
  return false;
}

/// The bytes that a layer moves either way.
bool moves_less(const Layer& layer, std::size_t nodes, std::size_t entries) {
  const std::size_t out = layer.outputs() * sizeof(float);
  const std::size_t counts = layer.inputs() * sizeof(float);
  const std::size_t update_first = entries * gathered(out) + 2 * nodes * out;
  const std::size_t aggregate_first = entries * gathered(layer.inputs() / 8) + 2 * nodes * counts;
  return aggregate_first < update_first;
}

}  // namespace

Sequences decide_sequences(const Model& model, const InferenceOptions& options, const CsrPattern& graph) {
  Sequences decided;
  decided.aggregate_first.assign(model.layers.size(), false);
  if (options.sequence == Sequence::update_first) return decided;
  for (std::size_t l = 1; l < model.layers.size(); ++l) {
    const Layer& layer = model.layers[l];
    const bool counts = options.forms[l] == Precision::full && options.forms[l - 1] == Precision::bin;
    const bool mean = layer.aggregation == Aggregation::mean || layer.aggregation == Aggregation::mean_with_self;
    if (!counts || !mean) continue;
    if (options.sequence == Sequence::automatic && !moves_less(layer, graph.nrows(), graph.nvals())) continue;
    if (layer.aggregation == Aggregation::mean && has_empty_row(graph)) continue;  // its bias is not for all rows
    decided.aggregate_first[l] = true;
    const bool pattern_alone = options.graph == GraphFormat::automatic || options.graph == GraphFormat::csr;
    const std::size_t bytes = graph.nrows() * layer.inputs() * sizeof(float);
    if (pattern_alone) decided.blocks = std::max(decided.blocks, (bytes + most_count_bytes - 1) / most_count_bytes);
  }
  return decided;
}

}  // namespace bitgraph::nn
