// SPDX-License-Identifier: Apache-2.0
// What a plan will hold, from shapes and counts alone: the same list as Forward makes.
#include "nn/inference/plan_memory.hpp"
#include "nn/inference/row_blocks.hpp"

#include <bitgraph/formats/bit_tile_matrix.hpp>
#include <bitgraph/formats/reorder.hpp>
#include <bitgraph/ops/fused_vote.hpp>
#include <bitgraph/ops/spmm.hpp>

#include "nn/inference/graph_operands.hpp"
#include "nn/inference/sequence.hpp"
#include "nn/one_launch/one_launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace bitgraph::nn {

namespace {

std::size_t bits_bytes(std::size_t nrows, std::size_t ncols) {
  return nrows * words_for_bits(ncols) * sizeof(std::uint64_t);
}

std::size_t pattern_bytes(std::size_t nrows, std::size_t entries) {
  return (nrows + 1) * sizeof(EdgeOffset) + entries * sizeof(NodeId);
}

/// With chunks of rows that have equally many entries.
std::size_t sell_bytes(std::size_t n, std::size_t entries) {
  constexpr std::size_t row = 2 * sizeof(NodeId) + sizeof(EdgeOffset) / SellView::lanes;
  const SellStrips strips = SellStrips::of(static_cast<NodeId>(n), static_cast<NodeId>(n), entries);
  const std::size_t degrees = strips.count > 1 ? n * sizeof(NodeId) : 0;
  return strips.count * n * row + entries * (strips.short_indices ? sizeof(std::uint16_t) : sizeof(NodeId)) + degrees;
}

/// Tiles on the diagonal without an entry: loops make them.
EdgeOffset empty_diagonal_tiles(const CsrPattern& a, int tile_dim) {
  const auto side = static_cast<std::uint64_t>(tile_dim);
  EdgeOffset empty = 0;
  for (std::uint64_t first = 0; first < a.nrows(); first += side) {
    const std::uint64_t last = std::min<std::uint64_t>(first + side, a.nrows());
    bool found = false;
    for (std::uint64_t i = first; i < last && !found; ++i) {
      const auto row = a.row(static_cast<NodeId>(i));
      const auto at = std::lower_bound(row.begin(), row.end(), static_cast<NodeId>(first));
      found = at != row.end() && *at < last;
    }
    empty += found ? 0 : 1;
  }
  return empty;
}

/// How many features have another sign than that of an absent one.
std::size_t flips(const Model& model, const Dataset& dataset) {
  const SparseFeatures& x = dataset.features;
  std::size_t count = 0;
  for (NodeId i = 0; i < x.pattern.nrows(); ++i) {
    for (EdgeOffset e = x.pattern.row_ptr()[i]; e < x.pattern.row_ptr()[i + 1]; ++e) {
      const NodeId j = x.pattern.col_ind()[e];
      const float mean = model.input_mean.empty() ? 0.0F : model.input_mean[j];
      count += (x.values[e] - mean >= 0) != (-mean >= 0) ? 1 : 0;
    }
  }
  return count;
}

class Counter {
 public:
  Counter(const CsrPattern& graph, const Model& model, const Dataset& dataset, const InferenceOptions& options,
          const Device& device)
      : graph_(graph),
        model_(model),
        dataset_(dataset),
        options_(options),
        device_(device),
        n_(std::max<std::size_t>(graph.nrows(), options.capacity.nodes)),
        m_(std::max<std::size_t>(graph.nvals(), options.capacity.entries)),
        whole_(decide_sequences(model, options, graph, device, true)),
        in_parts_(decide_sequences(model, options, graph, device, false)) {
    features_ = feature_bytes();
    // The first new node moves the features to a place that has room: both are there for a while.
    if (n_ > graph.nrows()) features_ += features_ / n_ * graph.nrows();
    for (const Layer& layer : model.layers) weights_ += weight_bytes(layer);
  }

  [[nodiscard]] std::size_t bytes(std::size_t parts) const {
    const std::size_t values = values_bytes(parts);
    const std::size_t total = features_ + weights_ + graph_bytes(parts) + values + copy_bytes(parts);
    if (parts != 1 || !whole_.sell) return std::max(while_made_, total);
    // While SELL is made, ahead of the first vote, one block is there as rows, and later layers are not.
    const std::size_t rows = pattern_bytes(n_ / whole_.blocks + 1, largest_part(whole_.blocks));
    const std::size_t later = values - 2 * bits_bytes(n_, model_.layers.front().outputs());
    return std::max({while_made_, total, total - later + rows});
  }

