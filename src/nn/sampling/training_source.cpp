// SPDX-License-Identifier: Apache-2.0
#include "nn/sampling/training_source.hpp"

#include <bitgraph/nn/sampling.hpp>
#include <bitgraph/ops/dense.hpp>

#include "nn/inference/input_features.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace bitgraph::nn {

namespace {

using Floats = DenseMatrix<float>;

/// The mean of alpha times the signs, over all rows.
Floats mean_row(const Binarized& x) {
  constexpr std::size_t most = 1024;
  const std::size_t width = x.bits.ncols();
  std::vector<double> sums(width, 0);
  for (std::size_t begin = 0; begin < x.bits.nrows(); begin += most) {
    std::vector<NodeId> rows(std::min(most, x.bits.nrows() - begin));
    std::iota(rows.begin(), rows.end(), static_cast<NodeId>(begin));
    BitMatrix<PlusMinusOne> some(rows.size(), width);
    gather_rows_into(some, x.bits, rows);
    Floats values(rows.size(), width);
    expand_into(values, some, x.alpha.span().subspan(begin, rows.size()));
    Buffer<float> of_some(width);
    column_sums_into(of_some.span(), values);
    for (std::size_t j = 0; j < width; ++j) sums[j] += of_some[j];
  }
  Floats mean(1, width);
  for (std::size_t j = 0; j < width; ++j)
    mean(0, j) = static_cast<float>(sums[j] / static_cast<double>(x.bits.nrows()));
  return mean;
}

/// All features as a first layer in training takes them, dense.
struct DenseFeatures {
  Floats real;
  Binarized signs;
  Floats center;

  DenseFeatures(const Dataset& dataset, const Model& metadata, const Device& device) {
    if (!metadata.precision.multiplies_signs()) {
      real = dense_features(dataset, metadata.normalize_rows, Device{}).to(device);
      return;
    }
    const ColumnMap map{metadata.input_mean.span(), metadata.input_inverse_deviation.span()};
    if (dataset.has_dense_features()) {
      const Binarized here = binarize(dataset.dense_features, map);
      center = mean_row(here).to(device);
      signs = {here.bits.to(device), here.alpha.to(device)};
    } else {
      SparseBinarized sparse = binarize(dataset.features.pattern, dataset.features.values.span(), map);
      const Binarized here{to_bit_matrix(sparse.bits), std::move(sparse.alpha)};
      center = mean_row(here).to(device);
      signs = {here.bits.to(device), here.alpha.to(device)};
    }
  }
};

std::vector<LayerShape> shapes_of(const Dataset& dataset, const TrainOptions& options) {
  return layer_shapes(options.architecture, dataset.num_features(), options.hidden,
                      static_cast<std::size_t>(dataset.num_classes), options.depth);
}

/// Where samples are drawn: on the host, with the threads that it is trained with, or all beside a CUDA device.
Device sampling_host(const Device& device) { return device.is_host() ? device : Device(); }

class WholeGraph final : public TrainingSource {
 public:
  WholeGraph(const Dataset& dataset, const TrainOptions& options, const Model& metadata, float feature_scale,
             const Floats& teacher, const Device& device) {
    DenseFeatures features(dataset, metadata, device);
    batch_.features = std::move(features.real);
    if (batch_.features.nrows() != 0 && feature_scale != 1)
      accumulate(batch_.features, batch_.features, feature_scale, 0);
    center_ = std::move(features.center);
    batch_.signs = std::move(features.signs);
    std::shared_ptr<const LayerGraph> graph;
    for (const LayerShape& shape : shapes_of(dataset, options)) {
      if (shape.aggregation == Aggregation::none) continue;
      if (!graph) {
        const SumScale sum{.factor = sum_factor(dataset.graph)};
        graph = std::make_shared<LayerGraph>(dataset.graph, shape.aggregation, sum, device);
      }
      batch_.graphs.push_back(graph);
    }
    batch_.labels = Buffer<std::int32_t>::copy_of(dataset.labels, device);
    batch_.counted = Buffer<NodeId>::copy_of(dataset.train, device);
    batch_.taught = teacher.to(device);
  }

  [[nodiscard]] const Floats& center() const noexcept override { return center_; }
  [[nodiscard]] std::size_t batches() const noexcept override { return 1; }
  const TrainingBatch& batch(std::size_t, std::size_t) override { return batch_; }

