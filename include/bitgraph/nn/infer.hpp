// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/device.hpp>
#include <bitgraph/formats/dense_matrix.hpp>
#include <bitgraph/io/dataset.hpp>
#include <bitgraph/nn/model.hpp>
#include <bitgraph/nn/plan.hpp>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace bitgraph::nn {

/// The bytes that a plan will hold at its peak, told before anything is allocated: within 2 % of what Device::memory()
/// shows after a run; within 5 % where the graph is SELL, whose padding is not counted. Of the workspaces of a CUDA
/// device the copies of features are counted.
struct PredictedMemory {
  std::size_t bytes = 0;
  std::size_t parts = 1;        ///< into how many parts the graph's rows are split to stay within the limit
  std::size_t whole_bytes = 0;  ///< without splitting
  LevelPacking features = LevelPacking::places;  ///< how features are packed that are dense levels
  /// Besides, on the host: the packed batches that a plan over parts sends to a CUDA device, 0 where they stay there.
  /// Within 5 %.
  std::size_t host_bytes = 0;
};

/// Throws as InferencePlan does; not_possible where no number of parts is enough, naming the bytes needed at least.
[[nodiscard]] PredictedMemory predict_memory(const Model& model, const Dataset& dataset,
                                             const InferenceOptions& options = {}, const Device& device = {});

/// One operator of a plan's program: what it makes, and what it costs.
struct ExplainedOperator {
  std::string name;  ///< as BitGNN writes it: "BMM.BBB", "BSpMM.FBF" ...
  std::size_t layer = 0;
  std::size_t columns = 0;       ///< of its output, which has a row for each node
  std::string format;            ///< of the output: "float32", "sign", "sign*row", "scores"
  double bytes = 0;              ///< read and written; gathers count for each entry
  std::string kernel;            ///< what ran; empty: the operator has one kernel only
  double predicted_seconds = 0;  ///< 0: nothing is predicted
  double seconds = 0;            ///< median of its runs, waiting for the device included; 0: it was not timed
};

struct Program;
class OverParts;
class PlannedModel;

struct InferenceBytes {
  std::size_t model = 0;
  std::size_t graph = 0;
  std::size_t features = 0;
};

/// A model, a data set and a form made ready to run on a device: features binarized and packed, the graph as a pattern
/// with its normalization as vectors, every intermediate allocated. run() allocates nothing.
///
/// Layers in the form full:  BMM.BBF, BSpMM.FBF, and binarize ahead of the next one (BitGNN, section 4.2);
///                     bin:  BMM.BBB, BSpMM.BBB (a vote);
///                     real: products and aggregation in floats.
/// A weight for the node itself is a second product and an ADD.
class InferencePlan {
 public:
  /// Throws bad_input where the model does not fit the data set; usage where it has no such form: a binary form of a
  /// real model or the other way round, a vote in the last layer, forms of another number than its layers, a strategy
  /// that the format of the graph has not, a partition together with an order or a capacity; bad_input for a partition
  /// of another graph; not_possible where options.memory is too little for it.
  InferencePlan(const Model& model, const Dataset& dataset, const InferenceOptions& options = {},
                const Device& device = {});

  ~InferencePlan();
  InferencePlan(InferencePlan&&) noexcept;

  /// Computes the logits, num_nodes x num_classes; of a data set of many graphs num_graphs x num_classes. On a CUDA
  /// device it returns before they are there: see Device::synchronize.
  const DenseMatrix<float>& run();

  /// Updates for a plan that serves. The next run() computes the logits of the changed graph and features: the same
  /// bits as those of a new plan with the same options over the changed data set. The first run() after an update
  /// renews what depends on it: steps, captured CUDA graphs, launches. Nodes have the numbers that the caller gave
  /// them. An update that throws usage or bad_input leaves the plan as it was. One thread at a time may use a plan. A
  /// plan over the parts of a partition takes weights alone, and one over many graphs features and weights:
  /// not_possible.
  ///
  /// All features, one row a node, on the host. A matrix that is moved here need not be copied: afterwards it has the
  /// same shape and any values, often those that the plan had before, for the caller to fill again. Throws usage naming
  /// the shapes, bad_input naming a row with a value that is not finite. Dense features that a plan of sparse ones gets
  /// are made sparse first, and the other way round. O(values).
  void set_features(DenseMatrix<float>&& features);
  void set_features(const DenseMatrix<float>& features);
  void set_features(const SparseFeatures& features);

  /// The features of some nodes: row i is node nodes[i]'s. Throws as above, and usage where a node is not there or
  /// named twice. O(values); of sparse features, the entries behind the rows move.
  void set_features(std::span<const NodeId> nodes, const DenseMatrix<float>& features);
  void set_features(std::span<const NodeId> nodes, const SparseFeatures& features);

