// SPDX-License-Identifier: Apache-2.0
// A model's layers as a list of calls of operators, with every intermediate placed.
#pragma once

#include <bitgraph/formats/dense_matrix.hpp>
#include <bitgraph/nn/model.hpp>
#include <bitgraph/nn/plan.hpp>
#include <bitgraph/ops/binarize.hpp>
#include <bitgraph/ops/fused_vote.hpp>
#include <bitgraph/ops/gemm.hpp>

#include "core/recording.hpp"
#include "nn/inference/graph_operands.hpp"
#include "nn/inference/input_features.hpp"
#include "nn/inference/sequence.hpp"
#include "nn/one_launch/one_launch.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace bitgraph::nn {

/// One call of an operator.
struct Step {
  std::string name;  ///< as BitGNN writes it: "BMM.BBB", "BSpMM.FBF" ...
  std::function<void()> run;
  std::function<std::vector<LaunchStep>()> as_parts;  ///< the same as parts of one launch, for those that can be
};

/// Graph and features must outlive it. run() allocates nothing and, on a CUDA device, waits for nothing.
class Forward {
 public:
  /// `options.forms` has one form a layer: real for all, or full and bin, the last one full. The order of the nodes is
  /// the caller's business; `back`, where it has rows, brings the rows of the logits into another order. With
  /// more than one part the graph stays where `graph` found it, and aggregations bring its rows part by part.
  Forward(const Model& model, InferenceOptions options, GraphOperands& graph, const InputFeatures& features,
          const Device& device, CsrPattern back = {}, std::size_t parts = 1);
  Forward(const Forward&) = delete;
  Forward& operator=(const Forward&) = delete;

  /// Other weights of the same shapes.
  void set_weights(const Model& model);

  /// The steps anew, after graph or features have changed: other sizes, other places. Weights stay. On the host the
  /// intermediates stay where they are as long as options.capacity has room for the nodes. Where `other_graph`, the
  /// graph of the operands must be there still; else nothing is read of it.
  void remake(CsrPattern back, bool other_graph);

  /// The logits, num_nodes x num_classes. A CUDA device has the steps as one CUDA graph from the second run on.
  const DenseMatrix<float>& run();

  [[nodiscard]] const std::vector<Step>& steps() const noexcept { return steps_; }

 private:
  using Bits = BitMatrix<PlusMinusOne>;
  using Floats = DenseMatrix<float>;

  /// What stands between two layers: floats, or signs with one scale a row (none: ones), or the features.
  struct Activation {
    const Floats* floats = nullptr;
    const Bits* bits = nullptr;
    std::span<const float> alpha;
    const InputFeatures* features = nullptr;
  };

  /// The weights of a layer, and what is made of them.
  struct Weights {
    Linear& neighbor;
    Linear& root;
    SparseGemmWeights sparse_neighbor, sparse_root;  ///< where the input is a sparse bit matrix
    Floats transposed_neighbor, transposed_root;     ///< inputs x outputs, where the input is sparse floats
    Buffer<float> bias;                              ///< real layers: both biases
    Linear both;                                     ///< the rows of both, where one product makes the signs of both
  };

  /// Storage of an intermediate on the host, kept when the steps are made anew.
  struct Storage {
    std::size_t columns;
    std::size_t row_bytes;
    Buffer<std::uint64_t> storage;
  };

  void make_steps();
  void prepare_features(std::size_t l, const Layer& layer, bool in_place);
  Activation layer(std::size_t l, Activation in);
  Activation real_layer(std::size_t l, const Activation& in);
  Activation full_layer(std::size_t l, const Activation& in);
  Activation bin_layer(std::size_t l, const Activation& in);
  Activation as_signs(const Activation& in);

  /// What a vote is taken of, and what decides with it.
  struct Signs {
    Bits* neighbors;
    Bits* own;    ///< null where the layer has no weight for the node itself, or they stand
    bool beside;  ///< in the second half of the rows
  };
  [[nodiscard]] bool joins_signs(std::size_t l) const;
  void product_of_both(Bits& out, const Activation& in, std::size_t l);
  Signs products_ahead_of_vote(std::size_t l, const Activation& in);

