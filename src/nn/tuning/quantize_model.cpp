// SPDX-License-Identifier: Apache-2.0
// Post-training quantization. The program of the float model says where levels are made; the float model's own values
// there give the scales.
#include <bitgraph/formats/block_diagonal.hpp>
#include <bitgraph/nn/quantize.hpp>

#include "nn/inference/graph_operands.hpp"
#include "nn/inference/input_features.hpp"
#include "nn/inference/runtime/runtime.hpp"
#include "nn/inference/runtime/weights.hpp"
#include "nn/program/layers.hpp"
#include "nn/program/passes/passes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace bitgraph::nn {

namespace {

/// Every value of a float model over a data set.
class FloatValues {
 public:
  FloatValues(const Model& model, const Dataset& dataset, const Program& program, const Device& host)
      : options_{.forms = std::vector<Precision>(model.layers.size())},
        graph_(dataset.graph, host, {}, dataset.num_graphs() == 0 ? CsrPattern() : readout_matrix(dataset.first_node)),
        features_(model, dataset, Precision::real, FeatureStorage::dense, host),
        compiled_{program, {}, false},
        weights_(model, program, features_, host),
        runtime_(graph_, features_, weights_, options_, host) {
    runtime_.find(compiled_, none_, false);
    runtime_.bind(0);
    for (std::size_t n = 0; n < program.operators.size(); ++n) runtime_.run(n);
  }

  /// Row i times row_scale[i], where there are row scales.
  [[nodiscard]] DenseMatrix<float> scaled(ValueId v, std::span<const float> row_scale) const {
    DenseMatrix<float> values = runtime_.floats_in(v).clone();
    for (std::size_t i = 0; i < row_scale.size(); ++i) {
      for (float& value : values.row(i)) value *= row_scale[i];
    }
    return values;
  }

  [[nodiscard]] std::span<const float> neighbor_scale(Aggregation aggregation) {
    if (aggregation == Aggregation::none) return {};
    return graph_.scales_of(aggregation).col_scale;
  }

 private:
  InferenceOptions options_;
  GraphOperands graph_;
  InputFeatures features_;
  Compiled compiled_;
  CsrPattern none_;
  Weights weights_;
  Runtime runtime_;
};

Linear in_levels(const Linear& linear, const NumberFormat& format, BoundsOf bounds) {
  if (linear.empty()) return {};
  const QuantizeOptions how{.bits = format.bits, .extent = format.scale, .bounds = bounds, .keeps_zero = true};
  QuantizedMatrix weight = quantize(linear.floats(), how);
  if (!weight.scale().has_offsets()) {  // the format says that there are some
    LevelScale scale = weight.scale().to(Device());
    scale.offsets = Buffer<float>(scale.steps.size(), 0.0F);
    weight.set_scale(std::move(scale));
  }
  return {std::move(weight), linear.bias.clone()};
}

std::vector<Precision> forms_of(const Model& model, const QuantizeModelOptions& options) {
  std::vector<Precision> forms = options.forms;
  if (forms.empty()) {
    forms.assign(model.layers.size(), options.precision);
    forms.back() = options.precision.of_last_layer();
  }
  if (forms.size() != model.layers.size()) {
    fail(ErrorCode::usage,
         fmt::format("quantize: {} forms are given for a model of {} layers", forms.size(), model.layers.size()));
  }
  for (const Precision& form : forms) {
    require_supported(form);
    if (form.has_levels() || form == Precision::real) continue;
    fail(ErrorCode::usage,
         fmt::format("quantize: a float model has no layer of form {}: bits are trained", to_string(form)));
  }
  if (std::none_of(forms.begin(), forms.end(), [](const Precision& form) { return form.has_levels(); }))
    fail(ErrorCode::usage, "quantize: no layer is to have levels");
  return forms;
}

/// The scales of what the program quantizes. 0 is a level's value: a sum over many neighbours that have next to nothing
/// stays next to nothing, and what a relu has set to 0 stays so.
void choose_scales(Model& made, const Program& program, FloatValues& values, BoundsOf bounds) {
  for (const Operator& op : program.operators) {
    if (op.kind != OperatorKind::quantize) continue;
    const Value& out = program.value(op.output());
    Layer& layer = made.layers[out.scale_layer];
    const bool input = out.levels_of == LevelsOf::input;
    LevelScale& scale = input ? layer.input_scale : layer.message_scale;
    if (scale.extent != ScaleExtent::none) {
      fail(ErrorCode::usage, fmt::format("quantize: layer {} {} two different values, for which it has one scale",
                                         out.scale_layer, input ? "multiplies" : "adds up"));
    }
    const DenseMatrix<float> x = values.scaled(op.inputs[0], values.neighbor_scale(op.aggregation));
    scale = without_zero_offsets(
        choose_scale(x, {.bits = out.format.bits, .extent = out.format.scale, .bounds = bounds, .keeps_zero = true}));
  }
}

}  // namespace

Model quantize(const Model& model, const Dataset& dataset, const QuantizeModelOptions& options, const Device& device) {
  model.require_fit(dataset);
  if (model.precision != Precision::real) {
    fail(ErrorCode::usage,
         fmt::format("quantize: the model is of precision {}, expected a float model", to_string(model.precision)));
  }
  const std::vector<Precision> forms = forms_of(model, options);
  const Device host = device.is_host() ? device : Device();
  const Program plain = program_of(model, dataset.num_graphs());
  FloatValues values(model, dataset, plain, host);
  Program program = plain;
  apply_precision(program, forms);
  share(program);

  Model made{.architecture = model.architecture,
             .precision = *std::find_if(forms.begin(), forms.end(), [](const Precision& f) { return f.has_levels(); }),
             .dataset = model.dataset,
             .seed = model.seed,
             .trained = model.trained,
             .jumping_knowledge = model.jumping_knowledge,
             .readout = model.readout,
             .normalize_rows = model.normalize_rows};
  made.network = model.network;
  for (std::size_t l = 0; l < forms.size(); ++l) {
    const Layer& from = model.layers[l];
    Layer layer{.aggregation = from.aggregation, .precision = forms[l]};
    const bool levels = forms[l].multiplies_levels();
    layer.neighbor = levels ? in_levels(from.neighbor, forms[l].weight, options.bounds) : from.neighbor.to(Device());
    layer.root = levels ? in_levels(from.root, forms[l].weight, options.bounds) : from.root.to(Device());
    made.layers.push_back(std::move(layer));
  }
  choose_scales(made, program, values, options.bounds);
  return made;
}

}  // namespace bitgraph::nn
