// SPDX-License-Identifier: Apache-2.0
// What a trainer sees in each of its steps, found out a second time: which nodes, edges and features, what dropout
// leaves of them, labels and weights of losses. Samples and masks come from the library's own draws, by the keys that
// trained models are known by; all else is worked out here in double.
#pragma once

#include "nn/model/architectures.hpp"
#include "support/double_matrix.hpp"
#include "support/network_oracle.hpp"

#include <bitgraph/core/random.hpp>
#include <bitgraph/io/dataset.hpp>
#include <bitgraph/nn/sampling.hpp>
#include <bitgraph/nn/train.hpp>
#include <bitgraph/ops/dropout.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace bitgraph::test {

class OracleBatches {
 public:
  /// Options are complete. `teacher` has the probabilities of all nodes, or is empty.
  OracleBatches(const Dataset& dataset, const nn::TrainOptions& options, const DoubleMatrix& teacher)
      : options_(options),
        dense_(dataset.has_dense_features()),
        shapes_(nn::layer_shapes(options.architecture, dataset.num_features(), options.hidden,
                                 static_cast<std::size_t>(dataset.num_classes), options.depth,
                                 options.jumping_knowledge)) {
    see(dataset, teacher);
    take_features(dataset);
    if (options.partition != nullptr) {
      take_parts(*options.partition);
    } else if (nn::traits_of(options.architecture).batches == nn::BatchKind::walks) {
      const std::size_t most = std::max<std::size_t>(1, nodes_.size() / (2 * (*options.walk_length + 1)));
      const nn::RandomWalkOptions walks{
          .num_roots = std::min(*options.walk_roots, most), .walk_length = *options.walk_length, .seed = options.seed};
      walks_.emplace(graph_, std::span<const NodeId>(targets_), walks);
      walks_->estimate(walks_->subgraphs_for_coverage(50));
      batches_ = walks_->subgraphs_for_coverage(1);
    } else if (samples()) {
      neighbors_.emplace(graph_, options.fan_outs, options.seed);
      const std::size_t size = std::min(*options.batch_size, targets_.size());
      batches_ = (targets_.size() + size - 1) / size;
    }
  }

  /// In an epoch.
  [[nodiscard]] std::size_t batches() const { return batches_; }

  /// Adam's number of a step.
  [[nodiscard]] std::size_t number(std::size_t epoch, std::size_t batch) const {
    return (epoch - 1) * batches_ + batch + 1;
  }

  /// What batch `batch` of the epoch gives; epochs count from 1.
  OracleStep step(std::size_t epoch, std::size_t batch) {
    OracleStep step;
    step.layers.resize(shapes_.size());
    for (OracleLayer& layer : step.layers) layer.form = options_.precision;
    // The form bin is trained as full in the first half of all epochs. A last layer gives numbers.
    if (options_.precision.votes() && 2 * epoch <= *options_.epochs) {
      for (OracleLayer& layer : step.layers) layer.form = nn::Precision::full;
    }
    step.layers.back().form = step.layers.back().form.of_last_layer();
    mark_plain_signs(step);
    if (!parts_.empty()) {
      take_some_parts(step, epoch, batch);
    } else if (walks_) {
      walk(step, epoch, batch);
    } else if (neighbors_) {
      sample(step, epoch, batch);
    } else {
      take_whole(step);
    }
    drop(step, number(epoch, batch));
    return step;
  }

  /// The nodes of the last step, by the data set's numbers: row i of each layer is the i-th.
  [[nodiscard]] std::vector<NodeId> step_nodes() const {
    std::vector<NodeId> nodes;
    for (const NodeId node : rows_) nodes.push_back(nodes_[node]);
    return nodes;
  }

 private:
  [[nodiscard]] bool samples() const { return nn::traits_of(options_.architecture).sampled(); }
  [[nodiscard]] bool in_batches() const { return samples() || !parts_.empty(); }
  [[nodiscard]] bool aggregates(std::size_t l) const { return shapes_[l].aggregation != nn::Aggregation::none; }
  [[nodiscard]] bool real() const { return !options_.precision.multiplies_signs(); }

