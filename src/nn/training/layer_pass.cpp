// SPDX-License-Identifier: Apache-2.0
#include "nn/training/layer_pass.hpp"

#include <bitgraph/ops/dense.hpp>
#include <bitgraph/ops/dropout.hpp>
#include <bitgraph/ops/gemm.hpp>
#include <bitgraph/ops/gradient.hpp>
#include <bitgraph/ops/spmm.hpp>

#include "nn/training/reshape.hpp"

#include <utility>

namespace bitgraph::nn {

namespace {

using Bits = BitMatrix<PlusMinusOne>;
using Floats = DenseMatrix<float>;

std::span<const float> values_of(const Floats* row) {
  return row == nullptr ? std::span<const float>{} : row->values();
}

/// The first rows of a matrix, as a slice.
DenseSlice<const float> first_rows(const Floats& x, std::size_t nrows) {
  return DenseSlice<const float>(x).rows(0, nrows);
}

/// The first rows of a matrix of bits: itself where they are all, else a copy kept in `storage`.
template <class Domain>
const BitMatrix<Domain>& first_rows(const BitMatrix<Domain>& x, std::size_t nrows, BitMatrix<Domain>& storage) {
  if (nrows == x.nrows()) return x;
  storage = BitMatrix<Domain>(nrows, x.ncols(), x.device());
  Device::copy(storage.words().data(), x.device(), x.words().data(), x.device(), storage.bytes());
  return storage;
}

/// Signs and scales of x, in memory that is kept.
void binarize_anew(Binarized& out, const Floats& x, const Device& device) {
  reshape(out, x.nrows(), x.ncols(), device);
  binarize_into(out, x);
}

}  // namespace

std::size_t LayerPass::num_inputs() const {
  return input_.values != nullptr ? input_.values->nrows() : input_.signs->bits.nrows();
}

std::size_t LayerPass::num_targets() const { return graph_ == nullptr ? num_inputs() : graph_->pattern.nrows(); }

const Floats& LayerPass::real_input() const { return dropped() ? dropped_input_ : *input_.values; }

const Floats& LayerPass::forward(const LayerInput& input, const LayerGraph* graph, Precision form,
                                 const InputDropout& dropout) {
  input_ = input;
  graph_ = shape_.aggregation == Aggregation::none ? nullptr : graph;
  form_ = form;
  dropout_ = dropout;
  if (dropped()) {
    reshape(keep_, num_inputs(), shape_.inputs, device_);
    dropout_mask_into(keep_, dropout.rate, dropout.key);
  }
  if (!form.multiplies_signs()) {
    forward_real();
  } else {
    forward_binary();
  }
  return output_;
}

void LayerPass::forward_real() {
  if (dropped()) {
    dropped_input_ = input_.values->clone();
    apply_dropout(dropped_input_, keep_, dropout_.rate);
  }
  const Floats& x = real_input();
  reshape(output_, num_targets(), shape_.outputs, device_);
  if (graph_ == nullptr) {
    gemm_into(output_, x, *neighbor_.weight, {.bias = values_of(neighbor_.bias)});
  } else {
    Floats update(x.nrows(), shape_.outputs, device_);
    gemm_into(update, x, *neighbor_.weight);
    spmm_into(output_, graph_->pattern, update,
              {.row_scale = graph_->row_scale.span(),
               .col_scale = graph_->col_scale.span(),
               .bias = values_of(neighbor_.bias)});
  }
  if (has_root()) {
    float_gemm(output_, first_rows(x, num_targets()), false, *root_.weight, true, 1, 1);
  }
  if (!last_) relu(output_);
}

/// The input's signs, and the scale of each of its rows: its mean magnitude and dropout's.
void LayerPass::take_signs() {
  if (input_.signs == nullptr) binarize_anew(own_signs_, *input_.values, device_);
  const float factor = 1 / (1 - dropout_.rate);
  const std::size_t nrows = num_inputs();
  if (input_.votes) {
    scale_ = Buffer<float>(nrows, factor, device_);
    return;
  }
  reshape(scale_, nrows, device_);
  accumulate({{nrows, 1, 1, scale_.data()}, device_}, {{nrows, 1, 1, signs().alpha.data()}, device_}, factor, 0);
}

/// What is taken off each input row, taken off the bias instead.
Floats LayerPass::bias_without_center(const LinearParameters& linear, const Binarized& weight) {
  Floats bias = linear.bias->clone();
  if (input_.center == nullptr) return bias;
  Floats signs(weight.bits.nrows(), weight.bits.ncols(), device_);
  expand_into(signs, weight.bits, weight.alpha.span(), nullptr);
  float_gemm(bias, *input_.center, false, signs, true, -1, 1);
  return bias;
}

Floats LayerPass::binary_update(const LinearParameters& linear, const Binarized& weight, std::size_t nrows) {
  Bits some_signs;
  BitMatrix<ZeroOne> some_kept;
  const Floats bias = bias_without_center(linear, weight);
  Floats out(nrows, shape_.outputs, device_);
  gemm_into(out, first_rows(signs().bits, nrows, some_signs), weight.bits,
            {.row_scale = std::as_const(scale_).span().first(nrows),
             .col_scale = weight.alpha.span(),
             .bias = bias.values(),
             .keep = dropped() ? &first_rows(std::as_const(keep_), nrows, some_kept) : nullptr});
  return out;
}

void LayerPass::forward_binary() {
  take_signs();
  binarize_anew(neighbor_signs_, *neighbor_.weight, device_);
  updated_ = binary_update(neighbor_, neighbor_signs_, num_inputs());
  if (graph_ == nullptr) {
    output_ = std::move(updated_);
    return;
  }
  reshape(output_, num_targets(), shape_.outputs, device_);
  if (form_.votes()) {
    binarize_anew(updated_signs_, updated_, device_);
    spmm_into(output_, graph_->pattern, updated_signs_.bits, {.row_scale = graph_->vote_scale.span()});
  } else {
    spmm_into(output_, graph_->pattern, updated_,
              {.row_scale = graph_->row_scale.span(), .col_scale = graph_->col_scale.span()});
  }
  if (!has_root()) return;
  binarize_anew(root_signs_, *root_.weight, device_);
  rooted_ = binary_update(root_, root_signs_, num_targets());
  if (form_.votes()) {
    maximum_into(output_, rooted_);
  } else {
    accumulate(output_, rooted_, 1, 1);
  }
}

Floats LayerPass::aggregate_backward(const Floats& gradient) {
  if (graph_ == nullptr) return gradient.clone();
  Floats out(num_inputs(), shape_.outputs, device_);
  if (form_.votes()) {
    spmm_into(out, graph_->transposed, gradient, {.col_scale = graph_->vote_scale.span()});
    sign_backward(out, updated_, 1);
  } else {
    spmm_into(out, graph_->transposed, gradient,
              {.row_scale = graph_->col_scale.span(), .col_scale = graph_->row_scale.span()});
  }
  return out;
}

/// The gradients of a map's weights and bias, x being what it was given.
void LayerPass::linear_backward(const LinearParameters& linear, const Binarized& weight, const Floats& gradient,
                                const Floats& x) {
  if (linear.bias_gradient != nullptr) column_sums_into(linear.bias_gradient->values(), gradient);
  float_gemm(*linear.weight_gradient, gradient, true, first_rows(x, gradient.nrows()), false);
  if (!form_.multiplies_signs()) return;
  if (input_.center != nullptr) {
    float_gemm(*linear.weight_gradient, *linear.bias_gradient, true, *input_.center, false, -1, 1);
  }
  binary_weight_backward(*linear.weight_gradient, *linear.weight, weight.alpha.span());
}

/// out(first rows) = beta out + gradient W, or sign(W).
void LayerPass::input_backward(Floats& out, const LinearParameters& linear, const Binarized& weight,
                               const Floats& gradient, float beta) {
  const DenseSlice<float> rows = DenseSlice<float>(out).rows(0, gradient.nrows());
  if (!form_.multiplies_signs()) {
    float_gemm(rows, gradient, false, *linear.weight, false, 1, beta);
    return;
  }
  Floats signs(weight.bits.nrows(), weight.bits.ncols(), device_);
  expand_into(signs, weight.bits, {}, nullptr);
  float_gemm(rows, gradient, false, signs, false, 1, beta);
}

std::optional<Floats> LayerPass::backward(Floats gradient, bool of_input) {
  const bool real = !form_.multiplies_signs();
  if (real && !last_) relu_backward(gradient, output_);
  const Floats updated_gradient = aggregate_backward(gradient);
  Floats expanded;
  if (!real) {
    expanded = Floats(num_inputs(), shape_.inputs, device_);
    expand_into(expanded, signs().bits, scale_.span(), dropped() ? &keep_ : nullptr);
  }
  const Floats& x = real ? real_input() : expanded;
  if (real && neighbor_.bias_gradient != nullptr) {  // outside of the aggregation
    LinearParameters without_bias = neighbor_;
    without_bias.bias_gradient = nullptr;
    column_sums_into(neighbor_.bias_gradient->values(), gradient);
    linear_backward(without_bias, neighbor_signs_, updated_gradient, x);
  } else {
    linear_backward(neighbor_, neighbor_signs_, updated_gradient, x);
  }
  if (has_root()) {
    if (form_.votes()) sign_backward(gradient, rooted_, 1);
    linear_backward(root_, root_signs_, gradient, x);
  }
  if (!of_input) return std::nullopt;
  Floats out(num_inputs(), shape_.inputs, device_);
  input_backward(out, neighbor_, neighbor_signs_, updated_gradient, 0);
  if (has_root()) input_backward(out, root_, root_signs_, gradient, 1);
  if (dropped()) apply_dropout(out, keep_, dropout_.rate);
  if (!real && !input_.votes) sign_backward(out, *input_.values, 1);
  return out;
}

}  // namespace bitgraph::nn
