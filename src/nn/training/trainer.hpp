// SPDX-License-Identifier: Apache-2.0
// What the training loop knows of a model: its parameters, a step, an evaluation.
#pragma once

#include <bitgraph/formats/dense_matrix.hpp>
#include <bitgraph/io/dataset.hpp>
#include <bitgraph/nn/train.hpp>
#include <bitgraph/ops/log_softmax.hpp>
#include <bitgraph/ops/optimizer.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bitgraph::nn {

/// A trained array, with its gradient and Adam's moments.
struct Parameter {
  std::string name;
  float decay = 0;  ///< added to the gradient, times the value
  DenseMatrix<float> value, gradient, first_moment, second_moment;
  DenseMatrix<float> average;  ///< of the last hundred values or so; 0 x 0: not kept

  Parameter(std::string the_name, std::size_t nrows, std::size_t ncols, float the_decay, const Device& device = {})
      : name(std::move(the_name)),
        decay(the_decay),
        value(nrows, ncols, device),
        gradient(nrows, ncols, device),
        first_moment(nrows, ncols, device),
        second_moment(nrows, ncols, device) {}

  /// Uniform in +-sqrt(6 / (nrows + ncols)): Glorot and Bengio 2010. `tensor` names the stream.
  void glorot(std::uint64_t seed, std::uint32_t tensor);

  /// Takes latent weights of a binary layer from those of a float layer, made as large as the drawn ones: what counts
  /// of a weight is its sign, and how many steps it is away from the other. Zeros are not taken.
  void start_from(const DenseMatrix<float>& weight);

  void keep_average() { average = value.clone(); }

  /// What a model is given: the average where it is kept.
  [[nodiscard]] const DenseMatrix<float>& outcome() const noexcept { return average.nrows() == 0 ? value : average; }
  [[nodiscard]] DenseMatrix<float>& outcome() noexcept { return average.nrows() == 0 ? value : average; }

  /// For an optimizer. The parameter must stay where it is.
  [[nodiscard]] OptimizedParameter optimized() noexcept;
};

class Trainer {
 public:
  Trainer() = default;
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;
  virtual ~Trainer() = default;

  /// All steps of an epoch, which count from 1. Asks a device for them and waits for none, nor does judge(). A CUDA
  /// device has both as recordings where all epochs are the same: over a whole graph.
  virtual void train_epoch(std::size_t epoch, float learning_rate) = 0;

  /// The mean loss of the last epoch; waits for it.
  [[nodiscard]] virtual double train_loss() const = 0;

  /// Judges the present parameters on the validation nodes, in the form that inference will use.
  virtual void judge() = 0;

  /// What came of it; waits for it.
  [[nodiscard]] virtual Score validation() const = 0;

  /// The operators of a step, and the gradients of those that have one.
  [[nodiscard]] virtual std::vector<ExplainedOperator> explain(std::size_t repeats) = 0;

  /// The operators of a step as a graph for Graphviz.
  [[nodiscard]] virtual std::string drawing() const = 0;

  /// The present parameters, packed.
  [[nodiscard]] virtual Model model() const = 0;

  [[nodiscard]] std::vector<Parameter>& parameters() noexcept { return parameters_; }

 protected:
  std::vector<Parameter> parameters_;
};

/// Of any architecture, depth and device. Options are complete (preset()). `teacher` has the probabilities of all
/// nodes, on the host, or is 0 x 0. `drawing_threads` are those of make_training_source(): they change no bit.
[[nodiscard]] std::unique_ptr<Trainer> make_trainer(const Dataset& dataset, const TrainOptions& options,
                                                    const Device& device, DenseMatrix<float> teacher,
                                                    std::optional<std::size_t> drawing_threads = {});

}  // namespace bitgraph::nn
