// SPDX-License-Identifier: Apache-2.0
// A network's program in training: forward, keeping what the gradients need, and backward.
// docs/architecture.md ("Gradients of a binary layer") has the rules.
#pragma once

#include <bitgraph/core/random.hpp>
#include <bitgraph/formats/bit_matrix.hpp>
#include <bitgraph/formats/dense_matrix.hpp>
#include <bitgraph/ops/binarize.hpp>
#include <bitgraph/ops/dense.hpp>
#include <bitgraph/ops/fake_quantize.hpp>
#include <bitgraph/ops/quantize.hpp>

#include <bitgraph/nn/program.hpp>
#include "nn/model/reshape.hpp"
#include "nn/sampling/training_batch.hpp"
#include "nn/training/run/kept_rows.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace bitgraph::nn {

/// A weight matrix with its bias, and where their gradients go. Null: there is none.
struct LinearParameters {
  const DenseMatrix<float>* weight = nullptr;  ///< outputs x inputs
  const DenseMatrix<float>* bias = nullptr;    ///< 1 x outputs
  DenseMatrix<float>* weight_gradient = nullptr;
  DenseMatrix<float>* bias_gradient = nullptr;
};

/// A batch norm, whose shift is the bias of the neighbours. Null: there is none.
struct NormParameters {
  const DenseMatrix<float>* scale = nullptr;  ///< 1 x outputs, as all of these
  DenseMatrix<float>* scale_gradient = nullptr;
  DenseMatrix<float>* mean = nullptr;  ///< of the rows of the step, as is the variance
  DenseMatrix<float>* variance = nullptr;
};

/// The scale of a matrix's levels as it is learned (bitgraph/ops/fake_quantize.hpp): 2 x its steps. Null: the matrix is
/// not levels.
struct ScaleParameters {
  DenseMatrix<float>* learned = nullptr;
  DenseMatrix<float>* gradient = nullptr;
};

struct LayerParameters {
  LinearParameters neighbor, root;
  NormParameters norm = {};
  ScaleParameters neighbor_scale = {}, root_scale = {};  ///< of weights, one an output
  ScaleParameters input_scale = {}, message_scale = {};
};

/// The first layer's input in one step; it must stay until backward() is done.
struct TrainingInput {
  const DenseMatrix<float>* values = nullptr;  ///< real networks, or
  const SparseRows* sparse = nullptr;          ///< the same, of which most are zero; on the host
  const FeatureRows* rows = nullptr;           ///< the same, of a sample
  const Binarized* signs = nullptr;            ///< binary networks, or
  const SparseSigns* sparse_signs = nullptr;   ///< the same, on the host
  const DenseMatrix<float>* center = nullptr;  ///< 1 x inputs, taken off each row of the signs; null: nothing is
  float dropout = 0;
};

/// Which elements are dropped in one step.
struct TrainingDropout {
  float rate = 0;  ///< of all layers behind the first
  RandomKey step;  ///< the run's seed and the step's number
};

/// Names the random numbers that choose what a layer drops of its input in one step.
[[nodiscard]] RandomKey dropout_key(RandomKey step, std::size_t layer) noexcept;

/// bias -= center W^T, W being binarized: what is taken off each row of a product's input is taken off its bias
/// instead. `signs` is scratch of a device.
void subtract_center(const DenseSlice<float>& bias, const Binarized& weight, const DenseMatrix<float>& center,
                     DenseMatrix<float>& signs);

/// A program for training: floats between operators; signs are made by operators of their own, and each layer drops
/// elements of its input. `forms` as for inference, one a layer. `of_graphs`: with a readout, of as many graphs as a
/// batch has.
[[nodiscard]] Program training_program(std::span<const LayerShape> layers, bool concatenates,
                                       std::span<const Precision> forms, bool of_graphs = false);

struct TrainingRunOptions {
  bool of_features = false;  ///< the gradient of the features is wanted, too
  /// Sums over nodes, such as the gradients of weights, are made for so many rows at a time and joined in their order:
  /// parts may come from anywhere.
  std::size_t rows_of_part = std::size_t{1} << 16;
};

/// Memory stays from step to step while shapes do. Parameters must outlive it.
class TrainingRun {
 public:
  using Bits = BitMatrix<PlusMinusOne>;
  using Floats = DenseMatrix<float>;

