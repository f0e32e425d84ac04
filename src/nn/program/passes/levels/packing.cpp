// SPDX-License-Identifier: Apache-2.0
// Levels of 2 bits that go from product to sum and from sum to product in planes of bits (LevelPacking): half of the
// bytes, and neither makes planes of them again. The features are the first of them, so a plan decides for these once:
// packs_features(). What follows from that does not depend on the graph, which may change.
#include "nn/program/passes/passes.hpp"

#include <bitgraph/ops/level_gemm.hpp>
#include <bitgraph/ops/level_spmm.hpp>

#include <vector>

namespace bitgraph::nn {

namespace {

using Kind = OperatorKind;

constexpr int plane_bits = 2;

class Packing {
 public:
  Packing(const Program& program, bool on_host)
      : program_(program), on_host_(on_host), packs_(program.values.size(), false) {
    packs_[program.features] = has_bits(program.features);
    for (const Operator& op : program.operators) packs_[op.output()] = may_leave(op);
    while (drop_some()) {
    }
  }
  [[nodiscard]] bool packs(ValueId v) const { return packs_[v]; }

 private:
  [[nodiscard]] bool has_bits(ValueId v) const {
    const Value& value = program_.value(v);
    return value.is_levels() && value.format.bits == plane_bits;
  }

  /// Whether a kernel's output may be planes, where its input is.
  [[nodiscard]] bool may_leave(const Operator& op) const {
    if (!has_bits(op.output()) || !takes(op)) return false;
    const bool late = program_.value(op.output()).format.scale == ScaleExtent::row || op.inputs.size() == 2;
    return op.kind != Kind::product || on_host_ || !late;
  }
  /// Whether a kernel takes planes.
  [[nodiscard]] bool takes(const Operator& op) const {
    if (!has_bits(op.inputs[0]) || op.activation == Activation::tanh) return false;
    const std::size_t columns = program_.value(op.inputs[0]).columns;
    if (op.kind == Kind::aggregate) {
      return (on_host_ ? op.graph == GraphForm::csr : is_by_length(op.graph)) && !op.by_parts &&
             has_bits(op.output()) && level_spmm_has_planes(plane_bits, plane_bits, columns, op.activation);
    }
    return op.kind == Kind::product && op.multiplies_levels() &&
           (on_host_ || level_gemm_has_planes(plane_bits, op.weight_format.bits, columns));
  }

  /// A sum takes planes where it leaves them, and a product leaves them where it takes them.
  bool drop_some() {
    bool dropped = false;
    const auto drop = [&](ValueId v) {
      dropped = dropped || packs_[v];
      packs_[v] = false;
    };
    for (const Operator& op : program_.operators) {
      if (op.inputs[0] == no_value || !packs_[op.inputs[0]]) drop(op.output());
      for (const ValueId v : op.inputs) {
        if (v == no_value || !packs_[v]) continue;
        if (!takes(op) || (op.kind == Kind::aggregate && !packs_[op.output()])) drop(v);
      }
    }
    return dropped;
  }

  const Program& program_;
  bool on_host_;
  std::vector<bool> packs_;
};

}  // namespace

void pack_levels_in_planes(Program& program, const PassContext& context) {
  if (!context.features_in_planes) return;
  const Packing packing(program, context.on_host);
  for (ValueId v = 0; v < program.values.size(); ++v) {
    if (packing.packs(v)) program.values[v].packing = LevelPacking::planes;
  }
  for (Operator& op : program.operators) {  // a sum needs an order, and thresholds instead of planes of its input
    if (op.kind != Kind::aggregate || !packing.packs(op.inputs[0])) continue;
    if (op.graph == GraphForm::csr) op.graph = GraphForm::csr_by_length;
    Value& memory = adds_planes(program, op) ? program.values[op.outputs.back()] : add_memory(program, op);
    memory.summed_planes = false;
    memory.prepared_words = level_spmm_prepared_words(memory.columns, context.on_host);
  }
}

bool packs_features(const Program& plain, const PassContext& context) {
  const InferenceOptions& o = context.options;
  if (!context.whole || o.memory != 0 || o.levels == LevelStrategy::bytes) return false;
  if (o.capacity.nodes != 0 || o.capacity.entries != 0) return false;  // no kernel makes room for rows of planes
  if (o.graph != GraphFormat::automatic && o.graph != GraphFormat::csr) return false;
  if (has_full_tiles(context, plane_bits)) return false;
  PassContext asked = context;
  asked.features_in_planes = true;
  const Program program = compile(plain, asked, 1, false).program;
  return program.value(program.features).packing == LevelPacking::planes;
}

}  // namespace bitgraph::nn