 private:
  [[nodiscard]] std::size_t feature_bytes() {
    const std::size_t d = dataset_.num_features();
    if (!options_.forms.front().multiplies_signs()) {
      const bool dense =
          dataset_.has_dense_features() || !device_.is_host() || options_.features == FeatureStorage::dense;
      if (dataset_.has_dense_features() && device_.is_host()) return n_ * d * sizeof(float);
      if (dense) return n_ * d * sizeof(float);
      return pattern_bytes(n_, for_all_nodes(dataset_.features.pattern.nvals()));
    }
    const std::size_t dense = bits_bytes(n_, d);
    const std::size_t alpha = n_ * sizeof(float);
    if (dataset_.has_dense_features()) return dense + alpha;
    const std::size_t sparse = bits_bytes(1, d) + pattern_bytes(n_, for_all_nodes(flips(model_, dataset_)));
    sparse_features_ = sparse <= dense && options_.features == FeatureStorage::sparse;
    if (sparse_features_) return alpha + sparse;
    if (device_.is_host()) while_made_ = alpha + sparse + dense;  // one is made of the other, before all else
    return alpha + dense;
  }

  /// Of what the nodes have that are there, for as many as there is room for.
  [[nodiscard]] std::size_t for_all_nodes(std::size_t count) const {
    const std::size_t nodes = std::max<std::size_t>(1, graph_.nrows());
    return n_ <= nodes ? count : count / nodes * n_ + count % nodes * n_ / nodes;
  }

  [[nodiscard]] std::size_t weight_bytes(const Layer& layer) const {
    return layer.neighbor.bytes() + layer.root.bytes() + layer.outputs() * sizeof(float);
  }

  [[nodiscard]] std::size_t graph_bytes(std::size_t parts) const {
    std::size_t total = 0;
    std::set<bool> patterns;
    std::set<Aggregation> scales;
    for (const Layer& layer : model_.layers) {
      if (layer.aggregation == Aggregation::none) continue;
      patterns.insert(has_loops(layer.aggregation));
      scales.insert(layer.aggregation);
    }
    scales.erase(Aggregation::sum);
    total += scales.size() * n_ * sizeof(float);
    if (parts == 1) {
      std::set<bool> orders;
      for (std::size_t l = 0; l < model_.layers.size(); ++l) {
        if (goes_by_order(l)) orders.insert(has_loops(model_.layers[l].aggregation));
      }
      total += orders.size() * n_ * sizeof(NodeId);
    }
    const bool reserved = options_.capacity.nodes != 0 || options_.capacity.entries != 0;
    if (reserved) total += pattern_bytes(n_, m_);
    for (const bool loops : patterns) {
      const std::size_t entries = m_ + (loops ? n_ : 0);
      if (reserved && !loops && parts == 1 && device_.is_host() && options_.order == Order::original) {
        total += vote_bytes(loops);
        continue;  // the graph that the plan keeps
      }
      if (parts == 1 && whole_.sell) {
        total += sell_bytes(n_, entries);
      } else if (parts == 1) {
        total += pattern_bytes(n_, entries) + vote_bytes(loops);
      } else {
        const std::size_t cut = std::max(parts, in_parts_.blocks);
        const std::size_t kept = scales.size() * n_ * sizeof(float) + (reserved ? pattern_bytes(n_, m_) : 0);
        total = std::max(total, kept + pattern_bytes(n_ / cut + 1, largest_part(cut)));
      }
    }
    return total;
  }

  /// Of the format that votes have beside the pattern, where the plan names one.
  [[nodiscard]] std::size_t vote_bytes(bool loops) const {
    bool votes = false;
    for (std::size_t l = 0; l < model_.layers.size(); ++l)
      votes |= options_.forms[l].votes() && has_loops(model_.layers[l].aggregation) == loops;
    const int k = options_.tile_dim;
    if (!votes) return 0;
    if (options_.graph == GraphFormat::sell) return sell_bytes(n_, m_ + (loops ? n_ : 0));
    if (options_.graph != GraphFormat::tiles) return 0;
    return b2sr_bytes(graph_.nrows(), count_tiles(graph_, k) + (loops ? empty_diagonal_tiles(graph_, k) : 0), k);
  }

  /// Whether a layer of a plan over the whole graph takes the rows of its pattern by a RowOrder.
  [[nodiscard]] bool goes_by_order(std::size_t l) const {
    if (device_.is_host() || model_.layers[l].aggregation == Aggregation::none) return false;
    const bool rows = options_.graph != GraphFormat::sell && options_.graph != GraphFormat::tiles;
    const bool votes = options_.forms[l].votes() && rows;
    const bool sums = !options_.forms[l].votes() && spmm_sums_by_order(model_.layers[l].outputs());
    return votes || sums || whole_.fused[l] || whole_.aggregate_first[l];
  }