  /// Throws usage, naming layer and operator, where one has no gradient.
  TrainingRun(Program program, std::vector<LayerParameters> parameters, const Device& device,
              const TrainingRunOptions& options = {});

  /// The logits. The batch, and what `input` points to, must stay until backward() is done.
  const Floats& forward(const TrainingBatch& batch, const TrainingInput& input, const TrainingDropout& dropout);

  /// In the next forward() the steps and offsets of levels are chosen anew, by the values and weights that it meets: on
  /// the host, for which it waits. Those of few levels, which backward() has gradients for, only where `all`.
  void fit_scales(bool all) noexcept { fits_ = all ? Fits::all : Fits::wide; }

  /// The gradient of the logits, as large as they are: to be filled before backward().
  [[nodiscard]] Floats& result_gradient();

  /// From result_gradient() to the gradients of all parameters.
  void backward();

  /// Is given each operator's number, whether it is its gradient that is wanted, and what does the work.
  using Watch = std::function<void(std::size_t, bool, const std::function<void()>&)>;
  /// From now on; null: nobody does.
  void watch(Watch watch) { watch_ = std::move(watch); }

  [[nodiscard]] const Program& program() const noexcept { return program_; }
  [[nodiscard]] const Floats& logits() const { return floats(program_.result); }

  // What operators ask for.

  /// The values of a matrix of floats.
  [[nodiscard]] const Floats& floats(ValueId v) const;
  /// To be filled anew.
  Floats& floats(ValueId v, std::size_t nrows);
  [[nodiscard]] bool is_signs(ValueId v) const { return program_.value(v).is_signs(); }
  [[nodiscard]] const Bits& bits(ValueId v) const { return *slots_[v].bits; }
  [[nodiscard]] std::size_t rows(ValueId v) const { return slots_[v].nrows; }

  struct Slot {
    KeptFloats storage;
    const Floats* floats = nullptr;                ///< storage, or another's
    const FeatureRows* rows = nullptr;             ///< instead of floats: features without dropout
    SparseSample sample;                           ///< instead of floats, on a device: the same with dropout
    const CsrPattern* entries = nullptr;           ///< instead of floats, with these values:
    std::span<const float> sparse_values;          ///< one an entry
    const TransposedEntries* by_column = nullptr;  ///< of entries; null: not there
    KeptRows kept;
    Buffer<float> sparse_storage;
    Floats wide;            ///< inputs x outputs: weights for sparse rows, or their gradient
    Buffer<float> of_base;  ///< of a product of sparse signs: one an output
    Binarized signs;
    const Bits* bits = nullptr;    ///< signs' or another's
    std::span<const float> scale;  ///< of each row of signs; empty: ones
    Floats shifted_bias;           ///< a product's, less the center
    Buffer<float> scale_storage;
    BitMatrix<ZeroOne> keep;
    bool dropped = false;  ///< some elements count as zero: keep says which
    std::size_t nrows = 0;
    KeptFloats gradient;
    bool has_gradient = false;  ///< in this step
  };
  [[nodiscard]] Slot& slot(ValueId v) { return slots_[v]; }

  /// The gradient of a value, as it came from those of its readers that have been looked at.
  [[nodiscard]] Floats& gradient(ValueId v) { return slots_[gradient_of_[v]].gradient.get(); }
  [[nodiscard]] bool has_gradient(ValueId v) const { return slots_[gradient_of_[v]].has_gradient; }
  /// Whether two values have one gradient, which is changed in place.
  [[nodiscard]] bool share_gradient(ValueId a, ValueId b) const { return gradient_of_[a] == gradient_of_[b]; }
  /// Whether parameters stand behind a value.
  [[nodiscard]] bool learns(ValueId v) const { return learns_[v]; }
  /// The gradient as a place to write to, and what stands there counts (1) or not (0).
  struct Target {
    Floats& gradient;
    float beta;
  };
  [[nodiscard]] Target target(ValueId v);
  /// out = the sum of what part(to, first row, number of rows) makes of each part of [0, nrows).
  template <class Part>
  void sum_parts(Floats& out, std::size_t nrows, const Part& part) {
    part(out, 0, std::min(nrows, rows_of_part_));
    for (std::size_t first = rows_of_part_; first < nrows; first += rows_of_part_) {
      Floats& more = part_.reshape(out.nrows(), out.ncols(), device_);
      part(more, first, std::min(nrows - first, rows_of_part_));
      accumulate(out, std::as_const(more));
    }
  }
  /// Memory that no operator keeps anything in.
  [[nodiscard]] Floats& scratch(std::size_t nrows, std::size_t ncols);

