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

/// Copies beside the pattern are of the whole graph.
bool reads_whole_copy(const Operator& op) { return op.graph == GraphForm::sell || op.graph == GraphForm::tiles; }

}  // namespace

std::size_t parts_of_rows(const Program& program, const PassContext& context, std::size_t parts) {
  if (std::ranges::any_of(program.operators, reads_whole_copy)) return parts;
  const std::size_t most = context.on_host ? most_count_bytes_on_host : most_count_bytes;
  for (const Operator& op : program.operators) {
    if (op.graph == GraphForm::sell_blocks) parts = std::max(parts, sell_parts);
    if (!makes_counts(program, op)) continue;
    const std::size_t bytes = program.value(op.output()).bytes(context.graph.nodes);
    parts = std::max(parts, (bytes + most - 1) / most);
  }
  return parts;
}

void split_rows(Program& program, std::size_t parts) {
  if (parts == 1) return;
  for (Operator& op : program.operators) op.by_parts = op.by_parts || op.kind == Kind::aggregate;
  for (std::size_t n = 0; n < program.operators.size(); ++n) {
    Operator& product = program.operators[n];
    const bool of_counts = product.multiplies_signs() && product.aggregation != Aggregation::none;
    if (product.kind != Kind::product || !of_counts) continue;
    const ValueId counts = product.inputs[0];
    const Operator& sum = program.operators[program.producer(counts)];
    product.kind = Kind::multiply_counts;
    product.by_parts = true;
    product.graph = sum.graph;
    product.inputs = sum.inputs;
    product.outputs.push_back(
        program.add_value({.columns = program.value(counts).columns, .format = {}, .parts = parts}));
  }
  remove_dead(program);
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
