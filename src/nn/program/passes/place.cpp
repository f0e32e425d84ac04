// SPDX-License-Identifier: Apache-2.0
// Places values in one piece of memory: the largest first, each at the lowest offset where it does not meet a value
// that lives at the same time (greedy by size, as in Pisarchyk and Lee 2020, "Efficient Memory Management for Deep
// Neural Net Inference").
#include "nn/program/passes/passes.hpp"

#include <algorithm>
#include <numeric>

namespace bitgraph::nn {

namespace {

constexpr std::size_t alignment = 256;

/// The operators from the first to the last during which a value is needed.
struct Lifetime {
  std::size_t first = 0;
  std::size_t last = 0;
  std::size_t bytes = 0;

  [[nodiscard]] bool meets(const Lifetime& other) const noexcept { return first <= other.last && other.first <= last; }
};

std::vector<Lifetime> lifetimes(const Program& program, std::size_t nodes) {
  std::vector<Lifetime> lives(program.values.size());
  for (std::size_t v = 0; v < lives.size(); ++v)
    lives[v].bytes = (program.values[v].bytes(nodes) + alignment - 1) / alignment * alignment;
  for (std::size_t n = 0; n < program.operators.size(); ++n) {
    for (const ValueId v : program.operators[n].outputs) lives[v].first = lives[v].last = n;
    for (const ValueId v : program.operators[n].inputs) {
      if (v != no_value) lives[v].last = n;
    }
  }
  lives[program.result].last = program.operators.size();
  for (std::size_t v = 0; v < lives.size(); ++v) {
    if (program.values[v].prepared_words != 0) lives[v].first = 0, lives[v].last = program.operators.size();
  }
  return lives;
}

/// Outputs that take the memory of an input which nobody needs any more.
void join_in_place(const Program& program, Layout& layout, std::vector<Lifetime>& lives) {
  for (std::size_t n = 0; n < program.operators.size(); ++n) {
    const Operator& op = program.operators[n];
    const std::size_t which = operator_traits(op.kind).overwrites;
    if (which >= op.inputs.size() || op.inputs[which] == no_value || op.inputs[which] == program.features) continue;
    const ValueId owner = layout.owner[op.inputs[which]];
    const Value& in = program.value(op.inputs[which]);
    const Value& out = program.value(op.output());
    const bool alike = in.columns == out.columns && in.format == out.format && in.scored_bits == out.scored_bits &&
                       in.scaled_scores == out.scaled_scores;
    if (!alike || lives[owner].last != n) continue;
    layout.owner[op.output()] = owner;
    lives[owner].last = lives[op.output()].last;
  }
}

}  // namespace

Layout place(const Program& program, std::size_t nodes, bool shares) {
  Layout layout;
  layout.offset.assign(program.values.size(), Layout::nowhere);
  layout.owner.resize(program.values.size());
  std::iota(layout.owner.begin(), layout.owner.end(), ValueId{0});
  std::vector<Lifetime> lives = lifetimes(program, nodes);
  if (shares) join_in_place(program, layout, lives);

  std::vector<ValueId> order;
  for (ValueId v = 0; v < program.values.size(); ++v) {
    if (layout.owner[v] == v && v != program.features) order.push_back(v);
  }
  std::stable_sort(order.begin(), order.end(), [&](ValueId a, ValueId b) { return lives[a].bytes > lives[b].bytes; });
  std::vector<ValueId> placed;  // by rising offset
  for (const ValueId v : order) {
    std::size_t offset = 0;
    for (const ValueId other : placed) {
      if (shares && !lives[v].meets(lives[other])) continue;
      if (offset + lives[v].bytes <= layout.offset[other]) break;
      offset = std::max(offset, layout.offset[other] + lives[other].bytes);
    }
    layout.offset[v] = offset;
    layout.bytes = std::max(layout.bytes, offset + lives[v].bytes);
    const auto at = std::upper_bound(placed.begin(), placed.end(), offset,
                                     [&](std::size_t o, ValueId p) { return o < layout.offset[p]; });
    placed.insert(at, v);
  }
  for (ValueId v = 0; v < program.values.size(); ++v) {
    if (v != program.features) layout.offset[v] = layout.offset[layout.owner[v]];
  }
  return layout;
}

}  // namespace bitgraph::nn