  /// The same, on the host.
  [[nodiscard]] Buffer<double>& sums(std::size_t count) {
    if (sums_.size() != count) sums_ = Buffer<double>(count);
    return sums_;
  }

  /// Signs and scales of a layer's weights in this step.
  [[nodiscard]] const Binarized& weight_signs(const Operator& op);
  [[nodiscard]] const LinearParameters& parameters(const Operator& op) const;
  /// A layer's weights as floats, with the values of levels where it multiplies these.
  [[nodiscard]] const Floats& weight(const Operator& op);
  /// What quantizes x to a value in levels, as make_grid() made it in this step.
  [[nodiscard]] LevelGrid grid(const Operator& op, const Floats& x);
  /// Makes steps and offsets for it; chosen by x where scales are fitted.
  LevelGrid make_grid(const Operator& op, const Floats& x);
  /// The gradient of the scale behind grid(op, x), from that of the levels, where the scale is learned.
  void learn_grid(const Operator& op, const Floats& x, const Floats& gradient);
  /// The same of a layer's weights, from their gradient, which then is that of the weights behind the levels.
  void learn_weight_scale(const Operator& op);
  [[nodiscard]] const NormParameters& norm(const Operator& op) const { return parameters_[op.layer].norm; }
  [[nodiscard]] const LinearParameters& layer_bias(const Operator& op) const { return parameters_[op.layer].neighbor; }
  [[nodiscard]] const LayerGraph& graph(const Operator& op) const { return *batch_->graphs[op.layer]; }
  /// Graphs x nodes of the batch.
  [[nodiscard]] const LayerGraph& readout() const { return *batch_->readout; }
  /// Rows of a layer's output.
  [[nodiscard]] std::size_t targets(const Operator& op) const;
  [[nodiscard]] const TrainingInput& input() const noexcept { return input_; }
  [[nodiscard]] bool reads_features(const Operator& op) const { return from_features_[op.inputs[0]]; }
  [[nodiscard]] float dropout_rate(const Operator& op) const;
  [[nodiscard]] RandomKey key(const Operator& op) const { return dropout_key(dropout_.step, op.layer); }
  [[nodiscard]] const Device& device() const noexcept { return device_; }

 private:
  void share_memory();
  void run(std::size_t n, bool gradient);

  /// Which scales are fitted in the next forward().
  enum class Fits : std::uint8_t { none, wide, all };
  /// Steps and below them offsets, and whether this step has a gradient for them.
  struct MadeScale {
    Floats values;
    bool has_gradient = false;
  };
  struct WeightSigns {
    Binarized signs;
    Floats levels;  ///< the same weights with the values of levels
    MadeScale scale;
    bool made = false;  ///< in this step
  };
  struct Scale {
    const ScaleParameters& parameters;
    MadeScale& made;
  };
  [[nodiscard]] WeightSigns& signs_of(const Operator& op);
  [[nodiscard]] Scale weight_scale(const Operator& op);
  [[nodiscard]] Scale value_scale(const Value& value);
  [[nodiscard]] LevelGrid weight_grid(const Operator& op);
  void make(const Scale& scale, const Floats& x, const LevelGrid& grid, BoundsOf bounds);
  void fit(const ScaleParameters& scale, const Floats& x, const LevelGrid& grid, BoundsOf bounds);
  void learn(const Scale& scale, const Floats& x, const Floats& gradient, const LevelGrid& grid);

  Program program_;
  std::vector<LayerParameters> parameters_;
  Device device_;
  std::vector<Slot> slots_;
  std::vector<ValueId> gradient_of_;  ///< of each value: whose slot has its gradient
  std::vector<ValueId> memory_of_;    ///< of each value: whose slot has its floats
  std::vector<bool> learns_, from_features_;
  std::vector<WeightSigns> neighbor_signs_, root_signs_;
  std::vector<MadeScale> input_scales_, message_scales_;
  KeptFloats scratch_, part_, more_scales_;
  std::size_t rows_of_part_;
  Buffer<double> sums_;
  const TrainingBatch* batch_ = nullptr;
  TrainingInput input_;
  TrainingDropout dropout_;
  Watch watch_;
  Fits fits_ = Fits::none;
};

}  // namespace bitgraph::nn
