// SPDX-License-Identifier: Apache-2.0
#include "nn/program/passes/passes.hpp"

#include <map>
#include <utility>

namespace bitgraph::nn {

void drop_inputs(Program& program) {
  std::map<ValueId, ValueId> dropped;
  for (Operator& op : std::exchange(program.operators, {})) {
    if (op.kind == OperatorKind::product) {
      const ValueId x = op.inputs[0];
      const auto [at, first] = dropped.try_emplace(x, no_value);
      if (first) {
        at->second = program.add_value(program.value(x));
        program.operators.push_back(
            {.kind = OperatorKind::dropout, .inputs = {x}, .outputs = {at->second}, .layer = op.layer});
      }
      op.inputs[0] = at->second;
    }
    program.operators.push_back(std::move(op));
  }
}

}  // namespace bitgraph::nn