  /// Layers whose kernels do more than one operator: a vote; a vote with the last layer behind it, `before` the output
  /// that stands before its own; counts with their product.
  Activation fused_vote(std::size_t l, const Activation& in);
  Activation fused_last_layers(std::size_t l, const Activation& in, const Bits* before);
  void fused_counts(Floats& out, const Bits& x, std::size_t l);

  void add_sum(Floats& out, const Floats& x, const AggregationOperand& a, const Buffer<float>* bias = nullptr);
  template <class Out>
  auto& rows_of() {
    if constexpr (std::is_same_v<Out, Bits>) {
      return bit_rows_;
    } else {
      return float_rows_;
    }
  }
  const RowOrder* order_of(const CsrPattern& part);
  static const RowOrder* order_of(const SellPattern&) { return nullptr; }
  /// Calls fn(pattern, first row, rows) for the parts of the graph, one after the other.
  template <class Fn>
  void for_each_part(Aggregation aggregation, Fn&& fn);
  void make_parts(Aggregation aggregation, bool by_order);
  void count_and_multiply(Floats& out, const Bits& x, std::size_t l);
  template <class Out, class X>
  void by_parts(Out& out, const X& x, Aggregation aggregation, const Buffer<float>* bias);
  void aggregate(Floats& out, const Floats& x, Aggregation aggregation, const Buffer<float>* bias = nullptr);
  void vote(Bits& votes, const Bits& signs, Aggregation aggregation);
  Activation concatenated(const std::vector<Activation>& parts);
  /// CONCAT and the last layer's product, a block of rows after the other.
  Activation product_of_joined(std::size_t l, const std::vector<Activation>& parts);
  Bits& signs_ahead_of_vote(std::size_t width);
  void real_product(Floats& out, const Activation& in, std::size_t l, bool root);
  template <class Out>
  void binary_product(Out& out, const Activation& in, std::size_t l, bool root);

  [[nodiscard]] SparseGemmWeights sparse_weights(const Linear& linear) const;
  [[nodiscard]] std::size_t num_nodes() const noexcept { return graph_.num_nodes(); }
  [[nodiscard]] bool is_last(std::size_t l) const noexcept { return l + 1 == weights_.size(); }
  template <class T>
  Buffer<T> stored(std::size_t columns, std::size_t per_row);
  Floats stored_floats(std::size_t width);
  Bits stored_bits(std::size_t width);
  Floats& floats(std::size_t width) { return floats_.emplace_back(stored_floats(width)); }
  Bits& bits(std::size_t width) { return bits_.emplace_back(stored_bits(width)); }
  void run_steps();
  void step(std::string name, std::function<void()> run) { steps_.push_back({std::move(name), std::move(run), {}}); }
  template <class Part>
  void step(std::string name, std::function<void()> run, Part as_part) {
    steps_.push_back({std::move(name), std::move(run), [as_part] { return std::vector<LaunchStep>{as_part()}; }});
  }
  void make_one_launch();

  GraphOperands& graph_;
  const InputFeatures& features_;
  Device device_;
  InferenceOptions options_;
  CsrPattern back_;
  Sequences sequences_;
  std::size_t parts_;  ///< of the graph
  bool streamed_;      ///< parts come from the host when they are needed, and do not stay
  Model model_;        ///< its layers, on the device
  std::vector<LayerShape> shapes_;
  std::deque<Weights> weights_;
  std::deque<std::vector<const Floats*>> float_parts_;
  std::deque<std::vector<const Bits*>> bit_parts_;
  std::deque<std::vector<std::vector<Bits>>> joined_rows_;  ///< of each block of rows, those of each part
  Bits* signs_ = nullptr;                                   ///< that nobody reads behind their vote
  std::deque<Storage> storages_;
  std::size_t next_storage_ = 0;
  std::deque<Floats> floats_;
  std::deque<Bits> bits_;
  std::deque<Binarized> binarized_;
  std::deque<RowScores> scores_;
  std::deque<std::vector<Floats>> float_rows_;  ///< of outputs that are made by parts
  std::deque<std::vector<Bits>> bit_rows_;
  std::vector<Step> steps_;
  const Floats* logits_ = nullptr;
  Recording recording_;                    ///< of the steps, on a CUDA device
  std::unique_ptr<OneLaunch> one_launch_;  ///< the same for a small graph
};

}  // namespace bitgraph::nn
