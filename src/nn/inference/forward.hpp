// SPDX-License-Identifier: Apache-2.0
// Runs a model's program: on the host, in a stream, as a CUDA graph, in one launch, or with the graph's rows part by
// part.
#pragma once

#include <bitgraph/formats/dense_matrix.hpp>
#include <bitgraph/nn/infer.hpp>
#include <bitgraph/nn/model.hpp>
#include <bitgraph/nn/plan.hpp>

#include "core/devices/recording.hpp"
#include "nn/inference/graph_operands.hpp"
#include "nn/inference/input_features.hpp"
#include "nn/inference/runtime/caller_order.hpp"
#include "nn/inference/runtime/runtime.hpp"
#include "nn/inference/runtime/weights.hpp"
#include "nn/one_launch/one_launch.hpp"
#include "nn/program/passes/passes.hpp"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph::nn {

/// Graph and features must outlive it. run() allocates nothing and, on a CUDA device, waits for nothing.
class Forward {
 public:
  /// `options.forms` has one form a layer: real for all, or full and bin, the last one full. The order of the nodes is
  /// the caller's business; `back` brings the rows of the logits into another one. With more than one part the graph
  /// stays where `graph` found it, and aggregations bring its rows part by part. Passes decide by `facts`, where they
  /// are given, and not by the sizes of the graph that is there first.
  Forward(const Model& model, InferenceOptions options, GraphOperands& graph, const InputFeatures& features,
          const Device& device, CallerOrder back = {}, std::size_t parts = 1, std::optional<GraphFacts> facts = {});
  Forward(const Forward&) = delete;
  Forward& operator=(const Forward&) = delete;

  /// Other weights of the same shapes, on the host or where it runs; kernels find them where the old ones were. On a
  /// CUDA device it waits for nothing where they are there.
  void set_weights(std::span<const Layer> layers) { weights_->set(layers); }

  /// The program anew, after graph or features have changed: other sizes, other places. Weights stay. Where
  /// `other_graph`, the graph of the operands must be there still; else nothing is read of it.
  void remake(CallerOrder back, bool other_graph);

  /// Other steps and offsets: the program anew over what is there.
  void renew() { remake(std::move(back_), false); }

  /// Lets go of all that operators found of graph and features, which then may go: remake() comes before the next run.
  void forget() { runtime_->forget(); }

  /// The logits, num_nodes x num_classes, or num_graphs x num_classes. A CUDA device has the operators as one CUDA
  /// graph from the second run on.
  const DenseMatrix<float>& run();

  [[nodiscard]] const Program& program() const noexcept { return compiled_.program; }
  [[nodiscard]] const GraphFacts& graph_facts() const noexcept { return facts_; }

  /// Runs operator after operator and waits for each: kernels and seconds, the median of `repeats` runs.
  [[nodiscard]] std::vector<ExplainedOperator> explain(std::size_t repeats);

  /// "host", "stream", "CUDA graph", "one launch"; with parts, "parts of the rows".
  [[nodiscard]] std::string executor() const;

 private:
  void compile_program();
  void bind();
  void make_one_launch();
  void run_operators();
  [[nodiscard]] bool asks_for_one_launch() const;

  GraphOperands& graph_;
  const InputFeatures& features_;
  Device device_;
  InferenceOptions options_;
  CallerOrder back_;
  std::size_t asked_parts_;
  Program plain_;  ///< in floats, as the layers built it
  GraphFacts facts_;
  Compiled compiled_;
  std::optional<Weights> weights_;
  std::optional<Runtime> runtime_;
  Recording recording_;                    ///< of the operators, on a CUDA device
  std::unique_ptr<OneLaunch> one_launch_;  ///< the same for a small graph
};

}  // namespace bitgraph::nn
