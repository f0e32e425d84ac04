// SPDX-License-Identifier: Apache-2.0
#include "nn/training/run/kernels.hpp"

#include <bitgraph/ops/add.hpp>
#include <bitgraph/ops/batch_norm.hpp>
#include <bitgraph/ops/dense.hpp>
#include <bitgraph/ops/dropout.hpp>
#include <bitgraph/ops/fake_quantize.hpp>
#include <bitgraph/ops/gemm.hpp>
#include <bitgraph/ops/gradient.hpp>
#include <bitgraph/ops/sparse_product.hpp>
#include <bitgraph/ops/spmm.hpp>

#include "core/threads/parallel.hpp"
#include "nn/model/reshape.hpp"
#include "nn/model/some_rows.hpp"
#include "nn/training/run/training_run.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace bitgraph::nn {

namespace {

using Bits = BitMatrix<PlusMinusOne>;
using Floats = DenseMatrix<float>;
using Slot = TrainingRun::Slot;

DenseSlice<const float> slice(const Floats& x, std::size_t first, std::size_t nrows) {
  return DenseSlice<const float>(x).rows(first, nrows);
}
DenseSlice<const float> first_rows(const Floats& x, std::size_t nrows) { return slice(x, 0, nrows); }

/// sums = those of the gradient's columns.
void bias_gradient(TrainingRun& run, Floats& sums, const Floats& gradient) {
  run.sum_parts(sums, gradient.nrows(), [&](Floats& to, std::size_t first, std::size_t nrows) {
    column_sums_into(to.values(), some_rows(gradient, first, nrows));
  });
}

std::span<const float> values_of(const Floats* row) {
  return row == nullptr ? std::span<const float>{} : row->values();
}

/// Rows of a product's output: the layer's targets are the first of its inputs, and have the weights of the root.
std::size_t rows_of_product(const TrainingRun& run, const Operator& op) {
  return op.weight == WeightOf::root ? run.targets(op) : run.rows(op.inputs[0]);
}

/// Of features the center is taken off.
std::span<const float> bias_of_signs(TrainingRun& run, const Operator& op) {
  const Floats& bias = *run.parameters(op).bias;
  const bool biased = op.bias != BiasOf::none;
  if (!run.reads_features(op) || run.input().center == nullptr)
    return biased ? bias.values() : std::span<const float>{};
  Floats& shifted = run.slot(op.output()).shifted_bias;
  assign(shifted, bias, run.device());
  if (!biased) accumulate(shifted, bias, 0, 0);
  const Binarized& weight = run.weight_signs(op);
  subtract_center(shifted, weight, *run.input().center, run.scratch(weight.bits.nrows(), weight.bits.ncols()));
  return std::as_const(shifted).values();
}

void train_sign_product(TrainingRun& run, const Operator& op) {
  const ValueId x = op.inputs[0];
  const std::size_t nrows = rows_of_product(run, op);
  const Slot& in = run.slot(x);
  const Binarized& weight = run.weight_signs(op);
  const BitMatrix<ZeroOne> keep = in.dropped ? some_rows(in.keep, 0, nrows) : BitMatrix<ZeroOne>();
  gemm_into(run.floats(op.output(), nrows), some_rows(run.bits(x), 0, nrows), weight.bits,
            {.row_scale = in.scale.empty() ? in.scale : in.scale.first(nrows),
             .col_scale = weight.alpha.span(),
             .bias = bias_of_signs(run, op),
             .keep = in.dropped ? &keep : nullptr});
}

/// Entries of sparse rows are dropped, not elements: the others are zero.
void drop_sparse(TrainingRun& run, const Operator& op) {
  const Slot& in = run.slot(op.inputs[0]);
  Slot& out = run.slot(op.output());
  const float rate = run.dropout_rate(op);
  out.entries = in.entries;
  out.by_column = in.by_column;
  out.nrows = in.nrows;
  out.sparse_values = in.sparse_values;
  out.scale = in.scale;
  if (rate <= 0) return;
  reshape(out.sparse_storage, in.sparse_values.size(), run.device());
  drop_entries_into(out.sparse_storage.span(), in.sparse_values, rate, run.key(op), run.device());
  out.sparse_values = std::as_const(out.sparse_storage).span();
}

/// Of a sample's rows elements are dropped, as of dense rows: entries where the mask has no bit.
void drop_rows(TrainingRun& run, const Operator& op) {
  const Slot& in = run.slot(op.inputs[0]);
  Slot& out = run.slot(op.output());
  const float rate = run.dropout_rate(op);
  if (rate > 0) {
    reshape(out.keep, in.nrows, run.program().value(op.output()).columns, run.device());
    dropout_mask_into(out.keep, rate, run.key(op));
  }
  if (in.rows->there != nullptr) {
    out.sample = {in.rows->there, in.rows->nodes, rate > 0 ? &out.keep : nullptr, 1 / (1 - rate)};
    out.nrows = in.nrows;
    return;
  }
  out.kept.take(*in.rows, rate > 0 ? &out.keep : nullptr, 1 / (1 - rate), run.device());
  out.entries = &out.kept.pattern();
  out.by_column = nullptr;
  out.sparse_values = out.kept.values();
  out.nrows = in.nrows;
}

/// Whether the input of a product is sparse rows, not floats or signs of each element.
bool is_sparse(const Slot& in) { return in.entries != nullptr || in.sample.all != nullptr; }

/// X^T G of sparse rows, into `wide` of the output: inputs x outputs.
Floats& sparse_columns_times(TrainingRun& run, const Operator& op, const Floats& gradient) {
  const Slot& in = run.slot(op.inputs[0]);
  Floats& wide = run.slot(op.output()).wide;
  if (in.sample.all != nullptr) {
    sparse_gradient_into(wide, in.sample, gradient);
  } else if (in.by_column == nullptr) {
    sparse_gradient_into(wide, *in.entries, in.sparse_values, gradient);
  } else {
    sparse_product_into(wide, in.by_column->pattern, in.sparse_values, gradient,
                        {.places = in.by_column->source.span()});
  }
  return wide;
}

/// Weights of sparse rows, or their gradient: inputs x outputs.
Floats& wide_of(TrainingRun& run, const Operator& op) {
  Floats& wide = run.slot(op.output()).wide;
  const Floats& weight = *run.parameters(op).weight;
  reshape(wide, weight.ncols(), weight.nrows(), run.device());
  return wide;
}

void train_sparse_product(TrainingRun& run, const Operator& op) {
  Floats& wide = wide_of(run, op);
  transpose_into(wide, run.weight(op));
  const Slot& in = run.slot(op.inputs[0]);
  const std::size_t nrows = rows_of_product(run, op);
  const bool biased = op.bias != BiasOf::none && nrows == in.nrows;
  const auto bias = biased ? values_of(run.parameters(op).bias) : std::span<const float>{};
  Floats& out = run.floats(op.output(), nrows);
  if (in.sample.all != nullptr) return sparse_product_into(out, in.sample, wide, bias);
  sparse_product_into(out, *in.entries, in.sparse_values, wide, {.bias = bias});
}

void gradient_sparse_product(TrainingRun& run, const Operator& op) {
  const LinearParameters& linear = run.parameters(op);
  const Floats& gradient = run.gradient(op.output());
  const bool biased = op.bias != BiasOf::none && linear.bias_gradient != nullptr;
  if (biased) bias_gradient(run, *linear.bias_gradient, gradient);
  transpose_into(*linear.weight_gradient, sparse_columns_times(run, op, gradient));
  if (op.multiplies_levels()) run.learn_weight_scale(op);
}

/// out[f] = scale[f] times the sum of a row of floats with the signs of weight f.
void weighted_signs(TrainingRun& run, const Operator& op, const Floats& row, Buffer<float>& out) {
  const Binarized& weight = run.weight_signs(op);
  Buffer<double>& sums = run.sums(weight.alpha.size());
  signed_sums_into(sums.span(), weight.bits, row.values());
  reshape(out, sums.size(), run.device());
  for (std::size_t f = 0; f < sums.size(); ++f) out[f] = static_cast<float>(weight.alpha[f] * sums[f]);
}

/// Rows alpha (base + flips) - center times binarized weights: the base's product is one row for all.
void train_sparse_sign_product(TrainingRun& run, const Operator& op) {
  const Binarized& weight = run.weight_signs(op);
  const Slot& in = run.slot(op.inputs[0]);
  Slot& made = run.slot(op.output());
  Floats& wide = wide_of(run, op);
  expand_transposed_into(wide, weight.bits, weight.alpha.span());
  weighted_signs(run, op, run.input().sparse_signs->base, made.of_base);
  sparse_product_into(
      run.floats(op.output(), in.nrows), *in.entries, in.sparse_values, wide,
      {.row_scale = in.scale, .col_offset = std::as_const(made.of_base).span(), .bias = bias_of_signs(run, op)});
}

void gradient_sparse_sign_product(TrainingRun& run, const Operator& op) {
  const LinearParameters& linear = run.parameters(op);
  const Floats& gradient = run.gradient(op.output());
  const bool biased = op.bias != BiasOf::none;
  const std::span<float> of_bias = linear.bias_gradient->values();
  if (biased) bias_gradient(run, *linear.bias_gradient, gradient);
  Floats& scaled = run.scratch(gradient.nrows(), gradient.ncols());
  assign(scaled, gradient, run.device());
  scale_rows(scaled, run.slot(op.inputs[0]).scale);
  Buffer<float>& sums = run.slot(op.output()).of_base;  // no longer wanted
  column_sums_into(sums.span(), scaled);
  Floats& wide = sparse_columns_times(run, op, scaled);
  const float* const base = run.input().sparse_signs->base.values().data();
  const bool centered = biased && run.input().center != nullptr;
  const float* const center = centered ? run.input().center->values().data() : nullptr;
  parallel_for(run.device(), wide.nrows(), 128, [&](std::size_t j) {
    const float of_center = center == nullptr ? 0.0F : center[j];
    float* const __restrict row = wide.row(j).data();
    const float* const __restrict sum = sums.data();
    const float* const __restrict bias = of_bias.data();
    for (std::size_t f = 0; f < of_bias.size(); ++f) row[f] = row[f] + base[j] * sum[f] - of_center * bias[f];
  });
  transpose_into(*linear.weight_gradient, wide);
  binary_weight_backward(*linear.weight_gradient, *linear.weight, run.weight_signs(op).alpha.span());
}

}  // namespace

