// SPDX-License-Identifier: Apache-2.0
#include "nn/program/passes/passes.hpp"

#include <algorithm>
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
    program_.values[program_.features].format = format_of_features(program_, forms_);
    std::vector<Operator> before = std::exchange(program_.operators, {});
    norm_inside(before);
    for (const Operator& op : before) {
      if (op.kind == OperatorKind::readout) read_out_layer_ = op.layer;
    }
    for (Operator& op : before) {
      for (ValueId& v : op.inputs) v = stands_for_[v];
      const Precision& form = forms_[op.layer];
      if (form.multiplies_signs()) {
        in_signs(std::move(op), form);
      } else if (form.has_levels()) {
        in_levels(std::move(op), form);
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
        // Inside of the aggregation; of a readout it is added behind it.
        op.bias = op.layer == read_out_layer_ ? BiasOf::none : BiasOf::weight;
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
      case OperatorKind::tanh:  // which has the sign of its input
        stands_for_[out] = op.inputs[0];
        return;
      default: break;
    }
    program_.operators.push_back(std::move(op));
  }

  /// What is multiplied or added up is quantized before; what comes out is floats.
  void in_levels(Operator op, const Precision& form) {
    if (op.kind == OperatorKind::product && form.multiplies_levels()) {
      op.inputs[0] = as_levels(op.inputs[0], form.input, LevelsOf::input, op);
      op.weight_format = form.weight;
    }
    if (op.kind == OperatorKind::aggregate && form.sums_levels())
      op.inputs[0] = as_levels(op.inputs[0], form.messages, LevelsOf::messages, op);
    program_.operators.push_back(std::move(op));
  }

  /// The levels of a value for `reader`; features that have levels already keep them.
  ValueId as_levels(ValueId x, NumberFormat format, LevelsOf of, const Operator& reader) {
    if (program_.value(x).is_levels()) return x;
    const ValueId made = quantize(x, format, false, reader.layer);
    program_.values[made].levels_of = of;
    program_.values[made].scale_layer = reader.layer;
    // The neighbours' share of D^-1/2 goes in before: only whole numbers are added up.
    if (reader.aggregation == Aggregation::symmetric) program_.operators.back().aggregation = Aggregation::symmetric;
    return made;
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
  std::size_t read_out_layer_ = ~std::size_t{0};
};

}  // namespace

NumberFormat format_of_features(const Program& program, std::span<const Precision> forms) {
  if (forms.front().multiplies_signs()) return forms.front().input;
  const Precision* first = nullptr;
  for (const Operator& op : program.operators) {
    if (std::find(op.inputs.begin(), op.inputs.end(), program.features) == op.inputs.end()) continue;
    const Precision& form = forms[op.layer];
    if (op.kind != OperatorKind::product || !form.multiplies_levels()) return {};
    if (first == nullptr) first = &form;
    if (first->input.bits != form.input.bits) return {};
  }
  return first == nullptr ? NumberFormat() : scaled_by(first->input, ScaleExtent::row);
}

void apply_precision(Program& program, std::span<const Precision> forms) { PrecisionPass(program, forms).run(); }

}  // namespace bitgraph::nn
