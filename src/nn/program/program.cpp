// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/nn/program.hpp>

#include <bitgraph/formats/bit_planes.hpp>
#include <bitgraph/ops/fused_vote.hpp>
#include <bitgraph/ops/level_spmm.hpp>

#include "core/fingerprint.hpp"
#include "nn/program/operators.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace bitgraph::nn {

namespace {

[[noreturn]] void refuse(const Operator& op, const std::string& what) {
  fail(ErrorCode::usage, fmt::format("layer {}, {}: {}", op.layer, operator_traits(op.kind).name, what));
}

std::string names_of(const std::vector<ValueId>& values) {
  std::vector<std::string> names;
  names.reserve(values.size());
  for (const ValueId v : values) names.push_back(v == no_value ? "-" : fmt::format("%{}", v));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string type_of(const Value& value) {
  if (value.scored_bits != 0) {
    return fmt::format("{} x {}scores of {} bits", value.columns, value.scaled_scores ? "scaled " : "",
                       value.scored_bits);
  }
  const std::string rows = value.most_rows != 0 ? fmt::format(", {} rows", value.most_rows)
                           : value.parts != 1   ? fmt::format(", 1 of {} parts", value.parts)
                           : value.graphs != 0  ? ", a row for each graph"
                                                : "";
  const char* const packing = value.is_levels() && value.packing == LevelPacking::planes ? " in planes" : "";
  return fmt::format("{} x {}{}{}", value.columns, to_string(value.format), packing, rows);
}

}  // namespace

std::size_t Value::rows(std::size_t nodes) const noexcept {
  if (graphs != 0) return graphs;
  if (most_rows != 0) return std::min(nodes, most_rows);
  return (nodes + parts - 1) / parts;
}

std::size_t Value::bytes(std::size_t nodes) const {
  if (in_kernel) return 0;
  if (scaled_scores) return rows(nodes) * ScaledScores::row_bytes(columns);
  if (scored_bits != 0) return rows(nodes) * RowScores::row_size(columns) * sizeof(std::uint16_t);
  if (prepared_words != 0) return prepared_words * sizeof(std::uint64_t);
  if (summed_planes) return level_spmm_plane_words(rows(nodes), columns) * sizeof(std::uint64_t);
  if (is_planes()) return BitPlanes::bytes_of(rows(nodes), columns, format.bits, PlanePacking::columns);
  if (is_levels()) return rows(nodes) * level_row_bytes(columns, format.bits, packing);
  return stored_bytes(format, rows(nodes), columns);
}

ValueId Program::add_value(Value value) {
  values.push_back(value);
  return static_cast<ValueId>(values.size() - 1);
}

std::size_t Program::producer(ValueId value) const {
  for (std::size_t n = 0; n < operators.size(); ++n) {
    const auto& made = operators[n].outputs;
    if (std::find(made.begin(), made.end(), value) != made.end()) return n;
  }
  return operators.size();
}

std::size_t Program::uses(ValueId value) const {
  std::size_t count = value == result ? 1 : 0;
  for (const Operator& op : operators)
    count += static_cast<std::size_t>(std::count(op.inputs.begin(), op.inputs.end(), value));
  return count;
}

void Program::validate() const {
  std::vector<bool> made(values.size(), false);
  if (features < made.size()) made[features] = true;
  for (const Operator& op : operators) {
    for (const ValueId v : op.inputs) {
      if (v == no_value) continue;
      if (v >= values.size() || !made[v]) refuse(op, fmt::format("reads %{} before an operator makes it", v));
    }
    if (op.outputs.empty()) refuse(op, "makes nothing");
    for (const ValueId v : op.outputs) {
      if (v >= values.size() || made[v]) refuse(op, fmt::format("makes %{}, which is there already", v));
      made[v] = true;
    }
    const std::string wrong = operator_traits(op.kind).check(*this, op);
    if (!wrong.empty()) refuse(op, wrong);
  }
  if (result >= values.size() || !made[result]) fail(ErrorCode::usage, "the program does not make its result");
}

std::string Program::fingerprint() const {
  const std::string text = to_text(*this);
  Fingerprint print;
  print.add(std::span<const char>(text));
  return print.text();
}

std::string to_text(const Program& program) {
  std::string text = fmt::format("%{} = features : {}\n", program.features, type_of(program.value(program.features)));
  for (const Operator& op : program.operators) {
    text += fmt::format("{} = {} layer {} ({}) : {}\n", names_of(op.outputs), paper_name(program, op), op.layer,
                        names_of(op.inputs), type_of(program.value(op.output())));
  }
  return text + fmt::format("result %{}\n", program.result);
}

std::string to_dot(const Program& program) {
  std::string text = "digraph program {\n  node [shape=box];\n  features;\n";
  const auto node = [&](ValueId v) {
    const std::size_t n = program.producer(v);
    return n == program.operators.size() ? std::string("features") : fmt::format("op{}", n);
  };
  for (std::size_t n = 0; n < program.operators.size(); ++n) {
    const Operator& op = program.operators[n];
    text += fmt::format("  op{} [label=\"{}\\nlayer {}\"];\n", n, paper_name(program, op), op.layer);
    for (const ValueId v : op.inputs) {
      if (v == no_value) continue;
      text += fmt::format("  {} -> op{} [label=\"{}\"];\n", node(v), n, type_of(program.value(v)));
    }
  }
  return text + "}\n";
}

ProgramBuilder::ProgramBuilder(std::size_t num_features) { program_.features = program_.add_value({num_features, {}}); }

std::size_t ProgramBuilder::columns_of(ValueId x) const noexcept {
  return x < program_.values.size() ? program_.value(x).columns : 0;
}

ValueId ProgramBuilder::append(Operator op, std::size_t columns) {
  op.layer = layer_;
  for (const ValueId v : op.inputs) {
    if (v >= program_.values.size()) refuse(op, fmt::format("reads %{}, which is not there", v));
  }
  op.outputs = {program_.add_value({columns, {}})};
  const std::string wrong = operator_traits(op.kind).check(program_, op);
  if (!wrong.empty()) refuse(op, wrong);
  program_.operators.push_back(std::move(op));
  return program_.operators.back().output();
}

ValueId ProgramBuilder::product(ValueId x, WeightOf weight, std::size_t outputs, BiasOf bias) {
  return append({.kind = OperatorKind::product, .inputs = {x}, .weight = weight, .bias = bias}, outputs);
}

ValueId ProgramBuilder::aggregate(ValueId x, Aggregation aggregation, BiasOf bias) {
  return append({.kind = OperatorKind::aggregate, .inputs = {x}, .aggregation = aggregation, .bias = bias},
                columns_of(x));
}

ValueId ProgramBuilder::add(ValueId a, ValueId b, BiasOf bias) {
  return append({.kind = OperatorKind::add, .inputs = {a, b}, .bias = bias}, columns_of(a));
}

ValueId ProgramBuilder::relu(ValueId x) { return append({.kind = OperatorKind::relu, .inputs = {x}}, columns_of(x)); }

ValueId ProgramBuilder::tanh(ValueId x) { return append({.kind = OperatorKind::tanh, .inputs = {x}}, columns_of(x)); }

ValueId ProgramBuilder::batch_norm(ValueId x) {
  return append({.kind = OperatorKind::batch_norm, .inputs = {x}}, columns_of(x));
}

ValueId ProgramBuilder::concat(std::vector<ValueId> parts) {
  std::size_t sum = 0;
  for (const ValueId part : parts) sum += columns_of(part);
  return append({.kind = OperatorKind::concat, .inputs = std::move(parts)}, sum);
}

bool ProgramBuilder::makes(OperatorKind kind, ValueId x) const noexcept {
  const std::size_t maker = program_.producer(x);
  return maker < program_.operators.size() && program_.operators[maker].kind == kind;
}

Program ProgramBuilder::finish(ValueId result) {
  program_.result = result;
  program_.validate();
  return std::move(program_);
}

}  // namespace bitgraph::nn
