// SPDX-License-Identifier: Apache-2.0
// Operators that take each node by itself: quantize, product, add, relu, concat.
#include <bitgraph/formats/quantized_matrix.hpp>
#include <bitgraph/ops/add.hpp>
#include <bitgraph/ops/binarize.hpp>
#include <bitgraph/ops/concat.hpp>
#include <bitgraph/ops/fused_vote.hpp>
#include <bitgraph/ops/gemm.hpp>
#include <bitgraph/ops/gradient.hpp>
#include <bitgraph/ops/level_gemm.hpp>
#include <bitgraph/ops/quantize.hpp>
#include <bitgraph/ops/sparse_product.hpp>
#include <bitgraph/ops/spmm.hpp>

#include "nn/inference/row_blocks.hpp"
#include "nn/inference/runtime/kernels.hpp"
#include "nn/inference/runtime/runtime.hpp"
#include "nn/model/some_rows.hpp"

#include <array>
#include <utility>

namespace bitgraph::nn {

namespace {

using Bits = BitMatrix<PlusMinusOne>;
using Floats = DenseMatrix<float>;

/// fn(output) with the type that the program says.
template <class Fn>
void with_output(Runtime& at, ValueId v, Fn&& fn) {
  if (at.makes_bits(v)) {
    fn(at.bits(v));
  } else {
    fn(at.floats(v));
  }
}

void run_real_product(Runtime& at, const Operator& op) {
  const PreparedWeight& w = at.weights().of(op);
  const ValueId x = op.inputs[0];
  Floats& out = at.floats(op.output());
  if (at.is_features(x) && !at.features().real->is_dense()) {
    const RealFeatures& features = *at.features().real;
    sparse_product_into(out, features.pattern, features.values.span(), w.wide);
  } else if (op.bias != BiasOf::none) {
    gemm_into(out, at.floats_in(x), w.linear.floats(), {.bias = at.weights().bias(op)});
  } else {
    float_gemm(out, at.floats_in(x), false, w.linear.floats(), true);
  }
}

void run_sparse_bits_product(Runtime& at, const Operator& op) {
  const PackedFeatures& x = *at.features().packed;
  const PreparedWeight& w = at.weights().of(op);
  with_output(at, op.output(), [&](auto& out) {
    spmm_into(out, x.sparse->bits.flips, w.sparse.u,
              {.row_scale = x.alpha(),
               .feature_scale = w.sparse.feature_scale.span(),
               .feature_offset = w.sparse.feature_offset.span(),
               .bias = at.weights().bias(op)});
  });
}

bool is_sparse_levels(const Runtime& at, ValueId v) { return at.is_features(v) && at.features().sparse_levels; }
bool is_sparse_bits(const Runtime& at, ValueId v) { return at.is_features(v) && at.features().packed->sparse; }

}  // namespace

void find_quantize(Runtime& at, const Operator& op, Prepared& prepared) {
  if (op.aggregation != Aggregation::none) prepared.operand = at.graph().scales_of(op.aggregation);
}

void run_quantize(Runtime& at, const Operator& op, Prepared& prepared) {
  if (at.makes_levels(op.output())) {
    return quantize_into(at.levels(op.output()), at.floats_in(op.inputs[0]), Rounding::nearest,
                         prepared.operand.col_scale);
  }
  if (op.outputs.size() == 1) return binarize_into(at.binarized(op.output()), at.floats_in(op.inputs[0]));
  Floats& scales = at.floats(op.outputs[1]);  // that nobody reads
  Binarized signs{some_rows(at.bits(op.output()), 0, scales.nrows()),
                  lent(scales.values().data(), scales.nrows(), at.device())};
  binarize_into(signs, at.floats_in(op.inputs[0]));
}

/// Of counts: the scale of the mean. Of scores and of levels: the scales of nodes as neighbours.
void find_product(Runtime& at, const Operator& op, Prepared& prepared) {
  if (op.reorders) prepared.out_rows = at.back().nodes().span();
  if (op.aggregation != Aggregation::none) prepared.operand = at.graph().scales_of(op.aggregation);
}

/// Of levels with a factor of each row: their input with the factor in its scale.
void bind_product(Runtime& at, const Operator& op, Prepared& prepared) {
  if (!op.multiplies_levels() || op.aggregation == Aggregation::none) return;
  const bool sparse = is_sparse_levels(at, op.inputs[0]);
  const std::size_t n = at.num_nodes();
  const LevelScale& given = sparse ? at.features().sparse_levels->scale : at.levels_in(op.inputs[0]).scale();
  const LevelScale here = given.to(Device());
  Buffer<float> factor(n);
  Device::copy(factor.data(), Device(), prepared.operand.col_scale.data(), at.device(), factor.bytes());
  LevelScale scale{ScaleExtent::row, Buffer<float>(n), Buffer<float>(here.has_offsets() ? n : 0)};
  for (std::size_t i = 0; i < n; ++i) {
    scale.steps[i] = here.step(i, 0) * factor[i];
    if (here.has_offsets()) scale.offsets[i] = here.offset(i, 0) * factor[i];
  }
  if (sparse) {
    const SparseLevels& x = *at.features().sparse_levels;
    prepared.scaled_entries = {x.pattern.share(at.device()), x.levels.share(at.device()), x.bits,
                               scale.to(at.device())};
    return;
  }
  const QuantizedMatrix& x = at.levels_in(op.inputs[0]);
  prepared.scaled = QuantizedMatrix(x.nrows(), x.ncols(), x.bits(), x.levels().share(at.device()),
                                    scale.to(at.device()), trusted, x.packing());
}

namespace {

void run_level_product(Runtime& at, const Operator& op, const Prepared& prepared) {
  const LevelWeights& w = at.weights().of(op).levels;
  const bool scaled = op.aggregation != Aggregation::none;
  const LevelGemmOptions epilogue{.bias = at.weights().bias(op),
                                  .addend = op.inputs.size() == 2 ? &at.floats_in(op.inputs[1]) : nullptr,
                                  .activation = op.activation,
                                  .out_rows = prepared.out_rows};
  const auto multiply = [&](const auto& x) {
    if (at.makes_levels(op.output())) return level_gemm_into(at.levels(op.output()), x, w, epilogue);
    level_gemm_into(at.floats(op.output()), x, w, epilogue);
  };
  if (is_sparse_levels(at, op.inputs[0]))
    return multiply(scaled ? prepared.scaled_entries : *at.features().sparse_levels);
  multiply(scaled ? prepared.scaled : at.levels_in(op.inputs[0]));
}

}  // namespace

void run_product(Runtime& at, const Operator& op, Prepared& prepared) {
  if (op.multiplies_levels()) return run_level_product(at, op, prepared);
  if (!op.multiplies_signs()) return run_real_product(at, op);
  const ValueId x = op.inputs[0];
  if (is_sparse_bits(at, x)) return run_sparse_bits_product(at, op);
  const Binarized& w = at.weights().of(op).linear.signs();
  if (at.makes_scaled_scores(op.output())) {
    return score_rows_into(at.scaled_scores(op.output()), at.bits_in(x), w.bits, prepared.operand.col_scale);
  }
  if (!at.makes_bits(x)) {
    return binary_weight_gemm_into(
        at.floats(op.output()), at.floats_in(x), w.bits,
        {.row_scale = prepared.operand.row_scale, .col_scale = w.alpha.span(), .bias = at.weights().bias(op)});
  }
  with_output(at, op.output(), [&](auto& out) {
    gemm_into(out, at.bits_in(x), w.bits,
              {.row_scale = at.row_scales(x), .col_scale = w.alpha.span(), .bias = at.weights().bias(op)});
  });
}

void run_add(Runtime& at, const Operator& op, Prepared&) {
  const auto [a, b] = std::pair(op.inputs[0], op.inputs[1]);
  if (at.makes_bits(op.output())) {
    add_into(at.bits(op.output()), at.bits_in(a), at.bits_in(b));
  } else {
    add_into(at.floats(op.output()), at.floats_in(a), at.floats_in(b),
             {.bias = at.weights().bias(op), .activation = op.activation});
  }
}

namespace {

/// The output, which holds the input.
Floats& copied_input(Runtime& at, const Operator& op) {
  Floats& out = at.floats(op.output());
  if (at.name(op.output()) != at.name(op.inputs[0])) {
    const Floats& in = at.floats_in(op.inputs[0]);
    Device::copy(out.values().data(), at.device(), in.values().data(), at.device(), in.bytes());
  }
  return out;
}

}  // namespace

void run_relu(Runtime& at, const Operator& op, Prepared&) { relu(copied_input(at, op)); }
void run_tanh(Runtime& at, const Operator& op, Prepared&) { tanh(copied_input(at, op)); }

void run_concat(Runtime& at, const Operator& op, Prepared&) {
  const auto join = [&]<class X>(X& out, const auto& part_of) {
    std::array<const X*, most_concat_parts> parts{};
    for (std::size_t p = 0; p < op.inputs.size(); ++p) parts[p] = &part_of(op.inputs[p]);
    concat_into<X>(out, std::span(parts).first(op.inputs.size()));
  };
  const ValueId made = op.output();
  if (at.makes_bits(made)) {
    join(at.bits(made), [&](ValueId v) -> const Bits& { return at.bits_in(v); });
  } else if (at.makes_levels(made)) {
    join(at.levels(made), [&](ValueId v) -> const QuantizedMatrix& { return at.levels_in(v); });
  } else {
    join(at.floats(made), [&](ValueId v) -> const Floats& { return at.floats_in(v); });
  }
}

void bind_multiply_joined(Runtime& at, const Operator& op, Prepared& prepared) {
  const std::size_t n = at.num_nodes();
  Bits& joined = at.bits(op.outputs[1]);
  const std::size_t most = at.program().value(op.outputs[1]).most_rows;
  prepared.joined.clear();
  prepared.float_rows.clear();
  for (std::size_t first = 0; first < n; first += most) {
    const std::size_t rows = std::min(most, n - first);
    std::vector<Bits>& block = prepared.joined.emplace_back();
    block.push_back(some_rows(joined, 0, rows));
    for (const ValueId part : op.inputs) block.push_back(some_rows(at.bits(part), first, rows));
    prepared.float_rows.push_back(some_rows(at.floats(op.output()), first, rows));
  }
}

void run_multiply_joined(Runtime& at, const Operator& op, Prepared& prepared) {
  const Linear& linear = at.weights().of(op).linear;
  std::array<const Bits*, most_concat_parts> parts{};
  for (std::size_t b = 0; b < prepared.joined.size(); ++b) {
    std::vector<Bits>& block = prepared.joined[b];
    const std::size_t count = block.size() - 1;
    for (std::size_t p = 0; p < count; ++p) parts[p] = &block[p + 1];
    concat_into<Bits>(block.front(), std::span(parts).first(count));
    gemm_into(prepared.float_rows[b], block.front(), linear.signs().bits,
              {.col_scale = linear.signs().alpha.span(), .bias = linear.bias.span()});
  }
}

}  // namespace bitgraph::nn
