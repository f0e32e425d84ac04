// SPDX-License-Identifier: Apache-2.0
// Passes over the rows of a graph: which of them are taken at once.
#include "nn/program/passes/passes.hpp"

#include <algorithm>

namespace bitgraph::nn {

namespace {

using Kind = OperatorKind;

constexpr std::size_t most_count_bytes = 1 << 25;          ///< of a part's counts
constexpr std::size_t most_count_bytes_on_host = 1 << 21;  ///< they stay in the second-level cache until they are used
constexpr std::size_t joined_rows = 8192;
constexpr std::size_t sell_parts = 16;  ///< so that little of the graph is there twice while SELL is made

bool makes_counts(const Program& program, const Operator& op) {
  return op.kind == Kind::aggregate && program.value(op.inputs[0]).is_signs() && !program.value(op.output()).is_signs();
}

bool is_pattern(GraphFormat format) { return format == GraphFormat::automatic || format == GraphFormat::csr; }

std::size_t parts_for_counts(const Program& program, const PassContext& context) {
  const std::size_t most = context.on_host ? most_count_bytes_on_host : most_count_bytes;
  std::size_t parts = 1;
  if (!is_pattern(context.options.graph)) return parts;
  for (const Operator& op : program.operators) {
    if (!makes_counts(program, op)) continue;
    const std::size_t bytes = program.value(op.output()).bytes(context.graph.nodes);
    parts = std::max(parts, (bytes + most - 1) / most);
  }
  return parts;
}

/// SELL makes votes and counts over a large graph with long rows quicker. It is kept where nothing else needs the
/// graph.
bool keeps_sell(const Program& program, const PassContext& context) {
  constexpr std::size_t least_bytes = 1 << 22;
  constexpr std::size_t least_degree = 16;
  const InferenceOptions& o = context.options;
  if (o.graph != GraphFormat::automatic || o.strategy != SpmmStrategy::automatic) return false;
  if (o.capacity.nodes != 0 || o.capacity.entries != 0) return false;  // rows of a pattern are changed in place
  const auto [nodes, entries] = std::pair(context.graph.nodes, context.graph.entries);
  if ((nodes + 1) * sizeof(EdgeOffset) + entries * sizeof(NodeId) < least_bytes || entries < least_degree * nodes)
    return false;
  return std::all_of(program.operators.begin(), program.operators.end(), [&](const Operator& op) {
    return op.kind != Kind::aggregate || program.value(op.inputs[0]).is_signs();
  });
}

}  // namespace

GraphPlan plan_graph(const Program& program, const PassContext& context, std::size_t parts) {
  GraphPlan plan{.parts = std::max(parts, parts_for_counts(program, context))};
  if (context.on_host && context.whole && keeps_sell(program, context)) {
    plan.sell = true;
    plan.parts = std::max(plan.parts, sell_parts);
  }
  return plan;
}

void split_rows(Program& program, const GraphPlan& graph) {
  if (graph.parts == 1) return;
  for (Operator& op : program.operators) op.by_parts = op.by_parts || op.kind == Kind::aggregate;
  for (std::size_t n = 0; n < program.operators.size(); ++n) {
    Operator& product = program.operators[n];
    const bool of_counts = product.multiplies_signs() && product.aggregation != Aggregation::none;
    if (product.kind != Kind::product || !of_counts) continue;
    const ValueId counts = product.inputs[0];
    product.kind = Kind::multiply_counts;
    product.by_parts = true;
    product.inputs = program.operators[program.producer(counts)].inputs;
    product.outputs.push_back(
        program.add_value({.columns = program.value(counts).columns, .format = {}, .parts = graph.parts}));
  }
  remove_dead(program);
}

void take_planes(Program& program, const PassContext& context) {
  if (!context.whole || context.options.graph != GraphFormat::tiles || context.options.tile_dim != 64) return;
  for (Operator& op : program.operators) {
    if (op.kind != Kind::aggregate || op.by_parts || !program.value(op.inputs[0]).is_levels()) continue;
    Value planes = program.value(op.inputs[0]);
    planes.format.kind = NumberKind::planes;
    op.by_planes = true;
    op.outputs.push_back(program.add_value(planes));
  }
}

void join_rows(Program& program, const PassContext& context) {
  if (!context.on_host) return;
  for (std::size_t n = 0; n < program.operators.size(); ++n) {
    Operator& product = program.operators[n];
    if (product.kind != Kind::product || !product.multiplies_signs() || product.output() != program.result) continue;
    const ValueId joined = product.inputs[0];
    const std::size_t ahead = program.producer(joined);
    if (ahead == program.operators.size() || program.uses(joined) != 1) continue;
    const Operator& concat = program.operators[ahead];
    if (concat.kind != Kind::concat || !program.value(joined).is_signs()) continue;
    Value scratch = program.value(joined);
    scratch.most_rows = joined_rows;
    product.kind = Kind::multiply_joined;
    product.inputs = concat.inputs;
    product.outputs.push_back(program.add_value(scratch));
  }
  remove_dead(program);
}

}  // namespace bitgraph::nn
