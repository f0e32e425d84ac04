// SPDX-License-Identifier: Apache-2.0
#include "nn/inference/sequence.hpp"

#include <bitgraph/ops/fused_vote.hpp>

#include "nn/one_launch/one_launch.hpp"

#include <algorithm>

namespace bitgraph::nn {

namespace {

constexpr std::size_t sector = 32;                         ///< what a gather moves at least
constexpr std::size_t most_count_bytes = 1 << 25;          ///< of a block's counts
constexpr std::size_t most_count_bytes_on_host = 1 << 21;  ///< they stay in the second-level cache until they are used

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

/// SELL makes votes and counts over a large graph with long rows quicker. It is kept where nothing else needs the
/// graph: in blocks, so that little of it is there twice while it is made.
bool keeps_sell(const Model& model, const InferenceOptions& options, const Sequences& decided,
                const CsrPattern& graph) {
  constexpr std::size_t least_bytes = 1 << 22;
  constexpr std::size_t least_degree = 16;
  if (options.graph != GraphFormat::automatic || options.strategy != SpmmStrategy::automatic) return false;
  if (options.capacity.nodes != 0 || options.capacity.entries != 0)
    return false;  // rows of a pattern are changed in place
  if (graph.bytes() < least_bytes || graph.nvals() < least_degree * graph.nrows()) return false;
  for (std::size_t l = 0; l < model.layers.size(); ++l) {
    const bool counts = options.forms[l].votes() || decided.aggregate_first[l];
    if (model.layers[l].aggregation != Aggregation::none && !counts) return false;
  }
  return true;
}

/// Which layers count first.
void decide_counts(Sequences& decided, const Model& model, const InferenceOptions& options, const CsrPattern& graph) {
  for (std::size_t l = 1; l < model.layers.size(); ++l) {
    const Layer& layer = model.layers[l];
    const bool counts = !options.forms[l].votes() && options.forms[l - 1].votes();
    const bool mean = layer.aggregation == Aggregation::mean || layer.aggregation == Aggregation::mean_with_self;
    if (!counts || !mean) continue;
    if (options.sequence == Sequence::automatic && !moves_less(layer, graph.nrows(), graph.nvals())) continue;
    if (layer.aggregation == Aggregation::mean && has_empty_row(graph)) continue;  // its bias is not for all rows
    decided.aggregate_first[l] = true;
  }
}

/// Whether votes have kernels that do what follows them. A small graph is one launch as it is.
bool fuses(const InferenceOptions& options, const CsrPattern& graph, const Device& device, bool whole) {
  const bool pattern = options.graph == GraphFormat::automatic || options.graph == GraphFormat::csr;
  const bool small = options.launching == Launching::one ||
                     (options.launching == Launching::automatic && fits_one_launch(graph.nrows(), graph.nvals()));
  return !device.is_host() && whole && pattern && !small && options.fusion == Fusion::automatic &&
         options.strategy == SpmmStrategy::automatic;
}

/// A loop included.
EdgeOffset longest_row(const CsrPattern& a) {
  EdgeOffset longest = 0;
  for (NodeId i = 0; i < a.nrows(); ++i) longest = std::max<EdgeOffset>(longest, a.row(i).size());
  return longest + 1;
}

/// What the kernel of layer l's vote can do of the last layer.
VotePostOp post_op_of_vote(const Model& model, const InferenceOptions& options, const Sequences& decided,
                           std::size_t l) {
  const std::size_t last = model.layers.size() - 1;
  if (l + 1 != last || !options.forms[last].multiplies_signs()) return VotePostOp::none;
  const Layer& next = model.layers[last];
  if (next.outputs() > RowScores::most) return VotePostOp::none;
  if (next.aggregation == Aggregation::none) {
    // The layers before it stand side by side: two of one width, or one.
    const std::size_t width = model.layers[l].outputs();
    const bool one = last == 1;
    const bool two = last == 2 && options.forms[0].votes() && model.layers[0].outputs() == width;
    return one || (two && width % 64 == 0) ? VotePostOp::logits : VotePostOp::none;
  }
  const bool plain = next.aggregation != Aggregation::symmetric && !decided.aggregate_first[last];
  return plain && !model.concatenates() ? VotePostOp::scores : VotePostOp::none;
}

void decide_fusions(Sequences& decided, const Model& model, const InferenceOptions& options, const CsrPattern& graph) {
  const EdgeOffset longest = longest_row(graph);
  for (std::size_t l = 0; l < model.layers.size(); ++l) {
    const Layer& layer = model.layers[l];
    if (decided.aggregate_first[l]) {
      decided.fused[l] = can_fuse_counts(layer.inputs(), longest, layer.outputs());
    } else if (options.forms[l].votes() && can_fuse(layer.outputs(), longest)) {
      decided.fused[l] = true;
      decided.post_op[l] = post_op_of_vote(model, options, decided, l);
    }
  }
}

std::size_t blocks_for_counts(const Sequences& decided, const Model& model, const InferenceOptions& options,
                              const CsrPattern& graph, const Device& device) {
  const std::size_t most = device.is_host() ? most_count_bytes_on_host : most_count_bytes;
  std::size_t blocks = 1;
  if (options.graph != GraphFormat::automatic && options.graph != GraphFormat::csr) return blocks;
  for (std::size_t l = 0; l < model.layers.size(); ++l) {
    if (!decided.aggregate_first[l] || decided.fused[l]) continue;
    const std::size_t bytes = graph.nrows() * model.layers[l].inputs() * sizeof(float);
    blocks = std::max(blocks, (bytes + most - 1) / most);
  }
  return blocks;
}

}  // namespace

Sequences decide_sequences(const Model& model, const InferenceOptions& options, const CsrPattern& graph,
                           const Device& device, bool whole) {
  constexpr std::size_t sell_blocks = 16;
  const std::size_t layers = model.layers.size();
  Sequences decided;
  decided.aggregate_first.assign(layers, false);
  decided.fused.assign(layers, false);
  decided.post_op.assign(layers, VotePostOp::none);
  if (options.sequence != Sequence::update_first) decide_counts(decided, model, options, graph);
  if (fuses(options, graph, device, whole)) decide_fusions(decided, model, options, graph);
  decided.blocks = blocks_for_counts(decided, model, options, graph, device);
  if (decided.blocks > 1) {  // there is no whole graph
    decided.fused.assign(layers, false);
    decided.post_op.assign(layers, VotePostOp::none);
    decided.blocks = blocks_for_counts(decided, model, options, graph, device);
  }
  if (device.is_host() && whole && keeps_sell(model, options, decided, graph)) {
    decided.sell = true;
    decided.blocks = std::max(decided.blocks, sell_blocks);
  }
  return decided;
}

bool joins_rows(const Model& model, const InferenceOptions& options, const Device& device) {
  const std::size_t last = model.layers.size() - 1;
  if (!device.is_host() || !model.concatenates() || last == 0 || !options.forms[last].multiplies_signs()) return false;
  for (std::size_t l = 0; l < last; ++l) {
    if (!options.forms[l].votes()) return false;
  }
  return model.layers[last].aggregation == Aggregation::none && model.layers[last].root.empty();
}

}  // namespace bitgraph::nn
