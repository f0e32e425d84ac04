// SPDX-License-Identifier: Apache-2.0
// A plan over parts on the host: one batch at a time, which every run makes anew where the one before was.
#include "nn/inference/forward.hpp"
#include "nn/inference/graph_operands.hpp"
#include "nn/inference/input_features.hpp"
#include "nn/inference/parts/over_parts.hpp"
#include "nn/inference/predict.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bitgraph::nn {

namespace {

class HostParts final : public OverParts {
 public:
  HostParts(const Model& model, const Dataset& dataset, const InferenceOptions& options, const Device& device)
      : OverParts(dataset.graph.nrows(), predict_memory_over_parts(model, dataset, options, device)),
        dataset_(dataset),
        options_(options_of_batches(options, model, device)),
        device_(device),
        metadata_(metadata_of(model)),
        form_(form_of_features(model, options.forms)),
        batches_(inference_batches(dataset, options, device)) {
    num_batches_ = batches_.num_batches();
    find_largest();
    static_cast<void>(make_batch(largest_));
    forward_.emplace(model, options_, *graph_, *features_, device_, CallerOrder(), 1, facts_of_batches(batches_));
    bytes_ = {.model = model.bytes(), .graph = graph_->bytes(), .features = features_->bytes()};
    const std::size_t classes = forward_->program().value(forward_->program().result).columns;
    logits_ = DenseMatrix<float>(num_nodes(), classes, device_);
  }

  const DenseMatrix<float>& run() override {
    for (std::size_t b = 0; b < num_batches(); ++b) {
      device_.throw_if_stopped();
      if (!make_batch(b)) continue;
      const DenseMatrix<float>& logits = forward_->run();
      for (std::size_t i = 0; i < sample_.nodes.size(); ++i)
        std::ranges::copy(logits.row(i), logits_.row(sample_.nodes[i]).begin());
    }
    return logits_;
  }

  /// Each batch renews what depends on them.
  void set_weights(const Model& model) override { forward_->set_weights(model.layers); }

  std::vector<ExplainedOperator> explain(std::size_t repeats) override {
    static_cast<void>(make_batch(largest_));
    return forward_->explain(repeats);
  }

  [[nodiscard]] const Program& program() const noexcept override { return forward_->program(); }
  [[nodiscard]] std::string feature_format() const override { return features_->format(); }
  [[nodiscard]] std::string executor() const override { return "parts of a partition"; }

 private:
  /// By its nodes: values have room for as many.
  void find_largest() {
    for (std::size_t b = 0; b < num_batches(); ++b) {
      batches_.fixed_into(sample_, b);
      if (sample_.nodes.size() <= options_.capacity.nodes) continue;
      options_.capacity.nodes = sample_.nodes.size();
      largest_ = b;
    }
  }

  /// In the place of the one before; false: it has no nodes.
  [[nodiscard]] bool make_batch(std::size_t batch) {
    batches_.fixed_into(sample_, batch);
    if (sample_.nodes.empty() && num_nodes() != 0) return false;
    // What was there goes first: two batches are never held at once.
    if (forward_) forward_->forget();
    features_.reset();
    if (graph_) {
      graph_->reset(sample_.pattern.get());
    } else {
      graph_.emplace(sample_.pattern.get(), device_);
    }
    features_.emplace(metadata_, dataset_, form_, options_.features, device_, sample_.nodes);
    if (forward_) forward_->remake({}, false);
    return true;
  }

  const Dataset& dataset_;
  InferenceOptions options_;
  Device device_;
  Model metadata_;
  Precision form_;  ///< of the features
  PartBatches batches_;
  SubgraphSample sample_;
  std::optional<GraphOperands> graph_;
  std::optional<InputFeatures> features_;  ///< in one place: operators know it
  std::optional<Forward> forward_;
  DenseMatrix<float> logits_;
  std::size_t largest_ = 0;  ///< batch
};

}  // namespace

std::unique_ptr<OverParts> make_host_parts(const Model& model, const Dataset& dataset, const InferenceOptions& options,
                                           const Device& device) {
  return std::make_unique<HostParts>(model, dataset, options, device);
}

}  // namespace bitgraph::nn
