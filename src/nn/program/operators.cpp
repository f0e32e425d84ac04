// SPDX-License-Identifier: Apache-2.0
#include "nn/program/operators.hpp"

#include <bitgraph/ops/concat.hpp>
#include <bitgraph/ops/fused_vote.hpp>

#include "nn/inference/graph_operands.hpp"
#include "nn/inference/runtime/kernels.hpp"
#include "nn/training/run/kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace bitgraph::nn {

namespace {

using Kind = OperatorKind;

bool signs(const Program& p, ValueId v) { return p.value(v).is_signs(); }
std::string parts_of(const Operator& op) { return op.by_parts ? " by parts" : ""; }

std::string name_quantize(const Program& p, const Operator& op) {
  return p.value(op.output()).is_levels() ? "to_bit" : "BIN";
}
/// QGTC's names: bitMM2Bit has levels out, bitMM2Int numbers.
std::string name_product(const Program& p, const Operator& op) {
  if (op.multiplies_levels()) {
    return fmt::format("{}{}", p.value(op.output()).is_levels() ? "bitMM2Bit" : "bitMM2Int",
                       op.inputs.size() == 2 ? " + ADD.FFF" : "");
  }
  if (!op.multiplies_signs()) return "MM";
  if (!signs(p, op.inputs[0])) return "BMM, counts";
  return signs(p, op.output()) ? "BMM.BBB" : "BMM.BBF";
}
std::string name_aggregate(const Program& p, const Operator& op) {
  if (p.value(op.inputs[0]).is_levels()) {
    return fmt::format("{}, {}{}", p.value(op.output()).is_levels() ? "bitMM2Bit" : "bitMM2Int",
                       multiplies_planes(p, op) ? "tiles" : "sparse", parts_of(op));
  }
  const char* const types = signs(p, op.output()) ? "BBB" : signs(p, op.inputs[0]) ? "BBF" : "FBF";
  return fmt::format("BSpMM.{}{}", types, parts_of(op));
}
std::string name_add(const Program& p, const Operator& op) { return signs(p, op.output()) ? "ADD.BBB" : "ADD.FFF"; }
std::string name_relu(const Program&, const Operator&) { return "RELU"; }
std::string name_tanh(const Program&, const Operator&) { return "TANH"; }
std::string name_concat(const Program&, const Operator&) { return "CONCAT"; }
std::string name_dropout(const Program&, const Operator&) { return "DROPOUT"; }
std::string name_batch_norm(const Program&, const Operator&) { return "BN"; }
std::string name_reorder(const Program&, const Operator&) { return "REORDER"; }
std::string name_readout(const Program&, const Operator&) { return "READOUT"; }
std::string name_vote_post_op(const Program&, const Operator& op) {
  const bool own = op.own_beside || op.inputs[1] != no_value;
  return fmt::format("BSpMM.BBB{}{}", own ? " + ADD.BBB" : "", op.post_op != VotePostOp::none ? " + BMM.BBF" : "");
}
std::string name_add_scores(const Program&, const Operator& op) {
  return op.root ? "BSpMM.FBF + ADD.FFF" : "BSpMM.FBF";
}
std::string name_multiply_counts(const Program&, const Operator& op) {
  return fmt::format("BSpMM.BBF + BMM{}{}", op.root ? " + ADD.FFF" : "", parts_of(op));
}
std::string name_multiply_sums(const Program&, const Operator&) { return "bitMM2Bit, sparse + bitMM2Bit"; }
std::string name_multiply_joined(const Program&, const Operator&) { return "CONCAT + BMM.BBF by parts"; }

std::string need_inputs(const Operator& op, std::size_t count) {
  return op.inputs.size() == count ? "" : fmt::format("has {} inputs, expected {}", op.inputs.size(), count);
}

/// One input and one output of the same number of columns.
std::string check_same(const Program& p, const Operator& op) {
  if (std::string wrong = need_inputs(op, 1); !wrong.empty()) return wrong;
  const std::size_t in = p.value(op.inputs[0]).columns;
  const std::size_t out = p.value(op.output()).columns;
  return in == out ? "" : fmt::format("makes {} columns of {}", out, in);
}
std::string check_quantize(const Program& p, const Operator& op) {
  if (std::string wrong = check_same(p, op); !wrong.empty()) return wrong;
  if (signs(p, op.inputs[0])) return "its input is signs already";
  if (op.scale_before && p.value(op.output()).format.scale == ScaleExtent::none)
    return "has no scale that could be of the step before";
  if (p.value(op.inputs[0]).is_levels()) return "its input is levels already";
  const bool good = signs(p, op.output()) || p.value(op.output()).is_levels();
  return good ? "" : fmt::format("makes {}, expected signs or levels", to_string(p.value(op.output()).format));
}
std::string check_product(const Program& p, const Operator& op) {
  const bool adds = op.multiplies_levels() && op.inputs.size() == 2;
  if (std::string wrong = need_inputs(op, adds ? 2 : 1); !wrong.empty()) return wrong;
  if (adds) {
    const Value& addend = p.value(op.inputs[1]);
    if (addend.columns != p.value(op.output()).columns || addend.is_signs() || addend.is_levels())
      return fmt::format("adds {} columns in {}", addend.columns, to_string(addend.format));
  }
  if (op.weight == WeightOf::none) return "has no weights";
  if (p.value(op.output()).columns == 0 || p.value(op.inputs[0]).columns == 0) return "has no columns";
  if (!op.multiplies_signs() && signs(p, op.inputs[0]) && op.inputs[0] != p.features)
    return "multiplies signs by weights that are floats";
  if (p.value(op.inputs[0]).is_levels() != op.multiplies_levels())
    return fmt::format("multiplies {} by weights in {}", to_string(p.value(op.inputs[0]).format),
                       to_string(op.weight_format));
  return "";
}
std::string check_aggregate(const Program& p, const Operator& op) {
  if (op.aggregation == Aggregation::none) return "aggregates nothing";
  if (multiplies_planes(p, op) && (op.outputs.size() != 2 || !p.value(op.outputs[1]).is_planes()))
    return "has no memory for the planes of its input";
  if (adds_planes(p, op) && !p.value(op.outputs.back()).is_sum_memory())
    return "has a second output that is not memory of a sum";
  return check_same(p, op);
}
std::string check_add(const Program& p, const Operator& op) {
  if (std::string wrong = need_inputs(op, 2); !wrong.empty()) return wrong;
  const Value& a = p.value(op.inputs[0]);
  const Value& b = p.value(op.inputs[1]);
  if (a.columns != b.columns) return fmt::format("adds {} columns and {}", a.columns, b.columns);
  if (a.is_signs() != b.is_signs()) return "adds signs and numbers";
  if (a.is_levels() || b.is_levels()) return "adds levels, expected numbers";
  return "";
}
std::string check_concat(const Program& p, const Operator& op) {
  if (op.inputs.empty() || op.inputs.size() > most_concat_parts)
    return fmt::format("puts {} values side by side, expected 1 to {}", op.inputs.size(), most_concat_parts);
  std::size_t columns = 0;
  for (const ValueId v : op.inputs) {
    columns += p.value(v).columns;
    if (signs(p, v) != signs(p, op.inputs[0])) return "puts signs and numbers side by side";
    if (p.value(v).is_levels() != p.value(op.output()).is_levels())
      return "makes levels of numbers, or numbers of levels";
  }
  const std::size_t out = p.value(op.output()).columns;
  return op.kind != Kind::concat || columns == out ? "" : fmt::format("makes {} columns of {}", out, columns);
}
std::string check_readout(const Program& p, const Operator& op) {
  if (std::string wrong = check_same(p, op); !wrong.empty()) return wrong;
  if (p.value(op.output()).graphs == 0) return "makes a row for each node, expected one for each graph";
  const Value& x = p.value(op.inputs[0]);
  return x.is_signs() || x.is_levels() ? fmt::format("adds up {}, expected floats", to_string(x.format)) : "";
}
std::string check_vote_post_op(const Program& p, const Operator& op) {
  if (std::string wrong = need_inputs(op, 3); !wrong.empty()) return wrong;
  return signs(p, op.inputs[0]) ? "" : "votes of numbers";
}
std::string check_add_scores(const Program& p, const Operator& op) {
  if (op.inputs.empty() || op.inputs.size() > 2) return fmt::format("has {} inputs, expected 1 or 2", op.inputs.size());
  return p.value(op.inputs[0]).scored_bits != 0 ? "" : "its first input is not scores";
}
std::string check_multiply_counts(const Program& p, const Operator& op) {
  if (std::string wrong = need_inputs(op, 1); !wrong.empty()) return wrong;
  return signs(p, op.inputs[0]) ? "" : "counts bits of numbers";
}

std::string check_multiply_sums(const Program& p, const Operator& op) {
  if (std::string wrong = need_inputs(op, 1); !wrong.empty()) return wrong;
  if (op.behind.size() != 1 || op.outputs.size() < 2) return "has no product behind its sum";
  const Value &x = p.value(op.inputs[0]), &between = p.value(op.outputs[1]), &out = p.value(op.output());
  if (!x.is_levels() || !between.is_levels() || !out.is_levels()) return "adds up and multiplies no levels";
  if (between.columns != x.columns) return fmt::format("makes {} columns of {}", between.columns, x.columns);
  if (adds_planes(p, op) && !p.value(op.outputs.back()).is_sum_memory())
    return "has a last output that is not memory of a sum";
  return "";
}
double value_bytes(const Program& p, const std::vector<ValueId>& values, std::size_t nodes) {
  double bytes = 0;
  for (const ValueId v : values) bytes += v == no_value ? 0 : static_cast<double>(p.value(v).bytes(nodes));
  return bytes;
}
double weight_bytes(const Operator& op, std::size_t inputs, std::size_t outputs) {
  return op.weight == WeightOf::none ? 0 : static_cast<double>(stored_bytes(op.weight_format, outputs, inputs));
}

/// Everything is read or written once.
Traffic traffic_once(const Program& p, const Operator& op, const GraphFacts& graph) {
  const std::size_t out = p.value(op.output()).columns;
  return {value_bytes(p, op.inputs, graph.nodes) + value_bytes(p, op.outputs, graph.nodes),
          static_cast<double>(graph.nodes) * static_cast<double>(out)};
}
Traffic traffic_product(const Program& p, const Operator& op, const GraphFacts& graph) {
  std::size_t in = 0;
  const bool adds = op.kind == Kind::product && op.inputs.size() == 2;
  for (const ValueId v : std::span(op.inputs).first(adds ? 1 : op.inputs.size())) in += p.value(v).columns;
  const std::size_t out = p.value(op.output()).columns;
  return {traffic_once(p, op, graph).bytes + weight_bytes(op, in, out),
          2.0 * static_cast<double>(graph.nodes) * static_cast<double>(in) * static_cast<double>(out)};
}
/// Planes are made of the input, and 64 rows of them meet each tile. Where tiles are not counted, there are no more of
/// them than places and entries.
Traffic traffic_planes(const Program& p, const Operator& op, const GraphFacts& graph) {
  constexpr std::size_t side = side_of_planes, tile_bytes = side * sizeof(std::uint64_t) + sizeof(NodeId);
  const std::size_t tile_rows = (graph.nodes + side - 1) / side;
  const std::size_t most = std::min(tile_rows * tile_rows, graph.entries + graph.nodes);
  const auto tiles = static_cast<double>(graph.tiles != 0 ? graph.tiles : most);
  const Value& planes = p.value(op.outputs[1]);
  const double slice = static_cast<double>(planes.bytes(2 * side)) / 2;
  return {traffic_once(p, op, graph).bytes + tiles * (tile_bytes + slice),
          tiles * side * side * static_cast<double>(planes.columns) * planes.format.bits};
}

/// A row of what is gathered for each entry, and its index.
Traffic traffic_gather(const Program& p, const Operator& op, const GraphFacts& graph) {
  if (multiplies_planes(p, op)) return traffic_planes(p, op, graph);
  const Value& x = p.value(op.inputs[0]);
  const std::size_t loops = has_loops(op.aggregation) ? graph.nodes : 0;
  const auto entries = static_cast<double>(graph.entries + loops);
  const std::size_t plane_bytes = level_row_bytes(x.columns, 2, LevelPacking::planes);  // of one bit, too
  const double row = static_cast<double>(gathered_bytes(adds_planes(p, op) ? plane_bytes : x.bytes(1)));
  std::vector<ValueId> others(op.inputs.begin() + 1, op.inputs.end());
  return {entries * (row + sizeof(NodeId)) + value_bytes(p, others, graph.nodes) +
              value_bytes(p, op.outputs, graph.nodes) + weight_bytes(op, x.columns, p.value(op.output()).columns),
          entries * static_cast<double>(x.columns)};
}

/// A sum's, and a product's of what does not leave the kernel.
Traffic traffic_multiply_sums(const Program& p, const Operator& op, const GraphFacts& graph) {
  const Traffic sum = traffic_gather(p, op, graph);
  const Operator& product = op.behind.front();
  const std::size_t in = p.value(op.outputs[1]).columns, out = p.value(op.output()).columns;
  return {sum.bytes + weight_bytes(product, in, out),
          sum.work + 2.0 * static_cast<double>(graph.nodes) * static_cast<double>(in) * static_cast<double>(out)};
}

constexpr std::array<OperatorTraits, num_operator_kinds> table{{
    {Kind::quantize, "quantize", name_quantize, check_quantize, traffic_once, no_input, find_quantize, nullptr,
     run_quantize, launch_quantize, train_quantize, gradient_quantize, TrainsInPlace::gradient},
    {Kind::product, "product", name_product, check_product, traffic_product, no_input, find_product, bind_product,
     run_product, launch_product, train_product, gradient_product},
    {Kind::aggregate, "aggregate", name_aggregate, check_aggregate, traffic_gather, no_input, find_aggregate,
     bind_aggregate, run_aggregate, launch_aggregate, train_aggregate, gradient_aggregate},
    {Kind::add, "add", name_add, check_add, traffic_once, 0, nullptr, nullptr, run_add, launch_add, train_add,
     gradient_add, TrainsInPlace::both},
    {Kind::relu, "relu", name_relu, check_same, traffic_once, 0, nullptr, nullptr, run_relu, nullptr, train_relu,
     gradient_relu, TrainsInPlace::both},
    {Kind::tanh, "tanh", name_tanh, check_same, traffic_once, 0, nullptr, nullptr, run_tanh, nullptr, train_tanh,
     gradient_tanh, TrainsInPlace::both},
    {Kind::concat, "concat", name_concat, check_concat, traffic_once, no_input, nullptr, nullptr, run_concat,
     launch_concat, train_concat, gradient_concat},
    {Kind::dropout, "dropout", name_dropout, check_same, traffic_once, 0, nullptr, nullptr, nullptr, nullptr,
     train_dropout, gradient_dropout, TrainsInPlace::gradient},
    {Kind::batch_norm, "batch norm", name_batch_norm, check_same, traffic_once, no_input, nullptr, nullptr, nullptr,
     nullptr, train_batch_norm, gradient_batch_norm, TrainsInPlace::gradient},
    {Kind::reorder, "reorder", name_reorder, check_same, traffic_once, no_input, find_reorder, nullptr, run_reorder,
     launch_reorder},
    {Kind::readout, "readout", name_readout, check_readout, traffic_once, no_input, find_readout, nullptr, run_readout,
     nullptr, train_readout, gradient_readout},
    {Kind::vote_post_op, "vote with post-op", name_vote_post_op, check_vote_post_op, traffic_gather, 1, find_rows,
     nullptr, run_vote_post_op, nullptr},
    {Kind::add_scores, "add scores", name_add_scores, check_add_scores, traffic_gather, 1, find_rows, nullptr,
     run_add_scores, nullptr},
    {Kind::multiply_counts, "multiply counts", name_multiply_counts, check_multiply_counts, traffic_gather, no_input,
     find_multiply_counts, nullptr, run_multiply_counts, nullptr},
    {Kind::multiply_sums, "multiply sums", name_multiply_sums, check_multiply_sums, traffic_multiply_sums, no_input,
     find_aggregate, nullptr, run_multiply_sums, nullptr},
    {Kind::multiply_joined, "multiply joined", name_multiply_joined, check_concat, traffic_product, no_input, nullptr,
     bind_multiply_joined, run_multiply_joined, nullptr},
}};

constexpr bool in_order() {
  for (std::size_t k = 0; k < table.size(); ++k) {
    if (static_cast<std::size_t>(table[k].kind) != k) return false;
  }
  return true;
}
static_assert(in_order(), "rows stand in the order of OperatorKind");

/// In up to 16 rows of tiles, spread over the graph.
double sampled_entries_a_tile(const CsrPattern& a) {
  constexpr std::size_t side = side_of_planes, most = 16;
  const std::size_t tile_rows = (a.nrows() + side - 1) / side, taken = std::min(most, tile_rows);
  std::size_t entries = 0, tiles = 0;
  std::vector<bool> seen;
  for (std::size_t k = 0; k < taken; ++k) {
    const std::size_t first = k * tile_rows / taken * side;
    seen.assign((a.ncols() + side - 1) / side, false);
    for (std::size_t i = first; i < std::min<std::size_t>(first + side, a.nrows()); ++i) {
      const auto row = a.row(static_cast<NodeId>(i));
      entries += row.size();
      for (const NodeId j : row) {
        tiles += seen[j / side] ? 0 : 1;
        seen[j / side] = true;
      }
    }
  }
  return tiles == 0 ? 0 : static_cast<double>(entries) / static_cast<double>(tiles);
}

}  // namespace

