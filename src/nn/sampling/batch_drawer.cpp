// SPDX-License-Identifier: Apache-2.0
#include "nn/sampling/batch_drawer.hpp"

#include <bitgraph/nn/part_batches.hpp>
#include <bitgraph/nn/sampling.hpp>

#include "nn/inference/graph_operands.hpp"
#include "nn/sampling/training_source.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

namespace bitgraph::nn {

namespace {

/// Of a new batch, all but graphs, weights and what counts; the first `num_targets` of the nodes are the targets.
void take_nodes(DrawnBatch& out, const Dataset& dataset, std::span<const NodeId> nodes, std::size_t num_targets) {
  ArrayPack& arrays = out.arrays;
  arrays.clear();
  out.nodes = arrays.add<NodeId>(nodes.size());
  out.labels = arrays.add<std::int32_t>(num_targets);
  out.counted = {};
  out.loss_weight = {};
  out.layers.clear();
  std::copy(nodes.begin(), nodes.end(), arrays[out.nodes].begin());
  for (std::size_t n = 0; n < num_targets; ++n) arrays[out.labels][n] = dataset.labels[nodes[n]];
}

/// Counts the nodes for which `counts` holds; `rows` becomes the list of their rows.
void count_some(DrawnBatch& out, std::vector<NodeId>& rows, std::span<const NodeId> nodes,
                const std::vector<bool>& counts) {
  rows.clear();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (counts[nodes[i]]) rows.push_back(static_cast<NodeId>(i));
  }
  out.counted = out.arrays.add<NodeId>(rows.size());
  std::copy(rows.begin(), rows.end(), out.arrays[out.counted].begin());
}

void count_all(DrawnBatch& out, std::size_t num_targets) {
  out.counted = out.arrays.add<NodeId>(num_targets);
  std::iota(out.arrays[out.counted].begin(), out.arrays[out.counted].end(), NodeId{0});
}

/// Degrees in the whole graph of the first `count` of the nodes.
void degrees_into(std::vector<float>& degrees, const CsrPattern& graph, std::span<const NodeId> nodes,
                  std::size_t count) {
  degrees.clear();
  for (const NodeId node : nodes.first(count)) degrees.push_back(static_cast<float>(graph.row(node).size()));
}

/// The training nodes in an order of each epoch's own, cut into batches, with neighbours drawn for each.
class NeighborDrawer final : public BatchDrawer {
 public:
  NeighborDrawer(const Dataset& dataset, const TrainOptions& options, std::vector<LayerShape> shapes,
                 const Device& host)
      : dataset_(dataset),
        options_(options),
        shapes_(std::move(shapes)),
        order_(dataset.train, *options.batch_size, options.seed),
        sampler_(dataset.graph, options.fan_outs, options.seed, host),
        factor_(sum_factor(dataset.graph)) {}

  [[nodiscard]] std::size_t batches() const noexcept override { return order_.batches(); }

  void draw(DrawnBatch& out, std::size_t epoch, std::size_t n) override {
    const Range targets = order_.batch(n);
    sampler_.sample_into(sample_, order_.of_epoch(epoch).subspan(targets.begin, targets.size()),
                         static_cast<std::uint32_t>(epoch), static_cast<std::uint32_t>(n));
    take_nodes(out, dataset_, sample_.nodes, targets.size());
    count_all(out, targets.size());
    for (const LayerShape& shape : shapes_) {
      if (shape.aggregation == Aggregation::none) continue;
      const CsrPattern& block = sample_.layers[out.layers.size()].get();
      degrees_into(degrees_, dataset_.graph, sample_.nodes, is_sum(shape.aggregation) ? block.nrows() : 0);
      const WholeGraphFacts facts{.factor = factor_, .degrees = degrees_};
      out.layers.push_back(pack_layer(out.arrays, block, shape.aggregation, facts));
    }
  }

  [[nodiscard]] std::unique_ptr<BatchDrawer> twin() const override {
    return std::make_unique<NeighborDrawer>(dataset_, options_, shapes_, Device::host(1));
  }

 private:
  const Dataset& dataset_;
  TrainOptions options_;
  std::vector<LayerShape> shapes_;
  BatchOrder order_;
  NeighborSampler sampler_;
  NeighborSample sample_;
  float factor_;
  std::vector<float> degrees_;  ///< of a layer's rows, where it sums
};

/// Of each node, whether it is for training.
std::shared_ptr<const std::vector<bool>> training_nodes(const Dataset& dataset) {
  auto trains = std::make_shared<std::vector<bool>>(dataset.graph.nrows(), false);
  for (const NodeId node : dataset.train) (*trains)[node] = true;
  return trains;
}

/// Subgraphs that random walks from the training nodes come through. These count in the loss.
class WalkDrawer final : public BatchDrawer {
 public:
  WalkDrawer(const Dataset& dataset, Aggregation aggregation, RandomWalkSampler sampler, std::size_t batches,
             std::shared_ptr<const std::vector<bool>> trains)
      : dataset_(dataset),
        aggregation_(aggregation),
        sampler_(std::move(sampler)),
        batches_(batches),
        trains_(std::move(trains)),
        factor_(sum_factor(dataset.graph)) {}

  [[nodiscard]] std::size_t batches() const noexcept override { return batches_; }