  /// Another graph, symmetric and without loops, on the host. Nodes that it has more than before have no features yet;
  /// of nodes that it has fewer the last ones are gone. Throws usage where it is not square, bad_input where its arrays
  /// break an invariant of CsrPattern, not_possible where it has more nodes or entries than the plan had at first and
  /// options.capacity reserves. O(nodes + entries), and the order of the nodes where options.order asks for one.
  void set_graph(CsrPattern graph);

  /// `count` more nodes, without edges and features; returns the number of the first one. And undirected edges
  /// from[i] - to[i]; those that are there already stay. Both need options.capacity: throw not_possible where it is
  /// used up. usage: a node that is not there, a loop. O(nodes), and the entries behind the changed rows move.
  NodeId add_nodes(NodeId count);
  void add_edges(std::span<const NodeId> from, std::span<const NodeId> to);

  /// The weights, biases and scales of another model: a later epoch, or the same network trained on. It is on the host,
  /// and has the same layers, shapes and precisions; nothing of it is kept. What the plan has is written over. Throws
  /// bad_input where the model is not valid; usage naming the layer and what is not alike; not_possible where it
  /// sees features in another way: divides them by their sums and the plan does not, or has another mean, deviation or
  /// limit of them. O(weights); models of levels have their steps renewed, O(nodes), and batches that come from the
  /// host are packed again.
  void set_weights(const Model& model);

  /// The same of a model that may see features in another way, as one that was trained anew on data that grew: all
  /// features are given as well, as set_features() takes them, for the plan has only what the model before made of
  /// them. Throws as set_weights() and set_features() do, and not_possible where the plan was made of sparse features
  /// and the model takes them less their means. O(weights + values).
  void set_weights(const Model& model, const DenseMatrix<float>& features);
  void set_weights(const Model& model, const SparseFeatures& features);

  [[nodiscard]] NodeId num_nodes() const noexcept;

  /// Of a run over the parts of a partition; else 1.
  [[nodiscard]] std::size_t num_batches() const noexcept;

  /// Over parts, of the largest batch; on a CUDA device of all batches where they stay, or of the largest group of them
  /// that reach it together.
  [[nodiscard]] InferenceBytes bytes() const noexcept;

  /// How the features are held: "bits", "sparse bits", "float", "sparse float".
  [[nodiscard]] std::string feature_format() const;

  /// What was known before it was made.
  [[nodiscard]] const PredictedMemory& predicted() const noexcept;

  /// The operators that a run calls, in order, as BitGNN names them: "BMM.BBB", "BSpMM.BBB" ...
  [[nodiscard]] std::vector<std::string> steps() const;

  /// The program: one entry an operator, run one after the other and timed `repeats` times (0: run once, not timed).
  /// Over the parts of a partition, of what bytes() says.
  [[nodiscard]] std::vector<ExplainedOperator> explain(std::size_t repeats = 10);

  /// How run() runs the program: "host", "stream", "CUDA graph", "one launch", "parts of the rows" or "parts of a
  /// partition"; on a CUDA device "parts of a partition on the device" or "parts of a partition from the host".
  [[nodiscard]] std::string executor() const;

  /// The program as text, one line an operator, or for Graphviz.
  [[nodiscard]] std::string program_text() const;
  [[nodiscard]] std::string program_dot() const;

 private:
  struct State;

  State& whole();      ///< throws where there are only parts
  State& one_graph();  ///< and where there are many graphs
  template <class Features>
  void set_model(const Model& model, const Features& features);
  [[nodiscard]] const Program& program() const;

  std::unique_ptr<PlannedModel> model_;
  std::unique_ptr<State> state_;      ///< of the whole graph, or
  std::unique_ptr<OverParts> parts_;  ///< of batches of its parts
};

/// Class with the largest logit of each row, a node or a graph; logits on the host.
[[nodiscard]] Buffer<std::int32_t> predict(const DenseMatrix<float>& logits);

/// Probabilities of the classes: exp(logit) of each row, divided by the sum over the row. Rows that sum to 1 but for
/// rounding, also for logits of any finite size. Logits on the host. O(nodes * classes), parallel.
[[nodiscard]] DenseMatrix<float> softmax(const DenseMatrix<float>& logits, const Device& device = {});

/// The same network in plain float arithmetic, signs as +-1.0f and products by the float gemm; a model of levels in
/// plain double arithmetic. What the packed forms are tested against. `forms` has one a layer, as for the plan. On the
/// host. Throws not_possible for a layer or a network of your own.
[[nodiscard]] DenseMatrix<float> emulate(const Model& model, const Dataset& dataset,
                                         const std::vector<Precision>& forms);

}  // namespace bitgraph::nn
