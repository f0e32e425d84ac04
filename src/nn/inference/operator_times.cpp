// SPDX-License-Identifier: Apache-2.0
#include "nn/inference/operator_times.hpp"

#include "core/median.hpp"

namespace bitgraph::nn {

ExplainedOperator OperatorTimes::row(const Program& program, const GraphFacts& graph, std::size_t n) const {
  const Operator& op = program.operators[n % program.operators.size()];
  const Value& out = program.value(op.output());
  ExplainedOperator row;
  row.name = paper_name(program, op);
  row.layer = op.layer;
  row.columns = out.columns;
  row.format = out.scored_bits != 0 ? "scores" : to_string(out.format);
  row.bytes = operator_traits(op.kind).traffic(program, op, graph).bytes;
  row.seconds = median(times_[n].seconds);
  for (const TracedKernel& kernel : times_[n].kernels) {
    if (row.kernel.find(kernel.kernel) == std::string::npos)
      row.kernel += (row.kernel.empty() ? "" : " + ") + kernel.kernel;
    row.predicted_seconds += kernel.seconds;
  }
  return row;
}

std::vector<ExplainedOperator> OperatorTimes::explain(const Program& program, const GraphFacts& graph) const {
  const std::size_t count = program.operators.size();
  std::vector<ExplainedOperator> rows;
  for (std::size_t n = 0; n < count; ++n) rows.push_back(row(program, graph, n));
  for (std::size_t n = times_.size(); n-- > count;) {
    if (times_[n].runs == 0) continue;
    ExplainedOperator& gradient = rows.emplace_back(row(program, graph, n));
    gradient.name += ", gradient";
    const Operator& op = program.operators[n - count];
    gradient.columns = program.value(op.inputs[0]).columns;
    gradient.format = to_string(NumberFormat{});
    if (op.weight != WeightOf::none) gradient.bytes *= 2;  // one of the input and one of the weights
  }
  return rows;
}

}  // namespace bitgraph::nn
