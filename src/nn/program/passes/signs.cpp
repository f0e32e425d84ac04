// SPDX-License-Identifier: Apache-2.0
// Signs that need no floats before them (BitGNN, section 3.1.2): the scale of a product or a mean does not change its
// sign, so an operator whose result is quantized makes the signs itself.
#include "nn/program/passes/passes.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace bitgraph::nn {

namespace {

using Kind = OperatorKind;

bool makes_plain_signs(const Program& program, const Operator& op) {
  return op.kind == Kind::quantize && program.value(op.output()).format.scale == ScaleExtent::none;
}

/// The signs of a maximum are the or of the signs, and the signs of what stands side by side stand side by side:
/// quantizing goes from behind such an operator to each of its inputs. False where there is none.
bool move_up(Program& program) {
  for (std::size_t n = 0; n < program.operators.size(); ++n) {
    if (!makes_plain_signs(program, program.operators[n])) continue;
    const std::size_t at = program.producer(program.operators[n].inputs[0]);
    if (at == program.operators.size()) continue;
    Operator ahead = program.operators[at];
    if (ahead.kind != Kind::concat && !(ahead.kind == Kind::add && ahead.maximum)) continue;
    const Operator quantize = program.operators[n];
    std::vector<Operator> moved;
    for (ValueId& v : ahead.inputs) {
      if (program.value(v).is_signs()) continue;
      Operator& each = moved.emplace_back(quantize);
      each.inputs = {v};
      each.outputs = {program.add_value({program.value(v).columns, program.value(quantize.output()).format})};
      v = each.output();
    }
    ahead.outputs = quantize.outputs;
    moved.push_back(std::move(ahead));
    const auto place = program.operators.begin() + static_cast<std::ptrdiff_t>(n);
    program.operators.erase(place);
    program.operators.insert(program.operators.begin() + static_cast<std::ptrdiff_t>(n), moved.begin(), moved.end());
    return true;
  }
  return false;
}

/// The operator of a list that makes a value.
Operator& made_by(std::vector<Operator>& operators, ValueId value) {
  return *std::find_if(operators.begin(), operators.end(), [&](const Operator& op) { return op.output() == value; });
}

}  // namespace

void make_signs_early(Program& program) {
  for (Operator& op : program.operators) op.straight = false;  // how a gradient passes: signs are alike all the same
  share(program);
  while (move_up(program)) {
    share(program);
    remove_dead(program);
  }
  std::vector<Operator> kept;
  for (std::size_t n = 0; n < program.operators.size(); ++n) {
    const Operator& op = program.operators[n];
    const std::size_t at = makes_plain_signs(program, op) ? program.producer(op.inputs[0]) : program.operators.size();
    if (at < n && program.uses(op.inputs[0]) == 1) {
      Operator& ahead = made_by(kept, op.inputs[0]);
      const bool votes = ahead.kind == Kind::aggregate && program.value(ahead.inputs[0]).is_signs();
      if (ahead.kind == Kind::product || votes) {  // sums of floats stay floats until they are quantized
        ahead.outputs = op.outputs;
        continue;
      }
    }
    kept.push_back(op);
  }
  program.operators = std::move(kept);
  for (Operator& op : program.operators) {
    if (makes_plain_signs(program, op)) op.outputs.push_back(program.add_value({1, {}}));
  }
  remove_dead(program);
}

}  // namespace bitgraph::nn
