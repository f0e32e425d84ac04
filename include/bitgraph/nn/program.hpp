// SPDX-License-Identifier: Apache-2.0
// A network as a program: a flat list of operators over values, in the order in which they run.
//
// A value is what one operator makes and others read: a matrix with a row for each node, or, behind a readout, for each
// graph. It has a number of columns and a NumberFormat; where it lies is decided later. An operator has a kind, inputs,
// outputs and attributes. Weights are named by their layer and stay with the model. What is known of a kind of operator
// stands in one row of the table in src/nn/program/operators.cpp.
//
// Layers build programs in floats: those of the library in src/nn/program/layers.cpp, your own by way of
// Model::network and a ProgramBuilder. Everything else is a pass over the list (src/nn/program/passes).
#pragma once

#include <bitgraph/formats/level_view.hpp>
#include <bitgraph/formats/number_format.hpp>
#include <bitgraph/nn/model.hpp>
#include <bitgraph/ops/activation.hpp>
#include <bitgraph/ops/level_strategy.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace bitgraph::nn {

/// The place of a value in Program::values.
using ValueId = std::uint32_t;
inline constexpr ValueId no_value = ~ValueId{0};

/// Which scale of its layer the levels of a value have.
enum class LevelsOf : std::uint8_t {
  features,  ///< that of each row of the features
  input,     ///< Layer::input_scale; where the extent is row, times degree_root() of each node
  messages   ///< Layer::message_scale
};

struct Value {
  std::size_t columns = 0;
  NumberFormat format;
  LevelsOf levels_of = LevelsOf::features;      ///< where it is levels
  std::size_t scale_layer = 0;                  ///< the layer that has the scale
  LevelPacking packing = LevelPacking::places;  ///< where it is levels
  std::size_t most_rows = 0;       ///< scratch of an operator that takes so many rows at a time; 0: a row for each node
  std::size_t parts = 1;           ///< scratch for one of so many parts of the nodes
  std::size_t graphs = 0;          ///< not 0: a row for each of so many graphs
  std::size_t scored_bits = 0;     ///< not 0: it is RowScores of rows of so many bits, of `columns` weights
  bool scaled_scores = false;      ///< it is ScaledScores of them
  bool summed_planes = false;      ///< memory for planes that a sum over a pattern makes: LevelSpmmOptions::planes
  std::size_t prepared_words = 0;  ///< not 0: so many words that a sum finds ahead of all runs (level_spmm_prepare())
  bool in_kernel = false;          ///< it stays in the kernel of the operator that makes it, and has no memory

  /// Rows that it has where the graph has `nodes`.
  [[nodiscard]] std::size_t rows(std::size_t nodes) const noexcept;
  /// Bytes of memory, the scales of its rows included. Those of levels belong to the weights.
  [[nodiscard]] std::size_t bytes(std::size_t nodes) const;
  /// Signs, with or without scales.
  [[nodiscard]] bool is_signs() const noexcept { return format.kind == NumberKind::sign; }
  [[nodiscard]] bool is_levels() const noexcept { return format.kind == NumberKind::levels; }
  /// Levels as bit planes, packed by columns: what products of tiles read; or memory of a sum.
  [[nodiscard]] bool is_planes() const noexcept { return format.kind == NumberKind::planes; }
  /// Memory of a sum of levels over a pattern.
  [[nodiscard]] bool is_sum_memory() const noexcept { return summed_planes || prepared_words != 0; }
  /// Levels with one step for all rows, times degree_root() of each node.
  [[nodiscard]] bool by_degree() const noexcept {
    return is_levels() && levels_of == LevelsOf::input && format.scale == ScaleExtent::row;
  }
};

enum class OperatorKind : std::uint8_t {
  quantize,         ///< y = the signs of x, and the mean magnitude of each row; or its levels. Of signs without
                    ///< these the second output is memory for them
  product,          ///< y = x W^T, where `aggregation` is a mean: times its row scale
                    ///< of levels, and of quantize to levels, where `aggregation` is symmetric: times its column scale
  aggregate,        ///< y = A x: a sum, counts of bits, or a vote
  add,              ///< y = a + b, or the larger of both; of signs: or
  relu,             ///< y = max(0, x)
  tanh,             ///< y = tanh(x)
  concat,           ///< y = the inputs side by side
  dropout,          ///< in training: y = x with some elements left out, and the others larger
  batch_norm,       ///< in training: each column by its mean and deviation, times a scale, and the layer's bias
  reorder,          ///< y = the rows of x in the caller's order
  readout,          ///< y = the sum of x over the nodes of each graph
  vote_post_op,     ///< a vote, or-ed with a node's own signs, and what VotePostOp says, in one kernel
  add_scores,       ///< y = A p, p the products that scores stand for
  multiply_counts,  ///< y = (A x) W^T, and the node's own product: in one kernel, or by parts of the rows
  multiply_sums,    ///< the same of levels, in one kernel: a sum, and the product `behind` it. The second output are
                    ///< the levels between them
  multiply_joined   ///< y = [inputs side by side] W^T, some rows at a time
};
inline constexpr std::size_t num_operator_kinds = 16;

/// Which weights of its layer an operator multiplies with.
enum class WeightOf : std::uint8_t { none, neighbor, root, both };

/// Which bias is added: that of the operator's weights, or the sum of those of the layer.
enum class BiasOf : std::uint8_t { none, weight, layer };

/// The post-op that is fused into the kernel of a vote.
enum class VotePostOp : std::uint8_t {
  none,
  scores,  ///< the counts that the last layer's products consist of; add_scores adds them up over neighbours
  logits   ///< the product with the last layer
};

