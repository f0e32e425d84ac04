// SPDX-License-Identifier: Apache-2.0
#include "nn/training_source.hpp"

#include <bitgraph/ops/dense.hpp>

#include "nn/input_features.hpp"
#include "nn/normalization.hpp"

#include <algorithm>
#include <utility>

namespace bitgraph::nn {

namespace {

using Floats = DenseMatrix<float>;

/// All features as a first layer in training takes them, dense.
struct DenseFeatures {
  Floats real;
  Binarized signs;

  DenseFeatures(const Dataset& dataset, const Model& frame, const Device& device) {
    const Buffer<float> values = model_features(dataset.features, frame.normalize_rows);
    if (frame.precision == Precision::real) {
      real = dense_features(dataset.features, values.span(), {}).to(device);
      return;
    }
    const SparseBinarized sparse = binarize(dataset.features.pattern, values.span(),
                                            {frame.input_mean.span(), frame.input_inverse_deviation.span()});
    signs = {to_bit_matrix(sparse.bits).to(device), sparse.alpha.to(device)};
  }
};

std::vector<LayerShape> shapes_of(const Dataset& dataset, const TrainOptions& options) {
  return layer_shapes(options.architecture, dataset.features.pattern.ncols(), options.hidden,
                      static_cast<std::size_t>(dataset.num_classes), options.depth);
}

class WholeGraph final : public TrainingSource {
 public:
  WholeGraph(const Dataset& dataset, const TrainOptions& options, const Model& frame, const Floats& teacher,
             const Device& device) {
    DenseFeatures features(dataset, frame, device);
    batch_.features = std::move(features.real);
    batch_.signs = std::move(features.signs);
    std::shared_ptr<const LayerGraph> graph;
    for (const LayerShape& shape : shapes_of(dataset, options)) {
      if (shape.aggregation == Aggregation::none) continue;
      if (!graph) {
        graph = std::make_shared<LayerGraph>(dataset.graph, shape.aggregation, std::span<const float>{}, device);
      }
      batch_.graphs.push_back(graph);
    }
    batch_.labels = Buffer<std::int32_t>::copy_of(dataset.labels, device);
    batch_.counted = Buffer<NodeId>::copy_of(dataset.train, device);
    batch_.taught = teacher.to(device);
  }

  [[nodiscard]] std::size_t batches() const noexcept override { return 1; }
  const TrainingBatch& batch(std::size_t, std::size_t) override { return batch_; }

 private:
  TrainingBatch batch_;
};

}  // namespace

SparseFeatures features_of(const SparseFeatures& features, std::span<const NodeId> nodes) {
  const CsrPattern& from = features.pattern;
  Buffer<EdgeOffset> row_ptr(nodes.size() + 1, EdgeOffset{0});
  for (std::size_t n = 0; n < nodes.size(); ++n) row_ptr[n + 1] = row_ptr[n] + from.row(nodes[n]).size();
  Buffer<NodeId> col_ind(row_ptr[nodes.size()]);
  Buffer<float> values(row_ptr[nodes.size()]);
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const auto row = from.row(nodes[n]);
    std::copy(row.begin(), row.end(), col_ind.data() + row_ptr[n]);
    std::copy_n(features.values.data() + from.row_ptr()[nodes[n]], row.size(), values.data() + row_ptr[n]);
  }
  return {CsrPattern(static_cast<NodeId>(nodes.size()), from.ncols(), std::move(row_ptr), std::move(col_ind)),
          std::move(values)};
}

std::unique_ptr<TrainingSource> make_training_source(const Dataset& dataset, const TrainOptions& options,
                                                     const Model& frame, Floats teacher, const Device& device) {
  return std::make_unique<WholeGraph>(dataset, options, frame, teacher, device);
}

}  // namespace bitgraph::nn
