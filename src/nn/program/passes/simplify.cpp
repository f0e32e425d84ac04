// SPDX-License-Identifier: Apache-2.0
// Passes that only drop work: what is quantized twice, rectified apart, or read by nobody.
#include "nn/program/passes/passes.hpp"

#include <algorithm>

namespace bitgraph::nn {

namespace {

void replace_reads(Program& program, ValueId old, ValueId by) {
  for (Operator& op : program.operators) std::replace(op.inputs.begin(), op.inputs.end(), old, by);
  if (program.result == old) program.result = by;
}

/// Whether two operators make the same of the same, in the same format.
bool make_alike(const Program& program, const Operator& a, const Operator& b) {
  if (a.kind != b.kind || a.inputs != b.inputs) return false;  // nearly all pairs: before anything is copied
  const Value& x = program.value(a.output());
  const Value& y = program.value(b.output());
  if (x.columns != y.columns || !(x.format == y.format)) return false;
  if (x.is_levels() && (x.levels_of != y.levels_of || x.scale_layer != y.scale_layer)) return false;
  Operator same = b;
  if (a.weight == WeightOf::none && a.bias == BiasOf::none) same.layer = a.layer;
  same.outputs = a.outputs;
  return a == same;
}

}  // namespace

void share(Program& program) {
  std::vector<Operator> kept;
  const std::size_t count = program.operators.size();
  for (std::size_t n = 0; n < count; ++n) {
    const Operator op = program.operators[n];
    const auto same =
        std::find_if(kept.begin(), kept.end(), [&](const Operator& other) { return make_alike(program, op, other); });
    if (same == kept.end()) {
      kept.push_back(op);
      continue;
    }
    replace_reads(program, op.output(), same->output());
  }
  program.operators = std::move(kept);
}

Activation activation_of(const Operator& op) {
  switch (op.kind) {
    case OperatorKind::relu: return Activation::relu;
    case OperatorKind::tanh: return Activation::tanh;
    default: return Activation::none;
  }
}

void fold_activations(Program& program) {
  for (const Operator& op : program.operators) {
    const Activation activation = activation_of(op);
    if (activation == Activation::none) continue;
    const std::size_t n = program.producer(op.inputs[0]);
    if (n == program.operators.size() || program.uses(op.inputs[0]) != 1) continue;
    Operator& sum = program.operators[n];
    if (sum.kind != OperatorKind::add || sum.activation != Activation::none) continue;
    sum.activation = activation;
    replace_reads(program, op.output(), sum.output());
  }
  remove_dead(program);
}

void remove_dead(Program& program) {
  std::vector<bool> read(program.values.size(), false);
  read[program.result] = true;
  std::vector<Operator> kept;
  for (std::size_t n = program.operators.size(); n-- > 0;) {
    Operator& op = program.operators[n];
    if (std::none_of(op.outputs.begin(), op.outputs.end(), [&](ValueId v) { return read[v]; })) continue;
    for (const ValueId v : op.inputs) {
      if (v != no_value) read[v] = true;
    }
    kept.push_back(std::move(op));
  }
  std::reverse(kept.begin(), kept.end());
  program.operators = std::move(kept);

  std::vector<ValueId> renamed(program.values.size(), no_value);
  std::vector<Value> values;
  const auto keep = [&](ValueId& v) {
    if (v == no_value) return;
    if (renamed[v] == no_value) {
      renamed[v] = static_cast<ValueId>(values.size());
      values.push_back(program.values[v]);
    }
    v = renamed[v];
  };
  keep(program.features);
  for (Operator& op : program.operators) {
    for (ValueId& v : op.inputs) keep(v);
    for (ValueId& v : op.outputs) keep(v);
  }
  keep(program.result);
  program.values = std::move(values);
}

}  // namespace bitgraph::nn
