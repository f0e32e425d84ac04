// SPDX-License-Identifier: Apache-2.0
// Epilogues of levels (QGTC, section 4.5): what is done to a product or a sum of levels before it is stored.
#include "nn/program/passes/passes.hpp"

#include <algorithm>

namespace bitgraph::nn {

namespace {

using Kind = OperatorKind;

/// The operator whose epilogue may take in what `op` does to its input; null: there is none.
Operator* ahead_of(Program& program, const Operator& op) {
  const ValueId x = op.inputs[0];
  const std::size_t n = program.producer(x);
  if (n == program.operators.size() || program.uses(x) != 1) return nullptr;
  Operator& ahead = program.operators[n];
  const bool takes_one = ahead.kind == Kind::product || ahead.kind == Kind::aggregate;
  return takes_one && program.value(ahead.inputs[0]).is_levels() ? &ahead : nullptr;
}

bool fold(Program& program, const Operator& op) {
  const Activation activation = activation_of(op);
  if (activation == Activation::none && op.kind != Kind::quantize) return false;
  if (op.kind == Kind::quantize && !program.value(op.output()).is_levels()) return false;
  Operator* const ahead = ahead_of(program, op);
  // Levels end an epilogue: nothing comes behind them.
  if (ahead == nullptr || program.value(ahead->output()).is_levels()) return false;
  if (activation != Activation::none && ahead->activation != Activation::none) return false;
  // A product has its factor in the scales of its rows: before the bias, which the factor is for, too.
  const bool scaled = op.kind == Kind::quantize && op.aggregation != Aggregation::none;
  if (scaled && (ahead->kind != Kind::product || ahead->bias != BiasOf::none)) return false;
  // So it is with what a product adds, whose levels have no scales by columns either.
  const bool by_columns = op.kind == Kind::quantize && program.value(op.output()).format.scale == ScaleExtent::column;
  if (ahead->inputs.size() == 2 && (scaled || by_columns)) return false;
  if (scaled) ahead->aggregation = op.aggregation;
  if (activation != Activation::none) ahead->activation = activation;
  ahead->outputs = op.outputs;
  return true;
}

/// Whether a product of levels may add what another operator made, as it stores its numbers.
bool may_add(const Program& program, const Operator& op, ValueId made) {
  return op.kind == Kind::product && op.multiplies_levels() && op.inputs.size() == 1 && program.uses(made) == 1 &&
         op.activation == Activation::none && program.value(made).format.kind == NumberKind::float32;
}

/// An addition behind a product of levels: the product makes the sum, where the addition was.
void fold_addition(Program& program, std::size_t n) {
  const Operator add = program.operators[n];
  if (add.kind != Kind::add || add.maximum) return;
  for (const std::size_t k : {1, 0}) {
    const std::size_t at = program.producer(add.inputs[k]);
    if (at == program.operators.size()) continue;
    Operator product = program.operators[at];
    if (!may_add(program, product, add.inputs[k])) continue;
    if (add.bias != BiasOf::none && product.bias != BiasOf::none) continue;
    product.inputs.push_back(add.inputs[1 - k]);
    product.outputs = add.outputs;
    product.activation = add.activation;
    if (product.bias == BiasOf::none) product.bias = add.bias;
    program.operators[n] = std::move(product);
    return;  // the product before it is read by nobody
  }
}

}  // namespace

void make_levels_early(Program& program) {
  for (std::size_t n = 0; n < program.operators.size(); ++n) fold_addition(program, n);
  remove_dead(program);
  for (std::size_t n = 0; n < program.operators.size();) {
    const Operator op = program.operators[n];
    if (fold(program, op)) {
      program.operators.erase(program.operators.begin() + static_cast<std::ptrdiff_t>(n));
    } else {
      ++n;
    }
  }
  remove_dead(program);
}

}  // namespace bitgraph::nn