namespace {

/// Floats that have the values of levels.
void train_levels(TrainingRun& run, const Operator& op) {
  const Floats& x = run.floats(op.inputs[0]);
  const LevelGrid grid = run.make_grid(op, x);
  fake_quantize_into(run.floats(op.output(), x.nrows()), x, grid);
}

}  // namespace

void train_quantize(TrainingRun& run, const Operator& op) {
  if (!run.is_signs(op.output())) return train_levels(run, op);
  const Floats& x = run.floats(op.inputs[0]);
  Slot& out = run.slot(op.output());
  const bool from_before = op.scale_before && out.signs.alpha.size() == x.nrows();
  if (from_before) assign(out.scale_storage, out.signs.alpha, run.device());
  reshape(out.signs, x.nrows(), x.ncols(), run.device());
  binarize_into(out.signs, x);
  out.bits = &out.signs.bits;
  const bool scaled = run.program().value(op.output()).format.scale != ScaleExtent::none;
  const Buffer<float>& scale = from_before ? out.scale_storage : out.signs.alpha;
  out.scale = scaled ? scale.span() : std::span<const float>{};
  out.nrows = x.nrows();
}

/// Straight through a sign, and through levels within their range. What votes make is never further from zero than a
/// sign.
void gradient_quantize(TrainingRun& run, const Operator& op) {
  const auto pass = [&](Floats& gradient) {
    const Floats& x = run.floats(op.inputs[0]);
    if (!run.is_signs(op.output())) {
      run.learn_grid(op, x, gradient);
      return fake_quantize_backward(gradient, x, run.grid(op, x));
    }
    if (!op.straight) sign_backward(gradient, x, 1);
  };
  if (run.share_gradient(op.inputs[0], op.output())) return pass(run.gradient(op.output()));
  auto [to, beta] = run.target(op.inputs[0]);
  Floats& passed = run.scratch(to.nrows(), to.ncols());
  assign(passed, run.gradient(op.output()), run.device());
  pass(passed);
  accumulate(to, passed, 1, beta);
}