 private:
  Floats center_;
  TrainingBatch batch_;
};

/// Batches of a part of the graph: their features, labels and a teacher's words are gathered where all of them lie.
class SampledSource : public TrainingSource {
 public:
  SampledSource(const Dataset& dataset, const TrainOptions& options, const Model& metadata, const Floats& teacher,
                const Device& device)
      : dataset_(dataset),
        shapes_(shapes_of(dataset, options)),
        device_(device),
        features_(dataset, metadata, device),
        teacher_(teacher.to(device)) {}

  [[nodiscard]] const Floats& center() const noexcept override { return features_.center; }

 protected:
  [[nodiscard]] const Dataset& dataset() const noexcept { return dataset_; }
  [[nodiscard]] const std::vector<LayerShape>& shapes() const noexcept { return shapes_; }
  [[nodiscard]] const Device& device() const noexcept { return device_; }
  [[nodiscard]] TrainingBatch& batch_of_now() noexcept { return batch_; }

  /// Everything of the batch but its graphs; the first `num_targets` of the nodes are the targets.
  void take_nodes(std::span<const NodeId> nodes, std::size_t num_targets) {
    const std::size_t width = dataset_.num_features();
    if (features_.real.nrows() != 0) {
      batch_.features = Floats(nodes.size(), width, device_);
      gather_rows_into(batch_.features, features_.real, nodes);
    } else {
      batch_.signs = {BitMatrix<PlusMinusOne>(nodes.size(), width, device_), Buffer<float>(nodes.size(), device_)};
      gather_rows_into(batch_.signs.bits, features_.signs.bits, nodes);
      gather_into(batch_.signs.alpha, features_.signs.alpha, nodes);
    }
    const auto targets = nodes.first(num_targets);
    std::vector<std::int32_t> labels;
    for (const NodeId node : targets) labels.push_back(dataset_.labels[node]);
    batch_.labels = Buffer<std::int32_t>::copy_of(labels, device_);
    if (batch_.counted.size() != num_targets) {
      std::vector<NodeId> rows(num_targets);
      std::iota(rows.begin(), rows.end(), NodeId{0});
      batch_.counted = Buffer<NodeId>::copy_of(rows, device_);
    }
    if (teacher_.nrows() == 0) return;
    batch_.taught = Floats(num_targets, teacher_.ncols(), device_);
    gather_rows_into(batch_.taught, teacher_, targets);
  }

 private:
  /// A column of floats as a matrix.
  void gather_into(Buffer<float>& out, const Buffer<float>& x, std::span<const NodeId> nodes) {
    Floats column(nodes.size(), 1, device_);
    const auto lent = std::shared_ptr<const void>(&x, [](const void*) {});
    const Floats whole(x.size(), 1, Buffer<float>::borrow(const_cast<float*>(x.data()), x.size(), lent, x.device()));
    gather_rows_into(column, whole, nodes);
    Device::copy(out.data(), device_, column.values().data(), device_, column.bytes());
  }

  const Dataset& dataset_;
  std::vector<LayerShape> shapes_;
  Device device_;
  DenseFeatures features_;
  Floats teacher_;
  TrainingBatch batch_;
};

/// The training nodes in an order of each epoch's own, cut into batches, with neighbours drawn for each.
class NeighborBatches final : public SampledSource {
 public:
  NeighborBatches(const Dataset& dataset, const TrainOptions& options, const Model& metadata, const Floats& teacher,
                  const Device& device)
      : SampledSource(dataset, options, metadata, teacher, device),
        batch_size_(std::min(*options.batch_size, dataset.train.size())),
        seed_(options.seed),
        sampler_(dataset.graph, options.fan_outs, options.seed, sampling_host(device)) {}

  [[nodiscard]] std::size_t batches() const noexcept override {
    return (dataset().train.size() + batch_size_ - 1) / batch_size_;
  }

  const TrainingBatch& batch(std::size_t epoch, std::size_t n) override {
    if (epoch != shuffled_epoch_) shuffle_into(order_, dataset().train, seed_, static_cast<std::uint32_t>(epoch));
    shuffled_epoch_ = epoch;
    // Parts of nearly one size: a last batch of a few nodes would count as much as the others.
    const std::size_t begin = order_.size() * n / batches();
    const std::size_t end = order_.size() * (n + 1) / batches();
    sampler_.sample_into(sample_, std::span(order_).subspan(begin, end - begin), static_cast<std::uint32_t>(epoch),
                         static_cast<std::uint32_t>(n));
    take_nodes(sample_.nodes, end - begin);
    TrainingBatch& batch = batch_of_now();
    batch.graphs.clear();
    for (std::size_t l = 0; l < sample_.layers.size(); ++l) {
      batch.graphs.push_back(
          std::make_shared<LayerGraph>(sample_.layers[l].get(), shapes()[l].aggregation, SumScale{}, device()));
    }
    return batch;
  }