  /// The most entries, loops included, of one of the parts.
  [[nodiscard]] std::size_t largest_part(std::size_t parts) const {
    std::size_t most = 0;
    const auto row_ptr = graph_.row_ptr();
    for (std::size_t part = 0; part < parts; ++part) {
      const std::size_t first = graph_.nrows() * part / parts;
      const std::size_t last = graph_.nrows() * (part + 1) / parts;
      most = std::max<std::size_t>(most, row_ptr[last] - row_ptr[first] + (last - first));
    }
    return most + (m_ - graph_.nvals() + n_ - graph_.nrows()) / parts;
  }

  /// Of a vote's kernel and what it does besides. `signs` is the width of those that are there.
  [[nodiscard]] std::size_t fused_vote_bytes(std::size_t l, VotePostOp post_op, std::size_t& signs) const {
    const Layer& layer = model_.layers[l];
    const std::size_t classes = model_.num_classes();
    const std::size_t w = layer.outputs();
    const bool root = !layer.root.empty();
    const bool joined = root && w % 256 == 0 && !(l == 0 && sparse_features_);
    const bool kept = post_op == VotePostOp::none || (root && !joined);
    std::size_t total = kept ? bits_bytes(n_, w) : 0;
    const std::size_t needed = joined ? 2 * w : w;
    if (signs != needed) total += bits_bytes(n_, needed);
    signs = needed;
    if (post_op != VotePostOp::none) total += n_ * classes * sizeof(float);
    if (post_op == VotePostOp::scores) total += n_ * RowScores::row_size(classes) * sizeof(std::uint16_t);
    return total;
  }

  [[nodiscard]] std::size_t values_bytes(std::size_t parts) const {
    const Sequences& sequences = parts == 1 ? whole_ : in_parts_;
    std::size_t total = 0;
    bool floats_in = false;
    std::size_t side_by_side = 0;
    std::size_t signs = 0;  // of the matrix that is there for them
    for (std::size_t l = 0; l < model_.layers.size(); ++l) {
      const Layer& layer = model_.layers[l];
      const bool last = l + 1 == model_.layers.size();
      const std::size_t w = layer.outputs();
      const Precision form = options_.forms[l];
      if (last && joins_rows(model_, options_, device_)) {
        total += bits_bytes(std::min(n_, joined_rows), side_by_side);
      } else if (last && model_.concatenates() && l > 0) {
        total += floats_in ? n_ * side_by_side * sizeof(float) : bits_bytes(n_, side_by_side);
      }
      if (floats_in && form.multiplies_signs()) total += stored_bytes(form.input, n_, layer.inputs());
      if (sequences.fused[l] && form.votes()) {
        total += fused_vote_bytes(l, sequences.post_op[l], signs);
        if (sequences.post_op[l] != VotePostOp::none) break;
        side_by_side += w;
        floats_in = false;
        continue;
      }
      const bool counts = sequences.aggregate_first[l];
      if (counts && sequences.fused[l]) {
        total += n_ * w * sizeof(float);
        continue;
      }
      if (counts) total += most_rows(n_, std::max(parts, sequences.blocks)) * layer.inputs() * sizeof(float);
      const bool one = layer.aggregation == Aggregation::none || (counts && layer.root.empty());
      const bool lent = form.votes() && device_.is_host() && signs == w;
      if (form.votes() && device_.is_host()) signs = w;
      const std::size_t matrices = one || lent ? 1 : 2;
      total += matrices * stored_bytes(form.output, n_, w);
      floats_in = !form.votes();
      side_by_side += w;
    }
    // The matrices between the steps are given back before what one launch needs is there.
    if (is_one_launch(parts)) total = std::max(total, n_ * model_.num_classes() * sizeof(float) + mailbox_bytes());
    if (options_.order != Order::original) total += n_ * model_.num_classes() * sizeof(float) + pattern_bytes(n_, n_);
    return total;
  }

  /// Of the largest copy of features that a device's sums make.
  [[nodiscard]] std::size_t copy_bytes(std::size_t parts) const {
    if (device_.is_host() || is_one_launch(parts)) return 0;
    const Sequences& sequences = parts == 1 ? whole_ : in_parts_;
    const std::size_t of_part = parts == 1 ? 0 : largest_part(std::max(parts, in_parts_.blocks));
    std::size_t most = 0;
    for (std::size_t l = 0; l < model_.layers.size() && sequences.post_op[l] == VotePostOp::none; ++l) {
      const Layer& layer = model_.layers[l];
      const bool sums = layer.aggregation != Aggregation::none && !options_.forms[l].votes();
      if (!sums || sequences.aggregate_first[l] || sequences.fused[l]) continue;
      const std::size_t entries = parts == 1 ? m_ + (has_loops(layer.aggregation) ? n_ : 0) : of_part;
      const bool weighted = layer.aggregation == Aggregation::symmetric;
      most = std::max(most, spmm_copy_bytes(n_, layer.outputs(), entries, weighted));
    }
    return most;
  }

