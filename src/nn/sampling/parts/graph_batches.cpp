// SPDX-License-Identifier: Apache-2.0
#include "nn/sampling/parts/graph_batches.hpp"

#include <bitgraph/nn/sampling.hpp>
#include <bitgraph/ops/dense.hpp>

#include "nn/sampling/parts/seen_part.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace bitgraph::nn {

namespace {

using Floats = DenseMatrix<float>;

class GraphBatches final : public TrainingSource {
 public:
  GraphBatches(const Dataset& dataset, const TrainOptions& options, const Model& metadata, float feature_scale,
               Floats teacher, const Device& device)
      : dataset_(dataset),
        options_(options),
        metadata_(metadata),
        feature_scale_(feature_scale),
        factors_(SumFactors::of(dataset)),
        teacher_(std::move(teacher)),
        device_(device) {
    // What all rows have in common is that of all graphs, whatever a batch has.
    if (metadata.precision.multiplies_signs()) center_ = source_of(dataset, {})->center().clone();
  }

  [[nodiscard]] const Floats& center() const noexcept override { return center_; }

  [[nodiscard]] std::size_t batches() const noexcept override {
    return (dataset_.train.size() + *options_.batch_size - 1) / *options_.batch_size;
  }

  const TrainingBatch& batch(std::size_t epoch, std::size_t n) override {
    if (epoch != shuffled_epoch_)
      shuffle_into(order_, dataset_.train, options_.seed, static_cast<std::uint32_t>(epoch));
    shuffled_epoch_ = epoch;
    const std::size_t size = *options_.batch_size, first = n * size;
    std::vector<NodeId> graphs(order_.begin() + static_cast<std::ptrdiff_t>(first),
                               order_.begin() + static_cast<std::ptrdiff_t>(std::min(first + size, order_.size())));
    std::sort(graphs.begin(), graphs.end());
    Floats taught;
    if (teacher_.nrows() != 0) {
      taught = Floats(graphs.size(), teacher_.ncols());
      gather_rows_into(taught, teacher_, graphs);
    }
    device_.synchronize();  // a step may be reading the batch before
    source_ = source_of(graphs_of(dataset_, graphs), std::move(taught));
    return source_->batch(epoch, 0);
  }

 private:
  [[nodiscard]] std::unique_ptr<TrainingSource> source_of(const Dataset& part, Floats taught) const {
    return make_whole_graph_source(part, part.train, options_, metadata_, feature_scale_, factors_, device_,
                                   std::move(taught));
  }

  const Dataset& dataset_;
  const TrainOptions& options_;
  const Model& metadata_;
  float feature_scale_;
  SumFactors factors_;
  Floats teacher_;
  Device device_;
  Floats center_;
  std::vector<NodeId> order_;
  std::size_t shuffled_epoch_ = 0;
  std::unique_ptr<TrainingSource> source_;
};

}  // namespace

std::unique_ptr<TrainingSource> make_graph_batches(const Dataset& dataset, const TrainOptions& options,
                                                   const Model& metadata, float feature_scale, Floats teacher,
                                                   const Device& device) {
  return std::make_unique<GraphBatches>(dataset, options, metadata, feature_scale, std::move(teacher), device);
}

}  // namespace bitgraph::nn