void train_dropout(TrainingRun& run, const Operator& op) {
  if (run.slot(op.inputs[0]).rows != nullptr) return drop_rows(run, op);
  if (run.slot(op.inputs[0]).entries != nullptr) return drop_sparse(run, op);
  const ValueId x = op.inputs[0];
  Slot& in = run.slot(x);
  Slot& out = run.slot(op.output());
  const float rate = run.dropout_rate(op);
  out.nrows = in.nrows;
  out.floats = in.floats;
  out.bits = in.bits;
  out.scale = in.scale;
  out.dropped = rate > 0;
  if (!out.dropped) return;
  reshape(out.keep, in.nrows, run.program().value(x).columns, run.device());
  dropout_mask_into(out.keep, rate, run.key(op));
  if (!run.is_signs(x)) {
    assign(run.floats(op.output(), in.nrows), *in.floats, run.device());
    return apply_dropout(run.floats(op.output(), in.nrows), out.keep, rate);
  }
  const float factor = 1 / (1 - rate);
  if (in.scale.empty()) {
    if (out.scale_storage.size() != in.nrows) out.scale_storage = Buffer<float>(in.nrows, factor, run.device());
  } else {
    reshape(out.scale_storage, in.nrows, run.device());
    accumulate({{in.nrows, 1, 1, out.scale_storage.data()}, run.device()},
               {{in.nrows, 1, 1, in.scale.data()}, run.device()}, factor, 0);
  }
  out.scale = std::as_const(out.scale_storage).span();
}

