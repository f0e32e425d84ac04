// SPDX-License-Identifier: Apache-2.0
// How products of levels are multiplied: planes of bits or bytes. Sums have theirs by the memory for planes that the
// choice of graph forms gives them.
#include "nn/program/passes/passes.hpp"

#include <bitgraph/ops/level_gemm.hpp>

namespace bitgraph::nn {

void name_level_strategy(Program& program, const PassContext& context) {
  if (context.on_host) return;
  for (Operator& op : program.operators) {
    if (op.kind != OperatorKind::product || !op.multiplies_levels()) continue;
    const Value& x = program.value(op.inputs[0]);
    if (level_gemm_has_planes(x.format.bits, op.weight_format.bits, x.columns)) op.levels = context.options.levels;
  }
}

}  // namespace bitgraph::nn