 private:
  std::size_t batch_size_;
  std::uint64_t seed_;
  NeighborSampler sampler_;
  NeighborSample sample_;
  std::vector<NodeId> order_;
  std::size_t shuffled_epoch_ = 0;
};

/// Subgraphs that random walks come through.
class WalkBatches final : public SampledSource {
 public:
  WalkBatches(const Dataset& dataset, const TrainOptions& options, const Model& metadata, const Floats& teacher,
              const Device& device)
      : SampledSource(dataset, options, metadata, teacher, device),
        sampler_(dataset.graph, {},
                 {.num_roots = walk_roots_for(options, dataset.graph.nrows()),
                  .walk_length = *options.walk_length,
                  .seed = options.seed},
                 sampling_host(device)),
        factor_(sum_factor(dataset.graph)) {
    constexpr double coverage = 50;
    sampler_.estimate(sampler_.subgraphs_for_coverage(coverage));
    batches_ = sampler_.subgraphs_for_coverage(1);
  }

  [[nodiscard]] std::size_t batches() const noexcept override { return batches_; }

  const TrainingBatch& batch(std::size_t epoch, std::size_t n) override {
    sampler_.sample_into(sample_, static_cast<std::uint32_t>(epoch), static_cast<std::uint32_t>(n));
    const std::vector<NodeId>& nodes = sample_.nodes;
    take_nodes(nodes, nodes.size());
    TrainingBatch& batch = batch_of_now();
    std::vector<float> degrees;
    degrees.reserve(nodes.size());
    for (const NodeId node : nodes) degrees.push_back(static_cast<float>(dataset().graph.row(node).size()));
    const auto graph = std::make_shared<LayerGraph>(sample_.pattern.get(), shapes().front().aggregation,
                                                    SumScale{.factor = factor_, .degrees = degrees}, device());
    batch.graphs.assign(shapes().size(), graph);
    // Of mean 1: the sum over a subgraph is as large as that over a batch of as many nodes.
    double sum = 0;
    for (const float weight : sample_.loss_weight) sum += weight;
    const auto scale = static_cast<float>(static_cast<double>(nodes.size()) / sum);
    for (float& weight : sample_.loss_weight) weight *= scale;
    batch.loss_weight = Buffer<float>::copy_of(sample_.loss_weight, device());
    return batch;
  }

 private:
  RandomWalkSampler sampler_;
  SubgraphSample sample_;
  float factor_;
  std::size_t batches_ = 1;
};

}  // namespace

std::size_t walk_roots_for(const TrainOptions& options, std::size_t num_nodes) {
  const std::size_t most = num_nodes / (2 * (*options.walk_length + 1));
  return std::clamp<std::size_t>(*options.walk_roots, 1, std::max<std::size_t>(1, most));
}

float sum_factor(const CsrPattern& graph) {
  return graph.nvals() == 0 ? 1.0F : static_cast<float>(graph.nrows()) / static_cast<float>(graph.nvals());
}

Dataset part_of(const Dataset& dataset, std::span<const NodeId> nodes) {
  Dataset part;
  part.name = dataset.name;
  part.num_classes = dataset.num_classes;
  if (dataset.has_dense_features()) {
    part.dense_features = Floats(nodes.size(), dataset.num_features());
    gather_rows_into(part.dense_features, dataset.dense_features, nodes);
  } else {
    part.features = features_of(dataset.features, nodes);
  }
  part.labels.reserve(nodes.size());
  for (const NodeId node : nodes) part.labels.push_back(dataset.labels[node]);
  part.graph = induced_subgraph(dataset.graph, nodes);
  part.train.resize(nodes.size());
  std::iota(part.train.begin(), part.train.end(), NodeId{0});
  return part;
}

std::unique_ptr<TrainingSource> make_training_source(const Dataset& dataset, const TrainOptions& options,
                                                     const Model& metadata, float feature_scale, Floats teacher,
                                                     const Device& device) {
  if (options.architecture == Architecture::gcn)
    return std::make_unique<WholeGraph>(dataset, options, metadata, feature_scale, teacher, device);
  if (options.architecture == Architecture::saint)
    return std::make_unique<WalkBatches>(dataset, options, metadata, teacher, device);
  return std::make_unique<NeighborBatches>(dataset, options, metadata, teacher, device);
}

}  // namespace bitgraph::nn