void gradient_dropout(TrainingRun& run, const Operator& op) {
  const Slot& out = run.slot(op.output());
  Floats& gradient = run.gradient(op.output());
  if (out.dropped) apply_dropout(gradient, out.keep, run.dropout_rate(op));
  if (run.share_gradient(op.inputs[0], op.output())) return;
  auto [to, beta] = run.target(op.inputs[0]);
  accumulate(to, gradient, 1, beta);
}

void train_product(TrainingRun& run, const Operator& op) {
  const bool sparse = is_sparse(run.slot(op.inputs[0]));
  if (op.multiplies_signs()) return sparse ? train_sparse_sign_product(run, op) : train_sign_product(run, op);
  if (sparse) return train_sparse_product(run, op);
  const Floats& x = run.floats(op.inputs[0]);
  const LinearParameters& linear = run.parameters(op);
  const std::size_t nrows = rows_of_product(run, op);
  Floats& out = run.floats(op.output(), nrows);
  if (nrows == x.nrows()) {
    const bool biased = op.bias != BiasOf::none;
    gemm_into(out, x, run.weight(op), {.bias = biased ? values_of(linear.bias) : std::span<const float>{}});
  } else {
    float_gemm(out, first_rows(x, nrows), false, run.weight(op), true);
  }
}