GraphFacts GraphFacts::of(const CsrPattern& a) {
  GraphFacts facts{.nodes = a.nrows(), .entries = a.nvals(), .entries_a_tile = sampled_entries_a_tile(a)};
  for (NodeId i = 0; i < a.nrows(); ++i) {
    const std::size_t entries = a.row(i).size();
    facts.longest_row = std::max(facts.longest_row, entries);
    facts.has_empty_row = facts.has_empty_row || entries == 0;
  }
  return facts;
}

const OperatorTraits& operator_traits(OperatorKind kind) noexcept { return table[static_cast<std::size_t>(kind)]; }

bool multiplies_planes(const Program& program, const Operator& op) {
  return op.graph == GraphForm::tiles && program.value(op.inputs[0]).is_levels();
}

bool adds_planes(const Program& program, const Operator& op) {
  if (op.kind == OperatorKind::multiply_sums) return op.outputs.size() == 3;
  return op.kind == OperatorKind::aggregate && op.outputs.size() == 2 && !multiplies_planes(program, op);
}

std::string paper_name(const Program& program, const Operator& op) {
  std::string name = operator_traits(op.kind).paper_name(program, op);
  if (op.activation == Activation::tanh) name += " + TANH";  // a relu is the rule
  if (op.reorders) name += " + REORDER";
  if (op.levels != LevelStrategy::automatic) name += op.levels == LevelStrategy::planes ? ", planes" : ", bytes";
  return name;
}

}  // namespace bitgraph::nn
