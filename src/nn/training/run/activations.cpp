// SPDX-License-Identifier: Apache-2.0
// Activations in training, and their gradients: of an activation its output is enough.
#include <bitgraph/ops/dense.hpp>
#include <bitgraph/ops/gradient.hpp>

#include "nn/training/run/kernels.hpp"
#include "nn/training/run/training_run.hpp"

namespace bitgraph::nn {

namespace {

using Floats = DenseMatrix<float>;

void train_activation(TrainingRun& run, const Operator& op, void (*activation)(Floats& x)) {
  const Floats& x = run.floats(op.inputs[0]);
  Floats& out = run.floats(op.output(), x.nrows());
  if (&out != &x) assign(out, x, run.device());
  activation(out);
}

/// `backward` changes a gradient by what the activation gave.
void gradient_activation(TrainingRun& run, const Operator& op, void (*backward)(Floats& g, const Floats& y)) {
  Floats& gradient = run.gradient(op.output());
  backward(gradient, run.floats(op.output()));
  if (run.share_gradient(op.inputs[0], op.output())) return;
  auto [to, beta] = run.target(op.inputs[0]);
  accumulate(to, gradient, 1, beta);
}

}  // namespace

void train_relu(TrainingRun& run, const Operator& op) { train_activation(run, op, relu); }
void gradient_relu(TrainingRun& run, const Operator& op) { gradient_activation(run, op, relu_backward); }
void train_tanh(TrainingRun& run, const Operator& op) { train_activation(run, op, tanh); }
void gradient_tanh(TrainingRun& run, const Operator& op) { gradient_activation(run, op, tanh_backward); }

}  // namespace bitgraph::nn