void gradient_product(TrainingRun& run, const Operator& op) {
  const bool signs = op.multiplies_signs();
  if (is_sparse(run.slot(op.inputs[0])))
    return signs ? gradient_sparse_sign_product(run, op) : gradient_sparse_product(run, op);
  const ValueId input = op.inputs[0];
  const Floats& gradient = run.gradient(op.output());
  const LinearParameters& linear = run.parameters(op);
  const bool biased = op.bias != BiasOf::none && linear.bias_gradient != nullptr;
  if (biased) bias_gradient(run, *linear.bias_gradient, gradient);
  const Slot& in = run.slot(input);
  run.sum_parts(*linear.weight_gradient, gradient.nrows(), [&](Floats& to, std::size_t first, std::size_t nrows) {
    if (!signs)
      return float_gemm(to, slice(gradient, first, nrows), true, slice(run.floats(input), first, nrows), false);
    const BitMatrix<ZeroOne> keep = in.dropped ? some_rows(in.keep, first, nrows) : BitMatrix<ZeroOne>();
    sign_gradient_into(to, some_rows(gradient, first, nrows), some_rows(run.bits(input), first, nrows),
                       {.row_scale = in.scale.empty() ? in.scale : in.scale.subspan(first, nrows),
                        .keep = in.dropped ? &keep : nullptr});
  });
  if (signs) {
    if (biased && run.reads_features(op) && run.input().center != nullptr)
      float_gemm(*linear.weight_gradient, *linear.bias_gradient, true, *run.input().center, false, -1, 1);
    binary_weight_backward(*linear.weight_gradient, *linear.weight, run.weight_signs(op).alpha.span());
  }
  if (op.multiplies_levels()) run.learn_weight_scale(op);
  if (!run.learns(input)) return;
  const Floats* weight = &run.weight(op);
  if (signs) {
    const Bits& bits = run.weight_signs(op).bits;
    Floats& plain = run.scratch(bits.nrows(), bits.ncols());
    expand_into(plain, bits, {}, nullptr);
    weight = &plain;
  }
  auto [to, beta] = run.target(input);
  if (beta == 0) fill_rows_from(to, gradient.nrows());
  float_gemm(DenseSlice<float>(to).rows(0, gradient.nrows()), gradient, false, *weight, false, 1, beta);
}

/// Signs vote: their mean, whose sign the next layer takes.
void train_aggregate(TrainingRun& run, const Operator& op) {
  const LayerGraph& graph = run.graph(op);
  Floats& out = run.floats(op.output(), graph.pattern.nrows());
  if (run.is_signs(op.inputs[0])) {
    return spmm_into(out, graph.pattern, run.bits(op.inputs[0]), {.row_scale = graph.vote_scale.span()});
  }
  const bool biased = op.bias != BiasOf::none;
  spmm_into(out, graph.pattern, run.floats(op.inputs[0]),
            {.row_scale = graph.row_scale.span(),
             .col_scale = graph.col_scale.span(),
             .bias = biased ? values_of(run.layer_bias(op).bias) : std::span<const float>{}});
}

void gradient_aggregate(TrainingRun& run, const Operator& op) {
  const LayerGraph& graph = run.graph(op);
  const Floats& gradient = run.gradient(op.output());
  if (op.bias != BiasOf::none) bias_gradient(run, *run.layer_bias(op).bias_gradient, gradient);
  auto [to, beta] = run.target(op.inputs[0]);
  Floats& out = beta == 0 ? to : run.scratch(to.nrows(), to.ncols());
  if (run.is_signs(op.inputs[0])) {
    spmm_into(out, graph.transposed, gradient, {.col_scale = graph.vote_scale.span()});
  } else {
    spmm_into(out, graph.transposed, gradient,
              {.row_scale = graph.col_scale.span(), .col_scale = graph.row_scale.span()});
  }
  if (beta != 0) accumulate(to, out, 1, 1);
}

/// A layer's input has rows that its output has not, behind the others.
void train_add(TrainingRun& run, const Operator& op) {
  const Floats& a = run.floats(op.inputs[0]);
  const Floats& all = run.floats(op.inputs[1]);
  const Floats b = some_rows(all, 0, std::min(a.nrows(), all.nrows()));
  Floats& out = run.floats(op.output(), a.nrows());
  if (op.maximum) {
    if (&out != &a) assign(out, a, run.device());
    return maximum_into(out, b);
  }
  const bool biased = op.bias != BiasOf::none;
  add_into(
      out, a, b,
      {.bias = biased ? values_of(run.layer_bias(op).bias) : std::span<const float>{}, .activation = op.activation});
}

