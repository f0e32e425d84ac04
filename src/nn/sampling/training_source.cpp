// SPDX-License-Identifier: Apache-2.0
#include "nn/sampling/training_source.hpp"

#include <bitgraph/formats/block_diagonal.hpp>
#include <bitgraph/nn/sampling.hpp>
#include <bitgraph/ops/dense.hpp>

#include "core/memory/lent.hpp"
#include "nn/inference/input_features.hpp"
#include "nn/model/architectures.hpp"
#include "nn/model/layer_forms.hpp"
#include "nn/model/normalization.hpp"
#include "nn/sampling/batch_drawer.hpp"
#include "nn/sampling/cuda/device_batches.hpp"
#include "nn/sampling/drawn_ahead.hpp"
#include "nn/sampling/needed_rows.hpp"
#include "nn/sampling/parts/graph_batches.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
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

/// The same of rows that are a base and few flips.
Floats mean_row(const SparseBinarized& x, const Floats& base) {
  const CsrPattern& flips = x.bits.flips;
  std::vector<double> sums(base.ncols(), 0);
  double scales = 0;
  for (NodeId i = 0; i < flips.nrows(); ++i) {
    scales += x.alpha[i];
    for (const NodeId j : flips.row(i)) sums[j] -= 2 * static_cast<double>(x.alpha[i]);
  }
  Floats mean(1, base.ncols());
  for (std::size_t j = 0; j < base.ncols(); ++j)
    mean(0, j) = static_cast<float>(base(0, j) * (scales + sums[j]) / static_cast<double>(flips.nrows()));
  return mean;
}

/// Float features as a first layer in training takes them: with the values of levels where it multiplies these.
Buffer<float> features_in_training(const SparseFeatures& features, const Model& metadata) {
  Buffer<float> values = model_features(features, float_rules(metadata));
  const Precision& precision = metadata.precision;
  if (precision.multiplies_levels()) round_to_levels(values.span(), features, precision.input.bits);
  return values;
}

/// All features as a first layer in training takes them, dense.
struct DenseFeatures {
  Floats real;
  Binarized signs;
  Floats center;

