// SPDX-License-Identifier: Apache-2.0
// Which form of the graph each aggregation reads. A form that the options name holds for what can read it: votes read
// SELL and tiles of any side, sums of levels tiles of side 64. Everything else reads pattern CSR, on a CUDA device
// mostly with the rows in the order of their length; for sums of levels the order knows where rows begin. Where nothing
// is named there are two more: SELL for votes over a large graph on the host (keeps_sell), and full tiles for sums of
// levels on a device (has_full_tiles).
#include "nn/program/passes/passes.hpp"

#include <bitgraph/ops/level_spmm.hpp>
#include <bitgraph/ops/spmm.hpp>

#include "nn/one_launch/one_launch.hpp"

#include <algorithm>

namespace bitgraph::nn {

namespace {

using Kind = OperatorKind;

bool votes(const Program& program, const Operator& op) { return program.value(op.output()).is_signs(); }

/// Whether all that the graph is for are votes and counts, over many entries in long rows, on the host. SELL makes
/// these quicker. It takes the place of the pattern, so that the graph is there once.
bool keeps_sell(const Program& program, const PassContext& context) {
  constexpr std::size_t least_bytes = 1 << 22;
  constexpr std::size_t least_degree = 16;
  const InferenceOptions& o = context.options;
  if (!context.on_host || !context.whole) return false;
  if (o.graph != GraphFormat::automatic || o.strategy != SpmmStrategy::automatic) return false;
  if (o.capacity.nodes != 0 || o.capacity.entries != 0) return false;  // rows of a pattern are changed in place
  const auto [nodes, entries] = std::pair(context.graph.nodes, context.graph.entries);
  if ((nodes + 1) * sizeof(EdgeOffset) + entries * sizeof(NodeId) < least_bytes || entries < least_degree * nodes)
    return false;
  return std::ranges::all_of(program.operators, [&](const Operator& op) {
    return op.kind != Kind::aggregate || program.value(op.inputs[0]).is_signs();
  });
}

/// Whether a sum of levels is one of planes of bits. Where nothing is named that is quicker from so many entries on
/// that making planes pays (docs/notebook/spmm.md has the measurements). They take memory, so a plan with a limit goes
/// without.
bool takes_planes(const Program& program, const Operator& op, const PassContext& context) {
  constexpr std::size_t least_entries = 800'000, least_of_a_lane = 4'000'000, columns_of_a_lane = 64;
  const InferenceOptions& o = context.options;
  const Value &x = program.value(op.inputs[0]), &out = program.value(op.output());
  if (!x.is_levels() || !out.is_levels()) return false;
  if (!level_spmm_has_planes(x.format.bits, out.format.bits, x.columns, op.activation)) return false;
  if (!is_by_length(op.graph) || o.levels == LevelStrategy::bytes) return false;
  if (may_be_one_launch(o, context.graph.nodes, context.graph.entries)) return false;
  if (o.levels == LevelStrategy::planes) return true;
  return o.memory == 0 && context.graph.entries >= (x.columns == columns_of_a_lane ? least_of_a_lane : least_entries);
}

/// Whether more of the graph than its pattern may lie beside it: that takes memory, and time whenever the graph
/// changes. One launch has no use for it.
bool has_room_beside_pattern(const PassContext& context) {
  const InferenceOptions& o = context.options;
  return o.memory == 0 && o.capacity.nodes == 0 && o.capacity.entries == 0 &&
         !may_be_one_launch(o, context.graph.nodes, context.graph.entries);
}

/// What an aggregation reads of a pattern. Parts that come from the host have no order of their rows.
GraphForm form_of_pattern(const Program& program, const Operator& op, const PassContext& context) {
  if (context.on_host || !context.whole) return GraphForm::csr;
  const Value& x = program.value(op.inputs[0]);
  if (x.is_levels()) return has_room_beside_pattern(context) ? GraphForm::csr_by_place : GraphForm::csr_by_length;
  const bool by_length = x.is_signs() || spmm_sums_by_order(program.value(op.output()).columns);
  return by_length ? GraphForm::csr_by_length : GraphForm::csr;
}

GraphForm form_of(const Program& program, const Operator& op, const PassContext& context, bool sell) {
  const InferenceOptions& o = context.options;
  const Value& x = program.value(op.inputs[0]);
  if (sell) return GraphForm::sell_blocks;
  // What is packed in planes stays so when the graph changes.
  const bool may_be_planes = context.features_in_planes && x.format.bits == 2;
  if (x.is_levels() && !may_be_planes && has_full_tiles(context, x.format.bits)) return GraphForm::tiles;
  if (context.whole && o.graph == GraphFormat::sell && votes(program, op)) return GraphForm::sell;
  if (context.whole && o.graph == GraphFormat::tiles) {
    if (votes(program, op)) return GraphForm::tiles;
    if (x.is_levels() && o.tile_dim == int{side_of_planes}) return GraphForm::tiles;
  }
  return form_of_pattern(program, op, context);
}

}  // namespace

// A product of tiles and planes is quicker on a device than gathers of levels: a tile costs the same whatever it holds,
// a plane 56 entries. docs/notebook/format-choice.md has the measurements.
bool has_full_tiles(const PassContext& context, int bits) {
  constexpr double least_entries = 320, entries_a_plane = 56;
  constexpr int most_bits = 8;
  const InferenceOptions& o = context.options;
  if (context.on_host || !context.whole || o.graph != GraphFormat::automatic || bits > most_bits) return false;
  if (!has_room_beside_pattern(context)) return false;
  return context.graph.entries_a_tile >= least_entries + entries_a_plane * bits;
}

bool may_be_one_launch(const InferenceOptions& options, std::size_t nodes, std::size_t entries) {
  const bool small = fits_one_launch(nodes, entries);
  return options.launching == Launching::one || (options.launching == Launching::automatic && small);
}

void choose_graph_forms(Program& program, const PassContext& context) {
  const bool sell = keeps_sell(program, context);
  for (Operator& op : program.operators) {
    if (op.kind != Kind::aggregate) continue;
    op.graph = form_of(program, op, context, sell);
    const bool sums = takes_planes(program, op, context);
    if (multiplies_planes(program, op) || sums) add_memory(program, op).summed_planes = sums;
  }
}

Value& add_memory(Program& program, Operator& op) {
  Value planes = program.value(op.inputs[0]);
  planes.format.kind = NumberKind::planes;
  op.outputs.push_back(program.add_value(planes));
  return program.values[op.outputs.back()];
}

}  // namespace bitgraph::nn