/// Of a maximum both inputs are told: the or of two signs is let straight through as each sign is.
void gradient_add(TrainingRun& run, const Operator& op) {
  Floats& gradient = run.gradient(op.output());
  if (op.activation == Activation::relu) relu_backward(gradient, run.floats(op.output()));
  if (op.activation == Activation::tanh) tanh_backward(gradient, run.floats(op.output()));
  if (op.bias != BiasOf::none) bias_gradient(run, *run.layer_bias(op).bias_gradient, gradient);
  if (run.learns(op.inputs[1])) {
    auto [to, beta] = run.target(op.inputs[1]);
    if (beta == 0) fill_rows_from(to, gradient.nrows());
    accumulate(DenseSlice<float>(to).rows(0, gradient.nrows()), gradient, 1, beta);
    if (op.maximum) sign_backward(to, run.floats(op.inputs[1]), 1);
  }
  if (run.share_gradient(op.inputs[0], op.output()) || !run.learns(op.inputs[0])) return;
  auto [to, beta] = run.target(op.inputs[0]);
  accumulate(to, gradient, 1, beta);
}

namespace {

BatchNorm norm_of(const TrainingRun& run, const Operator& op) {
  const NormParameters& norm = run.norm(op);
  return {values_of(norm.mean), values_of(norm.variance), values_of(norm.scale), values_of(run.layer_bias(op).bias)};
}

}  // namespace

void train_batch_norm(TrainingRun& run, const Operator& op) {
  const Floats& x = run.floats(op.inputs[0]);
  column_statistics_into(run.norm(op).mean->values(), run.norm(op).variance->values(), x);
  batch_norm_into(run.floats(op.output(), x.nrows()), x, norm_of(run, op));
}

void gradient_batch_norm(TrainingRun& run, const Operator& op) {
  Floats& gradient = run.gradient(op.output());
  batch_norm_backward_into(gradient, run.norm(op).scale_gradient->values(), run.layer_bias(op).bias_gradient->values(),
                           run.floats(op.inputs[0]), gradient, norm_of(run, op));
  if (run.share_gradient(op.inputs[0], op.output())) return;
  auto [to, beta] = run.target(op.inputs[0]);
  accumulate(to, gradient, 1, beta);
}

/// Of each layer the nodes of the last one, which are the first of the others.
void train_concat(TrainingRun& run, const Operator& op) {
  Floats& out = run.floats(op.output(), run.rows(op.inputs.back()));
  std::size_t first = 0;
  for (const ValueId part : op.inputs) {
    const Floats& x = run.floats(part);
    accumulate(DenseSlice<float>(out).cols(first, x.ncols()), first_rows(x, out.nrows()), 1, 0);
    first += x.ncols();
  }
}

void gradient_concat(TrainingRun& run, const Operator& op) {
  const Floats& gradient = run.gradient(op.output());
  std::size_t first = 0;
  for (const ValueId part : op.inputs) {
    const std::size_t columns = run.program().value(part).columns;
    if (run.learns(part)) {
      auto [to, beta] = run.target(part);
      if (beta == 0) fill_rows_from(to, gradient.nrows());
      accumulate(DenseSlice<float>(to).rows(0, gradient.nrows()),
                 DenseSlice<const float>(gradient).cols(first, columns), 1, beta);
    }
    first += columns;
  }
}

void train_readout(TrainingRun& run, const Operator& op) {
  const LayerGraph& readout = run.readout();
  const bool biased = op.bias != BiasOf::none;
  spmm_into(run.floats(op.output(), readout.pattern.nrows()), readout.pattern, run.floats(op.inputs[0]),
            {.row_scale = readout.row_scale.span(),
             .bias = biased ? values_of(run.layer_bias(op).bias) : std::span<const float>{}});
}

/// Each node has the gradient of its graph.
void gradient_readout(TrainingRun& run, const Operator& op) {
  const LayerGraph& readout = run.readout();
  const Floats& gradient = run.gradient(op.output());
  if (op.bias != BiasOf::none) bias_gradient(run, *run.layer_bias(op).bias_gradient, gradient);
  auto [to, beta] = run.target(op.inputs[0]);
  Floats& out = beta == 0 ? to : run.scratch(to.nrows(), to.ncols());
  spmm_into(out, readout.transposed, gradient, {.col_scale = readout.row_scale.span()});
  if (beta != 0) accumulate(to, out, 1, 1);
}

}  // namespace bitgraph::nn
