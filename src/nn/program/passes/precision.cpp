// SPDX-License-Identifier: Apache-2.0
#include "nn/program/passes/passes.hpp"

#include <utility>

namespace bitgraph::nn {

namespace {

class PrecisionPass {
 public:
  PrecisionPass(Program& program, std::span<const Precision> forms) : program_(program), forms_(forms) {
    for (ValueId v = 0; v < program.values.size(); ++v) stands_for_.push_back(v);
  }

  void run() {
    if (forms_.front().multiplies_signs()) program_.values[program_.features].format = forms_.front().input;
    std::vector<Operator> before = std::exchange(program_.operators, {});
    for (Operator& op : before) {
      for (ValueId& v : op.inputs) v = stands_for_[v];
      const Precision& form = forms_[op.layer];
      if (form.multiplies_signs()) {
        in_signs(std::move(op), form);
      } else {
        program_.operators.push_back(std::move(op));
      }
    }
    program_.result = stands_for_[program_.result];
  }

 private:
  void in_signs(Operator op, const Precision& form) {
    Value& out = program_.values[op.output()];
    const NumberFormat made = form.votes() ? NumberFormat{NumberKind::sign, 1} : NumberFormat{};
    switch (op.kind) {
      case OperatorKind::product:
        op.inputs[0] = as_signs(op.inputs[0], form, op.layer);
        op.weight_format = form.weight;
        op.bias = BiasOf::weight;  // inside of the aggregation
        program_.values[op.output()].format = made;
        break;
      case OperatorKind::concat: out.format = program_.value(op.inputs[0]).format; break;
      case OperatorKind::relu:  // signs rectify nothing
        stands_for_[op.output()] = op.inputs[0];
        return;
      default:
        op.bias = BiasOf::none;
        out.format = made;
        break;
    }
    program_.operators.push_back(std::move(op));
  }

  /// The value, or its signs where it is floats.
  ValueId as_signs(ValueId x, const Precision& form, std::size_t layer) {
    if (program_.value(x).is_signs()) return x;
    const ValueId quantized = program_.add_value({program_.value(x).columns, form.input});
    program_.operators.push_back(
        {.kind = OperatorKind::quantize, .inputs = {x}, .outputs = {quantized}, .layer = layer});
    return quantized;
  }

  Program& program_;
  std::span<const Precision> forms_;
  std::vector<ValueId> stands_for_;
};

}  // namespace

void apply_precision(Program& program, std::span<const Precision> forms) { PrecisionPass(program, forms).run(); }

}  // namespace bitgraph::nn