  DenseFeatures(const Dataset& dataset, const Model& metadata, const Device& device) {
    if (!metadata.precision.multiplies_signs()) {
      real = dense_features(dataset, float_rules(metadata), Device{});
      if (metadata.precision.multiplies_levels())
        real = to_dense(quantize(real, features_in_levels(metadata.precision.input.bits)));
      if (!device.is_host()) real = real.to(device);
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

/// Some rows of signs and their scales.
Binarized rows_of(const Binarized& all, const Buffer<NodeId>& nodes) {
  const Device& device = nodes.device();
  Binarized some{BitMatrix<PlusMinusOne>(nodes.size(), all.bits.ncols(), device), Buffer<float>(nodes.size(), device)};
  gather_rows_into(some.bits, all.bits, nodes);
  Floats column(nodes.size(), 1, some.alpha.share());
  gather_rows_into(column, Floats(all.alpha.size(), 1, all.alpha.share()), nodes);
  return some;
}

std::vector<LayerShape> shapes_of(const Dataset& dataset, const TrainOptions& options) {
  return layer_shapes(options.architecture, dataset.num_features(), options.hidden,
                      static_cast<std::size_t>(dataset.num_classes), options.depth, options.jumping_knowledge);
}

bool has_steps_by_degree(const Model& metadata, const std::vector<LayerShape>& shapes) {
  const std::vector<Precision> forms = forms_of(metadata.precision, shapes);
  return std::any_of(forms.begin(), forms.end(), [](const Precision& form) { return form.input_by_degree(); });
}

/// 1 / degree_root() of some nodes, on the host.
Buffer<float> inverse_degree_roots(const CsrPattern& graph, std::span<const NodeId> nodes, DegreeRoot root) {
  Buffer<float> inverse(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) inverse[i] = 1 / degree_root(graph.row(nodes[i]).size(), root);
  return inverse;
}

/// Where samples are drawn: on the host, with the threads that it is trained with, or all beside a CUDA device.
Device sampling_host(const Device& device) { return device.is_host() ? device : Device(); }

/// The whole graph in one batch; of it, the rows that the loss depends on.
class WholeGraph final : public TrainingSource {
 public:
  /// The loss counts the samples `counted`.
  WholeGraph(const Dataset& dataset, std::span<const NodeId> counted, const TrainOptions& options,
             const Model& metadata, float feature_scale, const SumFactors& factors, const Floats& teacher,
             const Device& device)
      : factors_(factors) {
    const std::vector<LayerShape> shapes = shapes_of(dataset, options);
    std::vector<NodeId> targets(counted.begin(), counted.end());
    std::sort(targets.begin(), targets.end());
    targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
    const bool normalized = std::any_of(shapes.begin(), shapes.end(), [](const LayerShape& s) { return s.norm; });
    const bool of_graphs = dataset.num_graphs() != 0;
    if (normalized || of_graphs || teacher.nrows() != 0) {  // statistics are of all nodes; a teacher has a word on each
      targets.resize(dataset.graph.nrows());
      std::iota(targets.begin(), targets.end(), NodeId{0});
    }
    const NeededRows needed = needed_rows(dataset.graph, targets, count_aggregations(shapes));
    take_features(dataset, metadata, feature_scale, needed.nodes, device);
    take_graphs(dataset, shapes, needed, device);
    if (has_steps_by_degree(metadata, shapes))
      batch_.inverse_degree_roots =
          inverse_degree_roots(dataset.graph, needed.nodes, degree_root_of(shapes)).to(device);
    of_graphs ? take_graph_labels(dataset, counted, device) : take_labels(dataset, counted, targets, device);
    batch_.taught = teacher.to(device);
  }

  [[nodiscard]] const Floats& center() const noexcept override { return center_; }
  [[nodiscard]] std::size_t batches() const noexcept override { return 1; }
  const TrainingBatch& batch(std::size_t, std::size_t) override { return batch_; }
  [[nodiscard]] bool same_batch() const noexcept override { return true; }

 private:
  static std::size_t count_aggregations(const std::vector<LayerShape>& shapes) {
    return static_cast<std::size_t>(std::count_if(
        shapes.begin(), shapes.end(), [](const LayerShape& s) { return s.aggregation != Aggregation::none; }));
  }

  void take_features(const Dataset& dataset, const Model& metadata, float feature_scale,
                     const std::vector<NodeId>& nodes, const Device& device) {
    const bool real = !metadata.precision.multiplies_signs();
    if (real && device.is_host() && !dataset.has_dense_features()) {
      SparseFeatures rows = features_of(dataset.features, nodes);
      Buffer<float> values = features_in_training(rows, metadata);
      for (float& value : values) value *= feature_scale;
      batch_.sparse = std::make_unique<SparseRows>(std::move(rows.pattern), std::move(values));
      return;
    }
    if (!real && device.is_host() && !dataset.has_dense_features()) return take_flips(dataset, metadata, nodes);
    DenseFeatures all(dataset, metadata, device);
    if (real) {
      batch_.features = Floats(nodes.size(), dataset.num_features(), device);
      gather_rows_into(batch_.features, all.real, nodes);
      if (feature_scale != 1) accumulate(batch_.features, batch_.features, feature_scale, 0);
    } else {
      batch_.signs = rows_of(all.signs, Buffer<NodeId>::copy_of(nodes, device));
      center_ = std::move(all.center);
    }
  }

  void take_flips(const Dataset& dataset, const Model& metadata, const std::vector<NodeId>& nodes) {
    const ColumnMap map{metadata.input_mean.span(), metadata.input_inverse_deviation.span()};
    const SparseBinarized all = binarize(dataset.features.pattern, dataset.features.values.span(), map);
    const std::size_t width = dataset.num_features();
    Floats base(1, width);
    for (std::size_t j = 0; j < width; ++j) base(0, j) = static_cast<float>(all.bits.base.value(0, j));
    center_ = mean_row(all, base);
    SparseFeatures rows = features_of({all.bits.flips.share(), Buffer<float>(all.bits.flips.nvals())}, nodes);
    for (std::size_t e = 0; e < rows.values.size(); ++e) rows.values[e] = -2 * base(0, rows.pattern.col_ind()[e]);
    Buffer<float> alpha(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) alpha[i] = all.alpha[nodes[i]];
    batch_.sparse_signs = std::make_unique<SparseSigns>(
        SparseSigns{SparseRows(std::move(rows.pattern), std::move(rows.values)), std::move(base), std::move(alpha)});
  }

  void take_graphs(const Dataset& dataset, const std::vector<LayerShape>& shapes, const NeededRows& needed,
                   const Device& device) {
    std::vector<float> degrees;
    for (const NodeId node : needed.nodes) degrees.push_back(static_cast<float>(dataset.graph.row(node).size()));
    std::shared_ptr<const LayerGraph> before;
    std::size_t n = 0;
    for (const LayerShape& shape : shapes) {
      if (shape.aggregation == Aggregation::none) {
        batch_.graphs.push_back(nullptr);
        continue;
      }
      const CsrPattern& block = needed.blocks[n];
      const bool again = n > 0 && block.nrows() == needed.blocks[n - 1].nrows();  // all nodes: the same once more
      if (!again) {
        const WholeGraphFacts facts{.factor = factors_.neighbors,
                                    .input_degrees = std::span(degrees).first(block.ncols())};
        before = std::make_shared<LayerGraph>(block, shape.aggregation, facts, device);
      }
      batch_.graphs.push_back(before);
      ++n;
    }
  }

  void take_labels(const Dataset& dataset, std::span<const NodeId> counted_nodes, const std::vector<NodeId>& targets,
                   const Device& device) {
    std::vector<std::int32_t> labels;
    std::vector<NodeId> row(dataset.graph.nrows(), 0);
    for (const NodeId node : targets) {
      row[node] = static_cast<NodeId>(labels.size());
      labels.push_back(dataset.labels[node]);
    }
    std::vector<NodeId> counted;
    for (const NodeId node : counted_nodes) counted.push_back(row[node]);
    batch_.labels = Buffer<std::int32_t>::copy_of(labels, device);
    batch_.counted = Buffer<NodeId>::copy_of(counted, device);
  }

  void take_graph_labels(const Dataset& dataset, std::span<const NodeId> counted, const Device& device) {
    const CsrPattern readout = readout_matrix(dataset.first_node);
    batch_.readout =
        std::make_shared<LayerGraph>(readout.to(device), transpose(readout).to(device),
                                     Buffer<float>(readout.nrows(), factors_.readout, device), Buffer<float>());
    batch_.labels = Buffer<std::int32_t>::copy_of(dataset.labels, device);
    batch_.counted = Buffer<NodeId>::copy_of(counted, device);
  }

  SumFactors factors_;
  Floats center_;
  TrainingBatch batch_;
};

/// Whether features are entries, for float models: where few are left of a row, their products are quicker than those
/// of dense rows. A CUDA device multiplies dense rows by the library, and gathers a row of weights for each entry.
bool are_sparse(const Dataset& dataset, const TrainOptions& options, const Model& metadata, const Device& device) {
  const double most_left = device.is_host() ? 0.25 : 0.04;
  if (metadata.precision.multiplies_signs() || dataset.has_dense_features()) return false;
  const SparseFeatures& features = dataset.features;
  const double all = static_cast<double>(features.pattern.nrows()) * static_cast<double>(features.pattern.ncols());
  const double left = static_cast<double>(features.values.size()) * (1 - static_cast<double>(*options.dropout));
  return left <= most_left * all;
}

/// How many threads draw samples ahead. On the host all are busy with the step.
std::size_t drawing_threads(const Device& device) {
  constexpr int most = 4;
  return device.is_host() ? 0 : static_cast<std::size_t>(std::min(most, Device().threads() / 2));
}

/// Batches that the host draws and brings to the device.
class HostBatches final : public BatchQueue {
 public:
  HostBatches(const Dataset& dataset, const TrainOptions& options, const std::vector<LayerShape>& shapes,
              const Device& device, std::size_t threads)
      : device_(device) {
    drawers_.push_back(make_batch_drawer(dataset, options, shapes, sampling_host(device)));
    for (std::size_t t = 0; t < threads; ++t) drawers_.push_back(drawers_.front()->twin());
    if (threads != 0) drawers_.erase(drawers_.begin());
    ahead_.emplace(threads, *options.epochs * batches(),
                   [this](std::size_t worker, std::size_t number, DrawnBatch& out) {
                     drawers_[worker]->draw(out, number / batches() + 1, number % batches());
                   });
  }

  [[nodiscard]] std::size_t batches() const noexcept override { return drawers_.front()->batches(); }

  PlacedBatch get(std::size_t epoch, std::size_t n) override {
    const std::size_t number = (epoch - 1) * batches() + n;
    // What is drawn now, or soon, goes where the batch before the last one was.
    if (number != next_) device_.synchronize();
    if (before_ != nullptr) before_->arrays.wait();
    DrawnBatch& drawn = ahead_->get(number);
    before_ = std::exchange(last_, &drawn);
    next_ = number + 1;
    drawn.arrays.upload(there_, device_);
    PlacedBatch batch;
    for (const LayerPlaces& layer : drawn.layers)
      batch.graphs.push_back(std::make_shared<LayerGraph>(layer, drawn.arrays));
    batch.nodes = drawn.arrays.lend(drawn.nodes);
    batch.counted = drawn.arrays.lend(drawn.counted);
    batch.labels = drawn.arrays.lend(drawn.labels);
    batch.loss_weight = drawn.arrays.lend(drawn.loss_weight);
    return batch;
  }

 private:
  Device device_;
  Buffer<std::byte> there_;  ///< a batch's arrays on a device
  DrawnBatch* last_ = nullptr;
  DrawnBatch* before_ = nullptr;
  std::size_t next_ = 0;
  std::vector<std::unique_ptr<BatchDrawer>> drawers_;  ///< one a thread
  std::optional<DrawnAhead<DrawnBatch>> ahead_;        ///< goes first: its threads use the others
};

/// Drawn by the device itself where it can and `threads` of the host are not asked for.
std::unique_ptr<BatchQueue> make_queue(const Dataset& dataset, const TrainOptions& options,
                                       const std::vector<LayerShape>& shapes, const Device& device,
                                       std::optional<std::size_t> threads) {
  if (!threads) {
    std::unique_ptr<BatchQueue> queue = make_device_batches(dataset, options, shapes, device);
    if (queue) return queue;
  }
  return std::make_unique<HostBatches>(dataset, options, shapes, device, threads ? *threads : drawing_threads(device));
}

/// Batches of a part of the graph: their features and a teacher's words are gathered where all of them lie.
class SampledSource final : public TrainingSource {
 public:
  SampledSource(const Dataset& dataset, const TrainOptions& options, const Model& metadata, const Floats& teacher,
                float feature_scale, const Device& device, std::optional<std::size_t> threads)
      : shapes_(shapes_of(dataset, options)), device_(device), teacher_(teacher.to(device)) {
    take_features(dataset, options, metadata, feature_scale);
    if (has_steps_by_degree(metadata, shapes_)) {
      std::vector<NodeId> all(dataset.graph.nrows());
      std::iota(all.begin(), all.end(), NodeId{0});
      const Buffer<float> inverse = inverse_degree_roots(dataset.graph, all, degree_root_of(shapes_));
      inverse_degree_roots_ = Floats(all.size(), 1, inverse.to(device));
    }
    queue_ = make_queue(dataset, options, shapes_, device, threads);
  }

  [[nodiscard]] const Floats& center() const noexcept override { return features_ ? features_->center : no_center_; }
  [[nodiscard]] std::size_t batches() const noexcept override { return queue_->batches(); }

  const TrainingBatch& batch(std::size_t epoch, std::size_t n) override {
    PlacedBatch placed = queue_->get(epoch, n);
    batch_.graphs.clear();
    auto next = placed.graphs.begin();
    std::shared_ptr<const LayerGraph> graph;
    for (const LayerShape& shape : shapes_) {
      const bool aggregates = shape.aggregation != Aggregation::none;
      if (aggregates && next != placed.graphs.end()) graph = *next++;
      batch_.graphs.push_back(aggregates ? graph : nullptr);
    }
    gather(placed.nodes, placed.labels.size());
    batch_.labels = std::move(placed.labels);
    batch_.counted = std::move(placed.counted);
    batch_.loss_weight = std::move(placed.loss_weight);
    return batch_;
  }

 private:
  void take_features(const Dataset& dataset, const TrainOptions& options, const Model& metadata, float scale) {
    if (!are_sparse(dataset, options, metadata, device_)) {
      features_.emplace(dataset, metadata, device_);
      Floats& real = features_->real;
      if (real.nrows() != 0 && scale != 1) accumulate(real, real, scale, 0);
      return;
    }
    CsrPattern pattern = dataset.features.pattern.share();
    Buffer<float> values = features_in_training(dataset.features, metadata);
    for (float& value : values) value *= scale;
    if (device_.is_host()) {
      entries_.emplace(pattern.clone(), std::move(values));
    } else {
      entries_there_.emplace(CsrMatrix<float>(std::move(pattern), std::move(values)), device_);
    }
  }

  void gather(Buffer<NodeId>& nodes, std::size_t num_targets) {
    if (entries_) {
      batch_.rows = {.all = &*entries_, .nodes = nodes.span()};
    } else if (entries_there_) {
      batch_.rows = {.there = &*entries_there_, .nodes = nodes.span()};
    } else if (features_->real.nrows() != 0) {
      batch_.features = Floats(nodes.size(), features_->real.ncols(), device_);
      gather_rows_into(batch_.features, features_->real, nodes);
    } else {
      batch_.signs = rows_of(features_->signs, nodes);
    }
    if (inverse_degree_roots_.nrows() != 0) {
      batch_.inverse_degree_roots = Buffer<float>(nodes.size(), device_);
      Floats column(nodes.size(), 1, batch_.inverse_degree_roots.share());
      gather_rows_into(column, inverse_degree_roots_, nodes);
    }
    if (teacher_.nrows() == 0) return;
    batch_.taught = Floats(num_targets, teacher_.ncols(), device_);
    gather_rows_into(batch_.taught, teacher_, lent(nodes.data(), num_targets, device_));
  }

  std::vector<LayerShape> shapes_;
  Device device_;
  std::optional<FeatureEntries> entries_;        ///< of float models, on the host, or
  std::optional<SparseBothWays> entries_there_;  ///< on a device, or
  std::optional<DenseFeatures> features_;        ///< all else
  Floats no_center_;
  Floats inverse_degree_roots_;  ///< of all nodes, nodes x 1; 0 x 0: no steps are by degree
  Floats teacher_;
  TrainingBatch batch_;
  std::unique_ptr<BatchQueue> queue_;
};

}  // namespace

std::size_t walk_roots_for(const TrainOptions& options, std::size_t num_nodes) {
  const std::size_t most = num_nodes / (2 * (*options.walk_length + 1));
  return std::clamp<std::size_t>(*options.walk_roots, 1, std::max<std::size_t>(1, most));
}

float sum_factor(const CsrPattern& graph) {
  return graph.nvals() == 0 ? 1.0F : static_cast<float>(graph.nrows()) / static_cast<float>(graph.nvals());
}

SumFactors SumFactors::of(const Dataset& dataset) {
  SumFactors factors{.neighbors = sum_factor(dataset.graph)};
  if (dataset.num_graphs() != 0)
    factors.readout = static_cast<float>(dataset.num_graphs()) / static_cast<float>(dataset.graph.nrows());
  return factors;
}

std::unique_ptr<TrainingSource> make_whole_graph_source(const Dataset& dataset, std::span<const NodeId> counted,
                                                        const TrainOptions& options, const Model& metadata,
                                                        float feature_scale, const SumFactors& factors,
                                                        const Device& device, Floats teacher) {
  return std::make_unique<WholeGraph>(dataset, counted, options, metadata, feature_scale, factors, teacher, device);
}

std::unique_ptr<TrainingSource> make_training_source(const Dataset& dataset, const TrainOptions& options,
                                                     const Model& metadata, float feature_scale, Floats teacher,
                                                     const Device& device, std::optional<std::size_t> threads) {
  if (dataset.num_graphs() > *options.batch_size)
    return make_graph_batches(dataset, options, metadata, feature_scale, std::move(teacher), device);
  if (traits_of(options.architecture).batches == BatchKind::whole_graph && options.partition == nullptr)
    return std::make_unique<WholeGraph>(dataset, dataset.train, options, metadata, feature_scale,
                                        SumFactors::of(dataset), teacher, device);
  return std::make_unique<SampledSource>(dataset, options, metadata, teacher, feature_scale, device, threads);
}

}  // namespace bitgraph::nn
