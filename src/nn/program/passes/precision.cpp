// SPDX-License-Identifier: Apache-2.0
#include "nn/program/passes/passes.hpp"

#include <cstdint>
#include <utility>

namespace bitgraph::nn {

namespace {

class PrecisionPass {
 public:
  PrecisionPass(Program& program, std::span<const Precision> forms) : program_(program), forms_(forms) {
    for (ValueId v = 0; v < program.values.size(); ++v) stands_for_.push_back(v);
    made_.resize(program.values.size(), Made::scaled);
  }

  void run() {
    if (forms_.front().multiplies_signs()) program_.values[program_.features].format = forms_.front().input;
    std::vector<Operator> before = std::exchange(program_.operators, {});
    norm_inside(before);
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
  /// The bias of a binary layer stands inside of the aggregation, and so does a batch norm.
  void norm_inside(std::vector<Operator>& operators) const {
    for (std::size_t n = 1; n < operators.size(); ++n) {
      Operator& sum = operators[n - 1];
      Operator& norm = operators[n];
      if (norm.kind != OperatorKind::batch_norm || !forms_[norm.layer].multiplies_signs()) continue;
      std::swap(sum.inputs, norm.inputs);
      std::swap(sum.outputs, norm.outputs);
      std::swap(sum, norm);
    }
  }

  void in_signs(Operator op, const Precision& form) {
    const ValueId out = op.output();
    switch (op.kind) {
      case OperatorKind::product:
        op.inputs[0] = as_signs(op.inputs[0], form, op.layer);
        op.weight_format = form.weight;
        op.bias = BiasOf::weight;  // inside of the aggregation
        if (form.votes()) made_[out] = Made::plain;
        break;
      case OperatorKind::batch_norm: program_.operators.back().bias = BiasOf::none; break;  // the product's
      case OperatorKind::aggregate:
        op.bias = BiasOf::none;
        if (!form.votes()) break;
        op.inputs[0] = quantize(op.inputs[0], plain_sign, false, op.layer);
        made_[out] = Made::voted;
        break;
      case OperatorKind::add:
        op.bias = BiasOf::none;
        made_[out] = made_[op.inputs[0]];
        op.maximum = made_[out] == Made::voted;
        break;
      case OperatorKind::concat: made_[out] = made_[op.inputs[0]]; break;
      case OperatorKind::relu:  // signs rectify nothing
        stands_for_[out] = op.inputs[0];
        return;
      default: break;
    }
    program_.operators.push_back(std::move(op));
  }

  /// The value, or its signs where it is floats.
  ValueId as_signs(ValueId x, const Precision& form, std::size_t layer) {
    if (program_.value(x).is_signs()) return x;
    return quantize(x, made_[x] == Made::scaled ? form.input : plain_sign, made_[x] == Made::voted, layer);
  }

  ValueId quantize(ValueId x, NumberFormat format, bool straight, std::size_t layer) {
    const ValueId quantized = program_.add_value({program_.value(x).columns, format});
    stands_for_.push_back(quantized);
    made_.push_back(Made::scaled);
    program_.operators.push_back(
        {.kind = OperatorKind::quantize, .inputs = {x}, .outputs = {quantized}, .layer = layer, .straight = straight});
    return quantized;
  }

  /// How the next layer takes the signs of floats: with scales; of a layer in bin without. Those of votes are all there
  /// is to them.
  enum class Made : std::uint8_t { scaled, plain, voted };

  static constexpr NumberFormat plain_sign{NumberKind::sign, 1};

  Program& program_;
  std::span<const Precision> forms_;
  std::vector<ValueId> stands_for_;
  std::vector<Made> made_;
};

}  // namespace

void apply_precision(Program& program, std::span<const Precision> forms) { PrecisionPass(program, forms).run(); }

}  // namespace bitgraph::nn