  [[nodiscard]] bool is_one_launch(std::size_t parts) const {
    const bool asked = options_.launching == Launching::one ||
                       (options_.launching == Launching::automatic && fits_one_launch(n_, graph_.nvals()));
    const bool pattern_alone = options_.graph == GraphFormat::automatic || options_.graph == GraphFormat::csr;
    const auto& counts = whole_.aggregate_first;
    return asked && pattern_alone && !device_.is_host() && parts == 1 && options_.forms.front().multiplies_signs() &&
           std::find(counts.begin(), counts.end(), true) == counts.end();
  }

  /// What rows tell others in one launch, and where they are.
  [[nodiscard]] std::size_t mailbox_bytes() const {
    std::size_t total = n_ * (sizeof(Place) + 2 * sizeof(RowRange));
    for (std::size_t l = 0; l < model_.layers.size(); ++l) {
      if (model_.layers[l].aggregation != Aggregation::none)
        total += n_ * published_words(model_.layers[l].outputs(), options_.forms[l].votes()) * sizeof(std::uint64_t);
    }
    return total;
  }

  const CsrPattern& graph_;
  const Model& model_;
  const Dataset& dataset_;
  const InferenceOptions& options_;
  const Device& device_;
  std::size_t n_;  ///< nodes, with those that there is room for
  std::size_t m_;  ///< entries, with those that there is room for
  Sequences whole_, in_parts_;
  bool sparse_features_ = false;  ///< bits, as differences
  std::size_t while_made_ = 0;
  std::size_t features_ = 0;
  std::size_t weights_ = 0;
};

}  // namespace

std::vector<Precision> checked_forms(const Model& model, const std::vector<Precision>& wanted) {
  require(model.layers.size() <= most_depth + 1, "a model has at most 64 layers that aggregate");
  if (wanted.empty()) return model.layer_forms(model.precision);
  if (wanted.size() != model.layers.size()) {
    fail(ErrorCode::usage,
         fmt::format("{} forms are given for a model of {} layers", wanted.size(), model.layers.size()));
  }
  for (std::size_t l = 0; l < wanted.size(); ++l) {
    require_supported(wanted[l]);
    if (wanted[l].multiplies_signs() != model.precision.multiplies_signs()) {
      fail(ErrorCode::usage, fmt::format("a model of precision {} has no layer of form {}", to_string(model.precision),
                                         to_string(wanted[l])));
    }
    const bool votes = wanted[l].votes();
    if (votes && (l + 1 == wanted.size() || model.layers[l].aggregation == Aggregation::none))
      fail(ErrorCode::usage, fmt::format("layer {} cannot be bin: its output is the logits", l));
    if (model.concatenates() && l + 1 < wanted.size() && votes != wanted.front().votes())
      fail(ErrorCode::usage, "layers whose outputs stand side by side must all be bin, or none of them");
  }
  return wanted;
}

PredictedMemory predict_memory_over(const CsrPattern& graph, const Model& model, const Dataset& dataset,
                                    const InferenceOptions& options, const Device& device) {
  const Counter counter(graph, model, dataset, options, device);
  PredictedMemory predicted;
  predicted.whole_bytes = predicted.bytes = counter.bytes(1);
  const std::size_t most_parts = std::min<std::size_t>(4096, std::max<std::size_t>(1, graph.nrows()));
  while (options.memory != 0 && predicted.bytes > options.memory) {
    if (predicted.parts >= most_parts) {
      fail(ErrorCode::not_possible,
           fmt::format(
               "the limit of {} bytes is too small: the plan needs {} bytes, or at least {} with its graph in parts",
               options.memory, predicted.whole_bytes, predicted.bytes));
    }
    predicted.parts = std::min(2 * predicted.parts, most_parts);
    predicted.bytes = counter.bytes(predicted.parts);
  }
  return predicted;
}

PredictedMemory predict_memory(const Model& model, const Dataset& dataset, const InferenceOptions& options,
                               const Device& device) {
  model.require_fit(dataset);
  InferenceOptions checked = options;
  checked.forms = checked_forms(model, options.forms);
  if (options.order == Order::original) return predict_memory_over(dataset.graph, model, dataset, checked, device);
  const CsrPattern graph = permuted(dataset.graph, reorder(dataset.graph, options.order).span());
  return predict_memory_over(graph, model, dataset, checked, device);
}

}  // namespace bitgraph::nn