  void draw(DrawnBatch& out, std::size_t epoch, std::size_t n) override {
    sampler_.sample_into(sample_, static_cast<std::uint32_t>(epoch), static_cast<std::uint32_t>(n));
    const std::vector<NodeId>& nodes = sample_.nodes;
    take_nodes(out, dataset_, nodes, nodes.size());
    count_some(out, rows_, nodes, *trains_);
    degrees_into(degrees_, dataset_.graph, nodes, is_sum(aggregation_) ? nodes.size() : 0);
    out.layers.push_back(
        pack_layer(out.arrays, sample_.pattern.get(), aggregation_, {.factor = factor_, .degrees = degrees_}));
    // Of mean 1 over what counts: the sum over a subgraph is as large as that over a batch of as many nodes.
    double sum = 0;
    for (const NodeId row : rows_) sum += sample_.loss_weight[row];
    const float scale = rows_.empty() ? 0 : static_cast<float>(static_cast<double>(rows_.size()) / sum);
    out.loss_weight = out.arrays.add<float>(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) out.arrays[out.loss_weight][i] = sample_.loss_weight[i] * scale;
  }

  [[nodiscard]] std::unique_ptr<BatchDrawer> twin() const override {
    return std::make_unique<WalkDrawer>(dataset_, aggregation_, sampler_.twin(Device::host(1)), batches_, trains_);
  }

 private:
  const Dataset& dataset_;
  Aggregation aggregation_;
  RandomWalkSampler sampler_;
  std::size_t batches_;
  std::shared_ptr<const std::vector<bool>> trains_;
  float factor_;
  SubgraphSample sample_;
  std::vector<NodeId> rows_;  ///< that count
  std::vector<float> degrees_;
};

/// Some parts of a partition, with all edges between their nodes. What counts in the loss are the training nodes that
/// have a label. Of nodes with neighbours in other batches, means are over the neighbours that are there. Sums are
/// scaled up to all neighbours, as those over other samples are: in the whole graph, where the model is judged, they
/// are as large. Symmetric normalizations are by degrees in the batch, as Cluster-GCN renormalizes it (section 3.2):
/// they then fit its pattern, and a row is a weighted mean as it is in the whole graph. Of levels they are by degrees
/// in the whole graph and scaled up as sums are: steps are learned for what is added up, which must be as large there.
class PartDrawer final : public BatchDrawer {
 public:
  PartDrawer(const Dataset& dataset, Aggregation aggregation, bool of_levels, PartBatches parts)
      : dataset_(dataset),
        aggregation_(aggregation),
        normalizes_whole_(aggregation == Aggregation::symmetric && of_levels),
        parts_(std::move(parts)),
        factor_(sum_factor(dataset.graph)) {
    auto counts = std::make_shared<std::vector<bool>>(dataset.graph.nrows(), false);
    for (const NodeId node : dataset.train) (*counts)[node] = dataset.labels[node] >= 0;
    counts_ = std::move(counts);
  }

  [[nodiscard]] std::size_t batches() const noexcept override { return parts_.num_batches(); }

  void draw(DrawnBatch& out, std::size_t epoch, std::size_t n) override {
    parts_.sample_into(sample_, static_cast<std::uint32_t>(epoch), n);
    const std::vector<NodeId>& nodes = sample_.nodes;
    take_nodes(out, dataset_, nodes, nodes.size());
    count_some(out, rows_, nodes, *counts_);
    degrees_into(degrees_, dataset_.graph, nodes, is_sum(aggregation_) || normalizes_whole_ ? nodes.size() : 0);
    WholeGraphFacts facts{.factor = factor_, .degrees = degrees_};
    if (normalizes_whole_) facts.input_degrees = degrees_;
    out.layers.push_back(pack_layer(out.arrays, sample_.pattern.get(), aggregation_, facts));
  }

  [[nodiscard]] std::unique_ptr<BatchDrawer> twin() const override {
    return std::unique_ptr<BatchDrawer>(new PartDrawer(*this));
  }

 private:
  PartDrawer(const PartDrawer& other)
      : dataset_(other.dataset_),
        aggregation_(other.aggregation_),
        normalizes_whole_(other.normalizes_whole_),
        parts_(other.parts_.twin(Device::host(1))),
        factor_(other.factor_),
        counts_(other.counts_) {}

  const Dataset& dataset_;
  Aggregation aggregation_;
  bool normalizes_whole_;  ///< by degrees in the whole graph
  PartBatches parts_;
  float factor_;
  std::shared_ptr<const std::vector<bool>> counts_;  ///< of each node: whether it counts in the loss
  SubgraphSample sample_;
  std::vector<NodeId> rows_;
  std::vector<float> degrees_;
};

}  // namespace

std::span<const NodeId> BatchOrder::of_epoch(std::size_t epoch) {
  if (epoch != shuffled_epoch_) shuffle_into(order_, nodes_, seed_, static_cast<std::uint32_t>(epoch));
  shuffled_epoch_ = epoch;
  return order_;
}

std::unique_ptr<BatchDrawer> make_batch_drawer(const Dataset& dataset, const TrainOptions& options,
                                               const std::vector<LayerShape>& shapes, const Device& host) {
  if (options.partition != nullptr) {
    const PartBatchOptions of_batch{.parts = *options.batch_parts, .seed = options.seed};
    return std::make_unique<PartDrawer>(dataset, shapes.front().aggregation, options.precision.has_levels(),
                                        PartBatches(dataset.graph, *options.partition, of_batch, host));
  }
  if (traits_of(options.architecture).batches == BatchKind::neighbors)
    return std::make_unique<NeighborDrawer>(dataset, options, shapes, host);
  constexpr double coverage = 50;
  RandomWalkSampler sampler(dataset.graph, dataset.train,
                            {.num_roots = walk_roots_for(options, dataset.graph.nrows()),
                             .walk_length = *options.walk_length,
                             .seed = options.seed},
                            host);
  sampler.estimate(sampler.subgraphs_for_coverage(coverage));
  const std::size_t batches = sampler.subgraphs_for_coverage(1);
  return std::make_unique<WalkDrawer>(dataset, shapes.front().aggregation, std::move(sampler), batches,
                                      training_nodes(dataset));
}

}  // namespace bitgraph::nn
