// SPDX-License-Identifier: Apache-2.0
// A program's values in memory, and what its operators need besides.
#pragma once

#include <bitgraph/formats/bit_planes.hpp>
#include <bitgraph/formats/dense_matrix.hpp>
#include <bitgraph/formats/quantized_matrix.hpp>
#include <bitgraph/nn/plan.hpp>
#include <bitgraph/ops/binarize.hpp>
#include <bitgraph/ops/fused_vote.hpp>

#include "nn/inference/graph_operands.hpp"
#include "nn/inference/input_features.hpp"
#include "nn/inference/runtime/caller_order.hpp"
#include "nn/inference/runtime/weights.hpp"
#include "nn/program/passes/passes.hpp"

#include <cstdint>
#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace bitgraph::nn {

/// What one operator needs besides its values, found once for many runs.
struct Prepared {
  AggregationOperand operand;
  std::span<const NodeId> out_rows;  ///< where the rows of the output go; empty: to their own places
  const RowOrder* order = nullptr;
  const SellPattern* sell = nullptr;
  const BitTileMatrix* tiles = nullptr;
  // The output's rows of each part of the graph. Found once: a bit matrix over words of a device is checked, which
  // waits for the device.
  std::vector<DenseMatrix<float>> float_rows;
  std::vector<BitMatrix<PlusMinusOne>> bit_rows;
  std::vector<QuantizedMatrix> level_rows;
  QuantizedMatrix
      scaled;  ///< of a product of levels: its input, with the factor of a neighbour in the scale of each row
  SparseLevels scaled_entries;                               ///< the same of sparse features
  std::vector<std::vector<BitMatrix<PlusMinusOne>>> joined;  ///< of each block of rows: scratch, then the inputs
};

/// Graph, features and weights must outlive it.
class Runtime {
 public:
  using Bits = BitMatrix<PlusMinusOne>;
  using Floats = DenseMatrix<float>;
  using SumMemory = Buffer<std::uint64_t>;  ///< Value::is_sum_memory()

  Runtime(GraphOperands& graph, const InputFeatures& features, const Weights& weights, const InferenceOptions& options,
          const Device& device)
      : graph_(graph), features_(features), weights_(weights), options_(options), device_(device) {}

  /// Another program: its patterns, orders and parts are found. `back` as for Forward.
  void find(const Compiled& compiled, CallerOrder& back, bool streamed);

  /// The memory of the values, for runtimes of one program that run in turns. Of place() for the capacity of bind(), or
  /// bind() allocates other memory.
  void take_memory(Buffer<std::uint64_t> memory) { memory_ = std::move(memory); }

  /// Gives the values memory, and binds what operators found to it. Nothing is allocated again where the memory that is
  /// there is enough for `capacity` nodes.
  void bind(std::size_t capacity);

  /// Lets go of what operators found; the memory of the values stays.
  void forget() {
    values_.clear();
    prepared_.clear();
  }

  /// The scales of values in levels, for launch_steps(): these values have no memory there.
  void find_scales();

  /// Memory for the result alone: one launch needs no other.
  void bind_result();

  void run(std::size_t n) { operator_traits(op(n).kind).run(*this, op(n), prepared_[n]); }
  [[nodiscard]] std::vector<LaunchStep> launch_steps(std::size_t n) const;
  [[nodiscard]] bool can_launch(std::size_t n) const { return operator_traits(op(n).kind).launch != nullptr; }

  [[nodiscard]] const Program& program() const noexcept { return compiled_->program; }
  [[nodiscard]] const Floats& result() const { return std::get<Floats>(values_[program().result]); }
  [[nodiscard]] std::size_t bytes() const noexcept { return memory_.bytes(); }

  // What operators ask for.

  [[nodiscard]] Floats& floats(ValueId v) { return std::get<Floats>(values_[v]); }
  [[nodiscard]] const Floats& floats_in(ValueId v) const;
  [[nodiscard]] Bits& bits(ValueId v);
  [[nodiscard]] const Bits& bits_in(ValueId v) const;
  [[nodiscard]] Binarized& binarized(ValueId v) { return std::get<Binarized>(values_[v]); }
  [[nodiscard]] QuantizedMatrix& levels(ValueId v) { return std::get<QuantizedMatrix>(values_[v]); }
  [[nodiscard]] const QuantizedMatrix& levels_in(ValueId v) const;
  /// The scale of levels, after find_scales().
  [[nodiscard]] const LevelScale& scale_of_levels(ValueId v) const;
  [[nodiscard]] BitPlanes& planes(ValueId v) { return std::get<BitPlanes>(values_[v]); }
  [[nodiscard]] SumMemory& sum_memory(ValueId v) { return std::get<SumMemory>(values_[v]); }
  [[nodiscard]] RowScores& scores(ValueId v) { return std::get<RowScores>(values_[v]); }
  [[nodiscard]] ScaledScores& scaled_scores(ValueId v) { return std::get<ScaledScores>(values_[v]); }
  [[nodiscard]] bool makes_scaled_scores(ValueId v) const { return program().value(v).scaled_scores; }
  [[nodiscard]] bool is_features(ValueId v) const noexcept { return v == program().features; }
  [[nodiscard]] bool makes_bits(ValueId v) const { return program().value(v).is_signs(); }
  [[nodiscard]] bool makes_levels(ValueId v) const { return program().value(v).is_levels(); }
  /// The scale of each row of signs; empty: ones.
  [[nodiscard]] std::span<const float> row_scales(ValueId v) const;
  /// Names the memory of a value; values of one name share it.
  [[nodiscard]] std::uint32_t name(ValueId v) const { return layout_.owner[v]; }

  [[nodiscard]] GraphOperands& graph() noexcept { return graph_; }
  [[nodiscard]] const InputFeatures& features() const noexcept { return features_; }
  [[nodiscard]] const Weights& weights() const noexcept { return weights_; }
  [[nodiscard]] const InferenceOptions& options() const noexcept { return options_; }
  [[nodiscard]] const Device& device() const noexcept { return device_; }
  [[nodiscard]] CallerOrder& back() const noexcept { return *back_; }
  [[nodiscard]] std::size_t num_nodes() const noexcept { return graph_.num_nodes(); }
  [[nodiscard]] std::size_t parts() const noexcept { return compiled_->parts; }
  [[nodiscard]] bool streamed() const noexcept { return streamed_; }

 private:
  using Memory = std::variant<std::monostate, Floats, Bits, Binarized, QuantizedMatrix, BitPlanes, SumMemory, RowScores,
                              ScaledScores>;

  [[nodiscard]] const Operator& op(std::size_t n) const { return program().operators[n]; }
  [[nodiscard]] Memory view_of(ValueId v);
  /// What operators find ahead of all runs, once all else is bound.
  void prepare_runs();
  /// Of levels: the layer's; by degree its step and offset times degree_root() of each node.
  [[nodiscard]] LevelScale scale_of(const Value& value) const;

  GraphOperands& graph_;
  const InputFeatures& features_;
  const Weights& weights_;
  const InferenceOptions& options_;
  Device device_;
  const Compiled* compiled_ = nullptr;
  CallerOrder* back_ = nullptr;
  bool streamed_ = false;  ///< parts come from the host when they are needed, and do not stay
  std::vector<Prepared> prepared_;
  Layout layout_;
  Buffer<std::uint64_t> memory_;
  std::vector<Memory> values_;
  std::vector<LevelScale> scales_;  ///< of the values in levels, in one launch
};

}  // namespace bitgraph::nn
