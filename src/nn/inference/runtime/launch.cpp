// SPDX-License-Identifier: Apache-2.0
// Operators as steps of one launch (nn/one_launch).
#include "nn/inference/runtime/kernels.hpp"
#include "nn/inference/runtime/runtime.hpp"
#include "ops/level_epilogue.hpp"

#include <utility>

namespace bitgraph::nn {

namespace {

using Kind = LaunchStep::Kind;

LaunchStep step_of(const Runtime& at, const Operator& op, Kind kind) {
  LaunchStep s{.kind = kind, .out_width = at.program().value(op.output()).columns};
  s.out = at.name(op.output());
  s.makes_bits = at.makes_bits(op.output());
  return s;
}

LaunchStep over(const Runtime& at, const Operator& op, Kind kind, const CsrPattern& pattern) {
  LaunchStep s = step_of(at, op, kind);
  s.row_ptr = pattern.view().row_ptr;
  s.col_ind = pattern.view().col_ind;
  return s;
}

/// Steps of operators whose output takes the memory of their first input; none where it does not.
std::vector<LaunchStep> in_place(const Runtime& at, const Operator& op, Kind kind) {
  if (at.name(op.output()) != at.name(op.inputs[0]) || op.activation != Activation::none || op.bias != BiasOf::none)
    return {};
  LaunchStep s = step_of(at, op, kind);
  s.in = at.name(op.inputs[1]);
  return {s};
}

LaunchStep sparse_product(const Runtime& at, const Operator& op) {
  const PackedFeatures& x = *at.features().packed;
  const SparseGemmWeights& w = at.weights().of(op).sparse;
  LaunchStep s = over(at, op, Kind::sparse_product, x.sparse->bits.flips);
  s.weight = std::as_const(w.u).view().words;
  s.row_scale = x.alpha().data();
  s.col_scale = w.feature_scale.data();
  s.col_offset = w.feature_offset.data();
  s.bias = at.weights().bias(op).data();
  return s;
}

/// What steps of levels have alike. Floats are the result.
LaunchStep level_step(const Runtime& at, const Operator& op, const Prepared& prepared, Kind kind) {
  LaunchStep s = step_of(at, op, kind);
  s.in = at.name(op.inputs[0]);
  s.in_width = at.program().value(op.inputs[0]).columns;
  s.level.in_bits = at.program().value(op.inputs[0]).format.bits;
  s.level.out_rows = prepared.out_rows.data();
  s.level.in = view_of(at.scale_of_levels(op.inputs[0]));
  LevelEpilogue& epilogue = s.level.epilogue;
  epilogue.bias = at.weights().bias(op).data();
  epilogue.activation = op.activation;
  if (!at.makes_levels(op.output())) return s;
  s.level.out_bits = at.program().value(op.output()).format.bits;
  take_out_scale(epilogue, at.scale_of_levels(op.output()), "one launch");
  return s;
}

LaunchStep level_product(const Runtime& at, const Operator& op, const Prepared& prepared) {
  LaunchStep s = level_step(at, op, prepared, Kind::level_product);
  const LevelWeights& w = at.weights().of(op).levels;
  if (op.aggregation != Aggregation::none) s.row_scale = prepared.operand.col_scale.data();
  s.level.weight_sums = w.sums.data();
  s.level.weight_scale = {w.steps.data(), w.offsets.empty() ? nullptr : w.offsets.data(), false};
  if (!at.is_features(op.inputs[0])) {
    s.level.weight = w.rows.data();
    s.level.pitch = static_cast<std::uint32_t>(w.row_bytes());
    return s;
  }
  const SparseLevels& x = *at.features().sparse_levels;
  s.row_ptr = x.pattern.view().row_ptr;
  s.col_ind = x.pattern.view().col_ind;
  s.level.entries = x.levels.data();
  s.level.weight = w.columns.data();
  s.level.pitch = static_cast<std::uint32_t>(w.column_bytes());
  return s;
}

}  // namespace

bool launches_levels(const Program& program, const Operator& op, bool sparse_features) {
  constexpr int byte = 8;
  const Value &x = program.value(op.inputs[0]), &out = program.value(op.output());
  const bool ends = out.is_levels() ? out.format.bits <= byte : op.output() == program.result;
  if (!x.is_levels() || !ends || op.activation == Activation::tanh) return false;
  if (x.packing == LevelPacking::planes || out.packing == LevelPacking::planes) return false;
  if (op.kind == OperatorKind::aggregate) return !op.by_parts && op.graph != GraphForm::tiles && x.format.bits <= byte;
  if (op.kind != OperatorKind::product || !op.multiplies_levels() || op.inputs.size() != 1) return false;
  const int bits = x.format.bits, w_bits = op.weight_format.bits;
  if (op.inputs[0] == program.features)
    return sparse_features && bits < 16 && w_bits <= byte && sums_fit(bits, w_bits, x.columns, 31);
  return bits <= byte && w_bits <= byte && sums_fit(bits, w_bits, x.columns, 31);
}

std::vector<LaunchStep> launch_quantize(const Runtime& at, const Operator& op, const Prepared&) {
  if (at.makes_levels(op.output())) return {};
  LaunchStep s = step_of(at, op, Kind::binarize);
  s.in_width = s.out_width;
  s.in = at.name(op.inputs[0]);
  return {s};
}

std::vector<LaunchStep> launch_product(const Runtime& at, const Operator& op, const Prepared& prepared) {
  const ValueId x = op.inputs[0];
  if (launches_levels(at.program(), op, at.features().sparse_levels.has_value()))
    return {level_product(at, op, prepared)};
  if (!op.multiplies_signs() || !at.makes_bits(x)) return {};
  if (at.is_features(x) && at.features().packed->sparse) return {sparse_product(at, op)};
  const Linear& w = at.weights().of(op).linear;
  LaunchStep s = step_of(at, op, Kind::product);
  s.in_width = at.program().value(x).columns;
  if (at.is_features(x)) {
    s.bits_in = at.bits_in(x).view().words;
    s.row_scale = at.row_scales(x).data();
  } else {
    s.in = at.name(x);
    if (at.program().value(x).format.scale != ScaleExtent::none) s.row_scale_of = s.in;
  }
  s.weight = w.signs().bits.view().words;
  s.col_scale = w.signs().alpha.data();
  s.bias = at.weights().bias(op).data();
  return {s};
}

std::vector<LaunchStep> launch_aggregate(const Runtime& at, const Operator& op, const Prepared& prepared) {
  const CsrPattern* const pattern = prepared.operand.pattern;
  if (pattern != nullptr && launches_levels(at.program(), op, false)) {
    LaunchStep s = level_step(at, op, prepared, Kind::level_sum);
    s.row_ptr = pattern->view().row_ptr;
    s.col_ind = pattern->view().col_ind;
    s.row_scale = prepared.operand.row_scale.data();
    return {s};
  }
  const bool vote = at.makes_bits(op.output());
  if (op.by_parts || pattern == nullptr || at.makes_levels(op.inputs[0]) || at.makes_bits(op.inputs[0]) != vote)
    return {};
  LaunchStep s = over(at, op, vote ? Kind::vote : Kind::sum, *pattern);
  s.in = at.name(op.inputs[0]);
  if (vote) return {s};
  s.row_scale = prepared.operand.row_scale.data();
  s.neighbor_scale = prepared.operand.col_scale.data();
  s.bias = at.weights().bias(op).data();
  return {s};
}

std::vector<LaunchStep> launch_add(const Runtime& at, const Operator& op, const Prepared&) {
  return in_place(at, op, at.makes_bits(op.output()) ? Kind::either : Kind::add);
}

std::vector<LaunchStep> launch_concat(const Runtime& at, const Operator& op, const Prepared&) {
  std::vector<LaunchStep> placed;
  if (at.makes_levels(op.output())) return placed;  // one launch has no such step
  std::size_t first = 0;
  for (const ValueId part : op.inputs) {
    LaunchStep& s = placed.emplace_back(step_of(at, op, Kind::place));
    s.in = at.name(part);
    s.in_width = at.program().value(part).columns;
    s.first_column = std::exchange(first, first + s.in_width);
  }
  return placed;
}

std::vector<LaunchStep> launch_reorder(const Runtime& at, const Operator& op, const Prepared&) {
  LaunchStep s = over(at, op, Kind::sum, at.back().rows_pattern());
  s.in = at.name(op.inputs[0]);
  return {s};
}

}  // namespace bitgraph::nn