/// The form in which an operator reads the graph. A pass chooses it (src/nn/program/passes/graph/graph_form.cpp).
enum class GraphForm : std::uint8_t {
  csr,
  csr_by_length,  ///< the rows in the order of their length, by a compact RowOrder beside the pattern
  csr_by_place,   ///< the same, by a RowOrder that knows where they begin
  sell,           ///< a copy as SELL beside the pattern
  sell_blocks,    ///< blocks of rows as SELL instead of the pattern
  tiles           ///< a copy as B2SR beside the pattern. Sums of levels multiply its tiles by bit planes
};

/// Whether the rows of a pattern are read in the order of their length.
[[nodiscard]] constexpr bool is_by_length(GraphForm form) noexcept {
  return form == GraphForm::csr_by_length || form == GraphForm::csr_by_place;
}

struct Operator {
  OperatorKind kind = OperatorKind::product;
  /// Of vote_post_op: what votes, own signs, the output before; no_value: not there. Of a product of levels there may
  /// be a second one: floats that it adds.
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::size_t layer = 0;
  Aggregation aggregation = Aggregation::none;
  WeightOf weight = WeightOf::none;
  NumberFormat weight_format;
  BiasOf bias = BiasOf::none;
  Activation activation = Activation::none;  ///< behind the sum: of add, and of what multiplies or adds up levels
  bool maximum = false;                      ///< of add: the larger one, whose sign is the or of both signs
  bool straight = false;  ///< of quantize: a gradient passes whatever the input is, not within -1 to 1 alone
  bool scale_before =
      false;              ///< of quantize in training: rows have the scales of the step before, in the first their own
  bool reorders = false;  ///< of what multiplies or adds up levels: stores the rows in the caller's order
  GraphForm graph = GraphForm::csr;                 ///< of what aggregates
  LevelStrategy levels = LevelStrategy::automatic;  ///< of products of levels
  bool by_parts = false;                            ///< takes the rows of the graph part by part
  bool own_beside = false;  ///< of vote_post_op: own signs are the second half of the rows that vote
  bool root = false;        ///< of fused kinds: a product with the layer's root weights is part of it
  VotePostOp post_op = VotePostOp::none;
  std::vector<Operator> behind;  ///< of multiply_sums: the product, without inputs and outputs

  [[nodiscard]] ValueId output() const { return outputs.front(); }
  [[nodiscard]] bool multiplies_signs() const noexcept { return weight_format.kind == NumberKind::sign; }
  [[nodiscard]] bool multiplies_levels() const noexcept { return weight_format.kind == NumberKind::levels; }

  friend bool operator==(const Operator&, const Operator&) = default;
};

struct Program {
  std::vector<Value> values;
  std::vector<Operator> operators;
  ValueId features = 0;
  ValueId result = no_value;

  ValueId add_value(Value value);
  /// The place of the operator that makes a value; operators.size() for the features.
  [[nodiscard]] std::size_t producer(ValueId value) const;
  /// How often operators read a value; the result counts once more.
  [[nodiscard]] std::size_t uses(ValueId value) const;
  [[nodiscard]] const Value& value(ValueId id) const { return values[id]; }

  /// Throws usage naming layer and operator: a value that is read before it is made or made twice, shapes and formats
  /// that the operator does not take.
  void validate() const;
  /// 16 hexadecimal digits: others for programs that differ in an operator, a shape or a format.
  [[nodiscard]] std::string fingerprint() const;
};

/// One line an operator: "%4 = BMM.BBF layer 1 (%3) : 64 x float32".
[[nodiscard]] std::string to_text(const Program& program);

/// The same for Graphviz.
[[nodiscard]] std::string to_dot(const Program& program);

/// Puts programs together, in floats. Throws usage, naming layer and operator, where an operator does not take what it
/// is given.
class ProgramBuilder {
 public:
  explicit ProgramBuilder(std::size_t num_features);

  [[nodiscard]] ValueId features() const noexcept { return program_.features; }

  /// What is built from here on has the weights, the biases and the precision of this layer of the model.
  void begin_layer(std::size_t layer) noexcept { layer_ = layer; }

  /// y = x W^T, W the layer's weights for neighbours or for the node itself.
  ValueId product(ValueId x, WeightOf weight, std::size_t outputs, BiasOf bias = BiasOf::none);
  /// y = A x, A with the normalization of `aggregation`.
  ValueId aggregate(ValueId x, Aggregation aggregation, BiasOf bias = BiasOf::none);
  ValueId add(ValueId a, ValueId b, BiasOf bias = BiasOf::none);
  ValueId relu(ValueId x);
  /// Where products are of bits it is left out, as relu is: it changes no sign.
  ValueId tanh(ValueId x);
  ValueId batch_norm(ValueId x);
  ValueId concat(std::vector<ValueId> parts);

  /// Whether an operator of this kind makes x.
  [[nodiscard]] bool makes(OperatorKind kind, ValueId x) const noexcept;

  [[nodiscard]] Program finish(ValueId result);

 private:
  /// 0 where there is no such value: append() refuses to read it.
  [[nodiscard]] std::size_t columns_of(ValueId x) const noexcept;
  ValueId append(Operator op, std::size_t columns);

  Program program_;
  std::size_t layer_ = 0;
};

/// A layer as Layer says: y = aggregate(N x) + R x + the biases of both; of one with batch norm in training, that of
/// aggregate(N x).
ValueId standard_layer(ProgramBuilder& build, const LayerShape& shape, ValueId x);

}  // namespace bitgraph::nn
