// SPDX-License-Identifier: Apache-2.0
#include "nn/program/passes/passes.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace bitgraph::nn {

ValueId put_behind(Program& program, ValueId value, Operator op) {
  const std::size_t producer = program.producer(value);
  const bool of_features = producer == program.operators.size();
  const ValueId output = program.add_value(program.value(value));
  for (Operator& reader : program.operators) std::replace(reader.inputs.begin(), reader.inputs.end(), value, output);
  if (program.result == value) program.result = output;
  op.inputs = {value};
  op.outputs = {output};
  op.layer = of_features ? 0 : program.operators[producer].layer;
  const auto place = program.operators.begin() + static_cast<std::ptrdiff_t>(of_features ? 0 : producer + 1);
  program.operators.insert(place, std::move(op));
  return output;
}

void reorder_result(Program& program) {
  const std::size_t producer = program.producer(program.result);
  const bool alone = program.uses(program.result) == 1 && producer != program.operators.size();
  if (alone) {
    Operator& last = program.operators[producer];
    const bool of_levels = last.multiplies_levels() ||
                           (last.kind == OperatorKind::aggregate && program.value(last.inputs.front()).is_levels());
    if (of_levels && !last.by_parts && !program.value(program.result).is_levels()) {
      last.reorders = true;
      return;
    }
  }
  put_behind(program, program.result, {.kind = OperatorKind::reorder});
}

}  // namespace bitgraph::nn
