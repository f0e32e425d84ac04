// SPDX-License-Identifier: Apache-2.0
// Values side by side that become levels: each becomes levels by itself, and these are put side by side. So no floats
// are, and where nobody else reads a value, the product that makes it makes the levels (epilogues.cpp). A layer's input
// has one step for all columns, so the levels are the same.
#include "nn/program/passes/passes.hpp"

#include <bitgraph/ops/concat.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace bitgraph::nn {

namespace {

using Kind = OperatorKind;

/// The concat that makes what `op` quantizes, if its parts may be quantized instead; else the number of operators.
std::size_t joined_before(const Program& program, const Operator& op) {
  const std::size_t none = program.operators.size();
  if (op.kind != Kind::quantize || !program.value(op.output()).is_levels()) return none;
  const std::size_t at = program.producer(op.inputs[0]);
  if (at == none || program.operators[at].kind != Kind::concat || program.uses(op.inputs[0]) != 1) return none;
  const Value& out = program.value(op.output());
  if (out.format.scale == ScaleExtent::column) return none;
  const std::vector<ValueId>& parts = program.operators[at].inputs;
  for (std::size_t p = 0; p + 1 < parts.size(); ++p) {
    if (!levels_fill_words(program.value(parts[p]).columns, out.format.bits)) return none;
  }
  return at;
}

}  // namespace

void quantize_before_joining(Program& program) {
  for (std::size_t n = 0; n < program.operators.size(); ++n) {
    const Operator quantize = program.operators[n];
    const std::size_t at = joined_before(program, quantize);
    if (at == program.operators.size()) continue;
    Operator concat = program.operators[at];
    std::vector<Operator> made;
    for (ValueId& part : concat.inputs) {
      Value levels = program.value(quantize.output());
      levels.columns = program.value(part).columns;
      Operator of_part = quantize;
      of_part.inputs = {part};
      of_part.outputs = {program.add_value(levels)};
      part = of_part.output();
      made.push_back(std::move(of_part));
    }
    concat.outputs = quantize.outputs;
    concat.layer = quantize.layer;
    program.operators[n] = std::move(concat);
    program.operators.insert(program.operators.begin() + static_cast<std::ptrdiff_t>(n), made.begin(), made.end());
    n += made.size();
  }
  remove_dead(program);
}

}  // namespace bitgraph::nn
