// SPDX-License-Identifier: Apache-2.0
#include "nn/program/passes/passes.hpp"

#include <optional>

namespace bitgraph::nn {

namespace {

bool is_mean(Aggregation a) { return a == Aggregation::mean || a == Aggregation::mean_with_self; }

/// The bytes that a layer moves either way: its input is bits, its output floats.
bool counts_move_less(std::size_t inputs, std::size_t outputs, const GraphFacts& graph) {
  const std::size_t out = outputs * sizeof(float);
  const std::size_t counts = inputs * sizeof(float);
  const std::size_t update_first = graph.entries * gathered_bytes(out) + 2 * graph.nodes * out;
  const std::size_t aggregate_first = graph.entries * gathered_bytes(inputs / 8) + 2 * graph.nodes * counts;
  return aggregate_first < update_first;
}

/// The product ahead of an aggregation, if the two may change places: bits without scales times signs, and a mean.
std::optional<std::size_t> product_ahead(const Program& program, const Operator& aggregate,
                                         const PassContext& context) {
  if (aggregate.kind != OperatorKind::aggregate || !is_mean(aggregate.aggregation)) return std::nullopt;
  const ValueId products = aggregate.inputs[0];
  const std::size_t n = program.producer(products);
  if (n == program.operators.size() || program.uses(products) != 1) return std::nullopt;
  const Operator& product = program.operators[n];
  if (product.kind != OperatorKind::product || !product.multiplies_signs()) return std::nullopt;
  const Value& x = program.value(product.inputs[0]);
  const Value& y = program.value(products);
  const bool plain_bits = x.is_signs() && x.format.scale == ScaleExtent::none;
  if (!plain_bits || y.is_signs()) return std::nullopt;
  // The bias is not for rows without a neighbour.
  if (aggregate.aggregation == Aggregation::mean && context.graph.has_empty_row) return std::nullopt;
  const bool asked = context.options.sequence == Sequence::aggregate_first;
  if (!asked && !counts_move_less(x.columns, y.columns, context.graph)) return std::nullopt;
  return n;
}

}  // namespace

void sequence(Program& program, const PassContext& context) {
  if (context.options.sequence == Sequence::update_first) return;
  for (std::size_t n = 0; n < program.operators.size(); ++n) {
    const auto ahead = product_ahead(program, program.operators[n], context);
    if (!ahead) continue;
    // The two change places in the list, too: the later one makes the same value as before.
    Operator& first = program.operators[*ahead];
    Operator& second = program.operators[n];
    const Operator product = first;
    const Operator aggregate = second;
    const ValueId counts = program.add_value({program.value(product.inputs[0]).columns, {}});
    first = {.kind = OperatorKind::aggregate,
             .inputs = product.inputs,
             .outputs = {counts},
             .layer = product.layer,
             .aggregation = aggregate.aggregation};
    second = product;
    second.inputs = {counts};
    second.outputs = aggregate.outputs;
    second.aggregation = aggregate.aggregation;
  }
  remove_dead(program);
}

}  // namespace bitgraph::nn