  /// A GCN is trained over the whole graph; the others see the training nodes and the edges between them, or all nodes
  /// and the labels of the training nodes.
  void see(const Dataset& dataset, const DoubleMatrix& teacher) {
    std::vector<NodeId> train = dataset.train;
    std::sort(train.begin(), train.end());
    if (samples() && options_.sample_from != nn::SampleFrom::all) {
      nodes_ = train;
    } else {
      nodes_.resize(dataset.graph.nrows());
      std::iota(nodes_.begin(), nodes_.end(), NodeId{0});
    }
    for (const NodeId node : train)
      targets_.push_back(static_cast<NodeId>(std::ranges::lower_bound(nodes_, node) - nodes_.begin()));
    graph_ = nn::induced_subgraph(dataset.graph, nodes_);
    for (const NodeId node : nodes_) labels_.push_back(dataset.labels[node]);
    if (!samples()) counted_.assign(dataset.train.begin(), dataset.train.end());
    if (teacher.empty()) return;
    taught_ = DoubleMatrix(nodes_.size(), teacher.ncols);
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      for (std::size_t c = 0; c < teacher.ncols; ++c) taught_(n, c) = teacher(nodes_[n], c);
    }
  }

  /// The features of the nodes that are seen, as the model takes them, without dropout.
  void take_features(const Dataset& dataset) {
    x_ = DoubleMatrix(nodes_.size(), dataset.num_features());
    set_ = x_;
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      if (dataset.has_dense_features()) {
        for (std::size_t j = 0; j < x_.ncols; ++j) x_(n, j) = dataset.dense_features(nodes_[n], j), set_(n, j) = 1;
        continue;
      }
      const CsrPattern& pattern = dataset.features.pattern;
      for (EdgeOffset e = pattern.row_ptr()[nodes_[n]]; e < pattern.row_ptr()[nodes_[n] + std::size_t{1}]; ++e)
        x_(n, pattern.col_ind()[e]) = dataset.features.values[e], set_(n, pattern.col_ind()[e]) = 1;
    }
    const bool counts = !dataset.has_dense_features() &&
                        std::none_of(x_.values.begin(), x_.values.end(), [](double value) { return value < 0; });
    if (real()) {
      if (counts) divide_rows();
      if (counts && !samples()) scale_rows(dataset);
      return;
    }
    presence_ = counts;
    base_.assign(x_.ncols, -1);
    if (!presence_) {
      for (std::size_t j = 0; j < x_.ncols; ++j) {
        double sum = 0;
        for (std::size_t i = 0; i < x_.nrows; ++i) sum += x_(i, j);
        base_[j] = sum > 0 ? -1 : 1;  // an absent feature is 0, and below the mean
      }
    }
    x_ = presence_ ? presence() : batch_norm();
    alpha_.resize(x_.nrows);
    for (std::size_t i = 0; i < x_.nrows; ++i) alpha_[i] = row_mean(x_, i);
    x_ = signs_of(x_);
    center_.assign(x_.ncols, 0);
    for (std::size_t j = 0; j < x_.ncols; ++j) {
      for (std::size_t i = 0; i < x_.nrows; ++i) center_[j] += alpha_[i] * x_(i, j) / static_cast<double>(x_.nrows);
    }
  }

  void divide_rows() {
    for (std::size_t i = 0; i < x_.nrows; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < x_.ncols; ++j) sum += x_(i, j);
      for (std::size_t j = 0; j < x_.ncols && sum != 0; ++j) x_(i, j) /= sum;
    }
  }

  /// A whole-graph GCN in floats sees rows whose mean length is 1, by the training and validation nodes.
  void scale_rows(const Dataset& dataset) {
    double squares = 0, rows = 0;
    for (const auto* nodes : {&dataset.train, &dataset.validation}) {
      for (const NodeId node : *nodes) {
        double of_row = 0;
        for (std::size_t j = 0; j < x_.ncols; ++j) of_row += x_(node, j) * x_(node, j);
        squares += of_row, rows += of_row > 0 ? 1 : 0;
      }
    }
    for (double& value : x_.values) value /= std::sqrt(squares / rows);
  }

  /// Near +1 where a node has a feature, -1 where it does not.
  [[nodiscard]] DoubleMatrix presence() const {
    double all = 0, all_entries = 0;
    for (std::size_t n = 0; n < x_.values.size(); ++n) all += x_.values[n], all_entries += set_.values[n];
    DoubleMatrix half(1, x_.ncols);
    for (std::size_t j = 0; j < x_.ncols; ++j) {
      double sum = 0, entries = 0;
      for (std::size_t i = 0; i < x_.nrows; ++i) sum += x_(i, j), entries += set_(i, j);
      half(0, j) = (sum > 0 ? sum / entries : all / all_entries) / 2;
    }
    return mapped(x_, [&](std::size_t i, std::size_t j) { return (x_(i, j) - half(0, j)) / half(0, j); });
  }

  [[nodiscard]] DoubleMatrix batch_norm() const {
    const auto n = static_cast<double>(x_.nrows);
    DoubleMatrix mean(1, x_.ncols), variance(1, x_.ncols);
    for (std::size_t j = 0; j < x_.ncols; ++j) {
      for (std::size_t i = 0; i < x_.nrows; ++i) mean(0, j) += x_(i, j) / n;
      for (std::size_t i = 0; i < x_.nrows; ++i) variance(0, j) += std::pow(x_(i, j) - mean(0, j), 2) / n;
    }
    return mapped(
        x_, [&](std::size_t i, std::size_t j) { return (x_(i, j) - mean(0, j)) / std::sqrt(variance(0, j) + 1e-5); });
  }

  /// Signs have no scales behind sums (of gin, where they are summed again) and, but for bin, behind means.
  void mark_plain_signs(OracleStep& step) const {
    using enum nn::Aggregation;
    bool sums = false, sums_of_gin = false, means = false;
    for (std::size_t l = 0; l < shapes_.size(); ++l) {
      const nn::Aggregation kind = shapes_[l].aggregation;
      step.layers[l].plain = sums || (sums_of_gin && kind == sum_with_self) || (means && !options_.precision.votes());
      sums = sums || kind == sum;
      sums_of_gin = sums_of_gin || kind == sum_with_self;
      means = means || kind == mean || kind == mean_with_self;
    }
  }

  /// The aggregation over a pattern, and its entries. `degrees` has how many neighbours each target has in
  /// the graph; empty: all are there.
  void aggregate(OracleLayer& layer, const CsrPattern& pattern, nn::Aggregation kind,
                 const std::vector<std::size_t>& degrees) const {
    const bool loops = kind == nn::Aggregation::symmetric || kind == nn::Aggregation::mean_with_self ||
                       kind == nn::Aggregation::sum_with_self;
    DoubleMatrix a(pattern.nrows(), pattern.ncols());
    for (NodeId i = 0; i < pattern.nrows(); ++i) {
      for (const NodeId j : pattern.row(i)) a(i, j) = 1;
      if (loops) a(i, i) = 1;
    }
    std::vector<double> entries(a.nrows, 0);
    for (std::size_t i = 0; i < a.nrows; ++i) {
      for (std::size_t j = 0; j < a.ncols; ++j) entries[i] += a(i, j);
    }
    layer.entries = a;
    // Sums over all neighbours are divided by the mean degree; over a sample they are scaled up to all of them.
    const double mean_degree = static_cast<double>(graph_.nvals()) / static_cast<double>(graph_.nrows());
    layer.aggregation = mapped(a, [&](std::size_t i, std::size_t j) {
      if (a(i, j) == 0) return 0.0;
      if (kind == nn::Aggregation::symmetric) return 1 / std::sqrt(entries[i] * entries[j]);
      if (kind != nn::Aggregation::sum && kind != nn::Aggregation::sum_with_self) return 1 / entries[i];
      const double all = degrees.empty() ? entries[i] : static_cast<double>(degrees[i]) + (loops ? 1 : 0);
      return all / entries[i] / mean_degree;
    });
  }

  /// Rows of the batch: `nodes` of those that are seen, the first `targets` of which have logits.
  void take_rows(OracleStep& step, std::vector<NodeId> nodes, std::size_t targets) {
    rows_ = std::move(nodes);
    for (std::size_t i = 0; i < targets; ++i) step.labels.push_back(labels_[rows_[i]]);
    if (taught_.empty()) return;
    step.divergence_weight = real() || samples() ? 1 : 4;
    step.taught = DoubleMatrix(targets, taught_.ncols);
    for (std::size_t i = 0; i < targets; ++i) {
      for (std::size_t c = 0; c < taught_.ncols; ++c) step.taught(i, c) = taught_(rows_[i], c);
    }
  }

  void take_whole(OracleStep& step) {
    std::vector<NodeId> all(nodes_.size());
    std::iota(all.begin(), all.end(), NodeId{0});
    take_rows(step, std::move(all), nodes_.size());
    step.counted = counted_;
    for (std::size_t l = 0; l < shapes_.size(); ++l)
      if (aggregates(l)) aggregate(step.layers[l], graph_, shapes_[l].aggregation, {});
  }

  /// The seen nodes of each part that has some.
  void take_parts(const Partition& partition) {
    for (NodeId part = 0; part < partition.num_parts(); ++part) {
      std::vector<NodeId> nodes;
      for (std::size_t n = 0; n < nodes_.size(); ++n) {
        if (partition.part_of()[nodes_[n]] == part) nodes.push_back(static_cast<NodeId>(n));
      }
      if (!nodes.empty()) parts_.push_back(std::move(nodes));
    }
    batches_ = (parts_.size() + *options_.batch_parts - 1) / *options_.batch_parts;
  }

  /// A batch of parts: what counts are training nodes with a label.
  void take_some_parts(OracleStep& step, std::size_t epoch, std::size_t batch) {
    std::vector<NodeId> all(parts_.size()), order, nodes;
    std::iota(all.begin(), all.end(), NodeId{0});
    nn::shuffle_into(order, all, options_.seed, static_cast<std::uint32_t>(epoch));
    const std::size_t begin = order.size() * batch / batches_, end = order.size() * (batch + 1) / batches_;
    for (std::size_t p = begin; p < end; ++p) {
      const std::vector<NodeId>& part = parts_[order[p]];
      nodes.insert(nodes.end(), part.begin(), part.end());
    }
    std::sort(nodes.begin(), nodes.end());
    take_rows(step, nodes, nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (std::ranges::binary_search(targets_, nodes[i]) && labels_[nodes[i]] >= 0) step.counted.push_back(i);
    }
    const CsrPattern pattern = nn::induced_subgraph(graph_, nodes);
    for (std::size_t l = 0; l < shapes_.size(); ++l)
      if (aggregates(l)) aggregate(step.layers[l], pattern, shapes_[l].aggregation, degrees());
  }

  void sample(OracleStep& step, std::size_t epoch, std::size_t batch) {
    std::vector<NodeId> order;
    nn::shuffle_into(order, targets_, options_.seed, static_cast<std::uint32_t>(epoch));
    const std::size_t begin = order.size() * batch / batches_, end = order.size() * (batch + 1) / batches_;
    nn::NeighborSample sample;
    neighbors_->sample_into(sample, std::span(order).subspan(begin, end - begin), static_cast<std::uint32_t>(epoch),
                            static_cast<std::uint32_t>(batch));
    take_rows(step, sample.nodes, end - begin);
    step.counted.resize(end - begin);
    std::iota(step.counted.begin(), step.counted.end(), std::size_t{0});
    std::size_t drawn = 0;
    for (std::size_t l = 0; l < shapes_.size(); ++l)
      if (aggregates(l)) aggregate(step.layers[l], sample.layers[drawn++].get(), shapes_[l].aggregation, degrees());
  }

  /// How many neighbours the step's nodes have in the graph.
  [[nodiscard]] std::vector<std::size_t> degrees() const {
    std::vector<std::size_t> all;
    for (const NodeId node : rows_) all.push_back(graph_.row(node).size());
    return all;
  }

  void walk(OracleStep& step, std::size_t epoch, std::size_t batch) {
    nn::SubgraphSample sample;
    walks_->sample_into(sample, static_cast<std::uint32_t>(epoch), static_cast<std::uint32_t>(batch));
    take_rows(step, sample.nodes, sample.nodes.size());
    double sum = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (!std::ranges::binary_search(targets_, rows_[i])) continue;
      step.counted.push_back(i);
      sum += sample.loss_weight[i];
    }
    for (std::size_t l = 0; l < shapes_.size(); ++l)
      if (aggregates(l)) aggregate(step.layers[l], sample.pattern.get(), shapes_[l].aggregation, degrees());
    // GraphSAINT's weights, of mean 1 over the training nodes.
    for (const float weight : sample.loss_weight)
      step.loss_weight.push_back(weight * static_cast<double>(step.counted.size()) / sum);
  }

  /// 0 or 1 / (1 - rate), by the library's mask.
  [[nodiscard]] DoubleMatrix mask(std::size_t nrows, std::size_t ncols, std::uint32_t tensor,
                                  std::size_t number) const {
    BitMatrix<ZeroOne> keep(nrows, ncols);
    dropout_mask_into(keep, *options_.dropout, {options_.seed, tensor, static_cast<std::uint32_t>(number)});
    return mapped(DoubleMatrix(nrows, ncols),
                  [&](std::size_t i, std::size_t j) { return keep.bit(i, j) ? factor() : 0; });
  }
  [[nodiscard]] double factor() const { return 1 / (1 - static_cast<double>(*options_.dropout)); }

  /// Dropout of all layers' inputs, and the first layer's input.
  void drop(OracleStep& step, std::size_t number) {
    constexpr std::uint32_t first_tensor = 0x1000;
    const std::vector<std::vector<NodeId>> needed = in_batches() ? std::vector<std::vector<NodeId>>() : needed_inputs();
    std::size_t nrows = rows_.size();
    for (std::size_t l = 0; l < shapes_.size(); ++l) {
      const std::uint32_t tensor = first_tensor + static_cast<std::uint32_t>(l);
      OracleLayer& layer = step.layers[l];
      if (in_batches()) {
        layer.dropout = mask(nrows, shapes_[l].inputs, tensor, number);
      } else if (l == 0 && !dense_) {
        layer.dropout = real() ? mask_of_entries(tensor, number, needed[0]) : mask_of_flips(tensor, number, needed[0]);
      } else {
        layer.dropout = spread(mask(needed[l].size(), shapes_[l].inputs, tensor, number), needed[l]);
      }
      if (!layer.aggregation.empty()) nrows = layer.aggregation.nrows;
    }
    const DoubleMatrix& first = step.layers[0].dropout;
    step.input = DoubleMatrix(rows_.size(), x_.ncols);
    step.input = mapped(step.input, [&](std::size_t i, std::size_t j) { return dropped(i, j, first(i, j)); });
  }

  /// The nodes that each layer's input has of a whole graph, in their order: those that the loss looks at, then their
  /// neighbours by rising number, and so on.
  [[nodiscard]] std::vector<std::vector<NodeId>> needed_inputs() const {
    std::vector<bool> met(graph_.nrows(), false);
    // A teacher has a word on all of them, and statistics are of all of them.
    const bool normalized = std::any_of(shapes_.begin(), shapes_.end(), [](const auto& shape) { return shape.norm; });
    for (const std::size_t node : taught_.empty() && !normalized ? counted_ : all_rows()) met[node] = true;
    std::vector<NodeId> nodes;
    for (NodeId node = 0; node < graph_.nrows(); ++node) {
      if (met[node]) nodes.push_back(node);
    }
    std::vector<std::vector<NodeId>> inputs(shapes_.size());
    for (std::size_t l = shapes_.size(); l-- > 0;) {
      inputs[l] = nodes;
      if (!aggregates(l)) continue;
      std::vector<bool> near(graph_.nrows(), false);
      for (const NodeId node : nodes) {
        for (const NodeId neighbor : graph_.row(node)) near[neighbor] = true;
      }
      for (NodeId node = 0; node < graph_.nrows(); ++node) {
        if (near[node] && !met[node]) nodes.push_back(node);
        met[node] = met[node] || near[node];
      }
      inputs[l] = nodes;
    }
    return inputs;
  }

  /// Element (i, j) of the first layer's input, `kept` being 0 or 1 / (1 - rate).
  [[nodiscard]] double dropped(std::size_t i, std::size_t j, double kept) const {
    const std::size_t row = rows_[i];
    if (real()) return x_(row, j) * kept;
    if (!in_batches() && !dense_) return alpha_[row] * (base_[j] + kept * (x_(row, j) - base_[j])) - center_[j];
    // Signs that say which features a node has are dropped as the entries of a sparse matrix: b = 0 or 1 times `kept`
    // is what is left, and 2 b - 1 the input.
    if (presence_ && *options_.dropout > 0) {
      const double sign = kept > 0 ? x_(row, j) : -1;
      return factor() * alpha_[row] * sign + (factor() - 1) - center_[j];
    }
    return x_(row, j) * alpha_[row] * kept - center_[j];
  }

  /// A GCN in floats draws a number for each entry of sparse features. They are counted through the rows of `nodes`.
  [[nodiscard]] DoubleMatrix mask_of_entries(std::uint32_t tensor, std::size_t number,
                                             const std::vector<NodeId>& nodes) const {
    const RandomKey key{options_.seed, tensor, static_cast<std::uint32_t>(number)};
    DoubleMatrix out(x_.nrows, x_.ncols);
    std::size_t entry = 0;
    for (const NodeId i : nodes) {
      for (std::size_t j = 0; j < x_.ncols; ++j) {
        if (set_(i, j) != 0) out(i, j) = random_uniform(key, entry++) < *options_.dropout ? 0 : factor();
      }
    }
    return out;
  }

  /// A binary GCN draws a number for each sign that is not the one of an absent feature.
  [[nodiscard]] DoubleMatrix mask_of_flips(std::uint32_t tensor, std::size_t number,
                                           const std::vector<NodeId>& nodes) const {
    const RandomKey key{options_.seed, tensor, static_cast<std::uint32_t>(number)};
    DoubleMatrix out(x_.nrows, x_.ncols);
    std::size_t flip = 0;
    for (const NodeId i : nodes) {
      for (std::size_t j = 0; j < x_.ncols; ++j) {
        if (x_(i, j) != base_[j]) out(i, j) = random_uniform(key, flip++) < *options_.dropout ? 0 : factor();
      }
    }
    return out;
  }

  [[nodiscard]] std::vector<std::size_t> all_rows() const {
    std::vector<std::size_t> all(nodes_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
  }

  /// Row i of a mask is node nodes[i]'s; the loss does not depend on the others.
  [[nodiscard]] DoubleMatrix spread(const DoubleMatrix& mask, const std::vector<NodeId>& nodes) const {
    DoubleMatrix out(graph_.nrows(), mask.ncols);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (std::size_t j = 0; j < mask.ncols; ++j) out(nodes[i], j) = mask(i, j);
    }
    return out;
  }

  nn::TrainOptions options_;
  bool dense_;
  std::vector<nn::LayerShape> shapes_;
  std::vector<NodeId> nodes_;    ///< that are seen, rising
  std::vector<NodeId> targets_;  ///< the training nodes among them, rising
  CsrPattern graph_;             ///< between them
  std::vector<std::int32_t> labels_;
  std::vector<std::size_t> counted_;    ///< of the whole graph the training nodes
  DoubleMatrix taught_;                 ///< of the nodes that are seen
  DoubleMatrix x_;                      ///< real: features; else their signs
  DoubleMatrix set_;                    ///< 1 where the data set has an entry
  std::vector<double> alpha_, center_;  ///< binary: of each row; of each feature
  std::vector<double> base_;            ///< binary: the sign of an absent feature
  bool presence_ = false;               ///< binary: signs say which features a node has
  std::optional<nn::NeighborSampler> neighbors_;
  std::optional<nn::RandomWalkSampler> walks_;
  std::vector<std::vector<NodeId>> parts_;  ///< of the nodes that are seen; none: no parts
  std::size_t batches_ = 1;
  std::vector<NodeId> rows_;  ///< of the step, of the nodes that are seen
};

}  // namespace bitgraph::test
