// SPDX-License-Identifier: Apache-2.0
// Post-training quantization. The program of the float model says where levels are made; the float model's own values
// there give the scales.
#include <bitgraph/formats/block_diagonal.hpp>
#include <bitgraph/nn/quantize.hpp>
#include <bitgraph/ops/spmm.hpp>

#include "nn/inference/graph_operands.hpp"
#include "nn/inference/input_features.hpp"
#include "nn/inference/runtime/runtime.hpp"
#include "nn/inference/runtime/weights.hpp"
#include "nn/model/feature_rules.hpp"
#include "nn/model/layer_forms.hpp"
#include "nn/program/layers.hpp"
#include "nn/program/passes/passes.hpp"
#include "nn/tuning/least_squares.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace bitgraph::nn {

namespace {

/// Every value of a model over a data set, once the operators have run.
class ModelValues {
 public:
  ModelValues(const Model& model, const Dataset& dataset, const Program& program, std::vector<Precision> forms,
              const Device& host)
      : options_{.forms = std::move(forms)},
        graph_(dataset.graph, host, {}, dataset.num_graphs() == 0 ? CsrPattern() : readout_matrix(dataset.first_node)),
        features_(model, dataset, form_of_features(model, options_.forms), FeatureStorage::dense, host),
        compiled_{program, {}, false},
        weights_(model, program, features_, host),
        runtime_(graph_, features_, weights_, options_, host) {
    runtime_.find(compiled_, none_, false);
    runtime_.bind(0);
  }

  void run(std::size_t n) { runtime_.run(n); }
  void run_all() {
    for (std::size_t n = 0; n < compiled_.program.operators.size(); ++n) run(n);
  }
  void set_weights(const Model& model) { weights_.set(model.layers); }

  [[nodiscard]] std::size_t rows(ValueId v) const { return runtime_.floats_in(v).nrows(); }

  /// Of rows with weights; none: all count alike.
  [[nodiscard]] std::vector<double> column_means(ValueId v, std::span<const float> weights) const {
    const DenseMatrix<float>& x = runtime_.floats_in(v);
    std::vector<double> means(x.ncols(), 0);
    double sum = 0;
    for (std::size_t i = 0; i < x.nrows(); ++i) {
      const double weight = weights.empty() ? 1 : weights[i];
      for (std::size_t f = 0; f < x.ncols(); ++f) means[f] += weight * x(i, f);
      sum += weight;
    }
    for (double& mean : means) mean /= sum;
    return means;
  }

  /// Row i times row_scale[i], where there are row scales.
  [[nodiscard]] DenseMatrix<float> scaled(ValueId v, std::span<const float> row_scale) const {
    DenseMatrix<float> values = runtime_.floats_in(v).clone();
    for (std::size_t i = 0; i < row_scale.size(); ++i) {
      for (float& value : values.row(i)) value *= row_scale[i];
    }
    return values;
  }

  /// A value as floats; of levels what they stand for.
  [[nodiscard]] DenseMatrix<float> floats(ValueId v) const {
    return compiled_.program.value(v).is_levels() ? to_dense(runtime_.levels_in(v)) : runtime_.floats_in(v).clone();
  }

  /// Sums of the rows of x, as `sum` makes them: over neighbours, or over the nodes of each graph.
  [[nodiscard]] DenseMatrix<float> sums(const DenseMatrix<float>& x, const Operator& sum) {
    if (sum.kind == OperatorKind::readout) return spmm<DenseMatrix<float>>(graph_.readout(), x);
    const AggregationOperand by = graph_.of(sum.aggregation);
    return spmm<DenseMatrix<float>>(*by.pattern, x, {.row_scale = by.row_scale, .col_scale = by.col_scale});
  }

  [[nodiscard]] const DenseMatrix<float>& logits() const { return runtime_.result(); }

  [[nodiscard]] std::span<const float> neighbor_scale(Aggregation aggregation) {
    if (aggregation == Aggregation::none) return {};
    return graph_.scales_of(aggregation).col_scale;
  }

  [[nodiscard]] std::span<const float> inverse_degree_roots() {
    if (inverse_roots_.empty()) {
      for (const float root : graph_.degree_roots(degree_root_of(compiled_.program.operators)))
        inverse_roots_.push_back(1 / root);
    }
    return inverse_roots_;
  }

 private:
  InferenceOptions options_;
  GraphOperands graph_;
  InputFeatures features_;
  Compiled compiled_;
  CallerOrder none_;
  Weights weights_;
  Runtime runtime_;
  std::vector<float> inverse_roots_;
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

std::vector<Precision> checked_forms(const Model& model, const QuantizeModelOptions& options) {
  std::vector<Precision> forms = options.forms;
  if (forms.empty()) forms = forms_of(options.precision, model.layers);
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

/// Makes weights and biases of a model in levels undo what rounding does to the values in front of them: operator by
/// operator, so that each sees the errors of those before. Of sums, which grow with the number of neighbours, rows
/// count by one over degree_root(): else a few hubs would decide.
class Correction {
 public:
  /// `from` is the float model, which has the values `floats`.
  Correction(Model& made, const Model& from, const Program& program, ModelValues& floats, ModelValues& levels,
             const Device& host)
      : made_(made), from_(from), program_(program), floats_(floats), levels_(levels), host_(host) {}

  void run(const QuantizeModelOptions& options) {
    for (std::size_t n = 0; n < program_.operators.size(); ++n) {
      const Operator& op = program_.operators[n];
      behind_sum_ = behind_sum_ || is_sum(op.aggregation);
      if (options.corrects_weights && has_own_weights(op)) fit_weights(op, options);
      levels_.run(n);
      if (op.bias == BiasOf::none) continue;
      correct_bias(op);
      levels_.run(n);
    }
  }

 private:
  /// Of levels that are not the features: these have scales by rows, and often more columns than there are nodes.
  [[nodiscard]] bool has_own_weights(const Operator& op) const {
    if (op.kind != OperatorKind::product || !op.multiplies_levels() || op.inputs[0] == program_.features) return false;
    return std::ranges::count_if(program_.operators, [&](const Operator& other) {
             return other.kind == op.kind && other.layer == op.layer && other.weight == op.weight;
           }) == 1;
  }

  /// The sum over neighbours, or over graphs, that is all that reads what a product makes, or its levels; null: there
  /// is none, or it adds up a bias as often as a row has terms.
  [[nodiscard]] const Operator* sum_of(const Operator& product) const {
    if (product.bias != BiasOf::none) return nullptr;
    ValueId v = product.output();
    for (const Operator& op : program_.operators) {
      if (op.inputs[0] != v || program_.uses(v) != 1) continue;
      if (op.kind == OperatorKind::aggregate || op.kind == OperatorKind::readout) return &op;
      if (op.kind == OperatorKind::quantize) v = op.output();
    }
    return nullptr;
  }

  [[nodiscard]] std::span<const float> row_weights(std::size_t rows) {
    const std::span<const float> weights = behind_sum_ ? floats_.inverse_degree_roots() : std::span<const float>{};
    return weights.size() == rows ? weights : std::span<const float>{};
  }

  /// The weights for which a product of the levels that are there is nearest to the float model's product, its bias
  /// apart. Where nodes are added up behind, their sums are to be near: errors of single nodes cancel out in them, so
  /// the product of one node would be made too small.
  void fit_weights(const Operator& op, const QuantizeModelOptions& options) {
    const auto weights_of = op.weight == WeightOf::root ? &Layer::root : &Layer::neighbor;
    Linear& to = made_.layers[op.layer].*weights_of;
    DenseMatrix<float> x = levels_.floats(op.inputs[0]);
    ValueId wanted = op.output();
    if (const Operator* const sum = sum_of(op)) {
      x = levels_.sums(x, *sum);
      wanted = sum->output();
    }
    const LeastSquaresOptions how{.row_weights = row_weights(x.nrows())};
    DenseMatrix<float> w =
        least_squares(x, floats_.floats(wanted), (from_.layers[op.layer].*weights_of).floats(), how, host_);
    to = in_levels({std::move(w), to.bias.clone()}, op.weight_format, options.bounds);
    levels_.set_weights(made_);
  }

  /// Rounding moves the mean of what a layer makes, and means do not cancel out over neighbours as other errors do. The
  /// bias takes off what its columns are off by (Nagel et al. 2019, "Data-Free Quantization Through Weight Equalization
  /// and Bias Correction").
  void correct_bias(const Operator& op) {
    Layer& layer = made_.layers[op.layer];
    Buffer<float>& bias = op.weight == WeightOf::root ? layer.root.bias : layer.neighbor.bias;
    const std::vector<double> wanted = floats_.column_means(op.output(), row_weights(floats_.rows(op.output())));
    const std::vector<double> found = levels_.column_means(op.output(), row_weights(levels_.rows(op.output())));
    for (std::size_t f = 0; f < bias.size(); ++f) bias[f] += static_cast<float>(wanted[f] - found[f]);
    levels_.set_weights(made_);
  }

  Model& made_;
  const Model& from_;
  const Program& program_;
  ModelValues& floats_;
  ModelValues& levels_;
  const Device& host_;
  bool behind_sum_ = false;
};

void require_floats(const Model& model, const Dataset& dataset) {
  model.require_fit(dataset);
  if (model.precision == Precision::real) return;
  fail(ErrorCode::usage,
       fmt::format("quantize: the model is of precision {}, expected a float model", to_string(model.precision)));
}

}  // namespace

struct ModelQuantizer::State {
  State(const Model& floats, const Dataset& data, const Device& on)
      : model(floats),
        dataset(data),
        host(on),
        plain(program_of(floats, data.num_graphs())),
        values(floats, data, plain, std::vector<Precision>(floats.layers.size()), on) {
    values.run_all();
  }

  [[nodiscard]] Model quantize(const QuantizeModelOptions& options);

  /// The weights of a layer, or those of the node itself, in levels.
  [[nodiscard]] Linear weights(std::size_t layer, bool root, const NumberFormat& format, BoundsOf bounds);

  /// The scales of what the program quantizes. 0 is a level's value: a sum over many neighbours that have next to
  /// nothing stays next to nothing, and what a relu has set to 0 stays so.
  void choose_scales(Model& made, const Program& program, BoundsOf bounds);
  [[nodiscard]] LevelScale scale_of(const Operator& op, const Value& out, BoundsOf bounds);

  const Model& model;
  const Dataset& dataset;
  Device host;
  Program plain;
  ModelValues values;
  std::map<std::tuple<std::size_t, bool, int, BoundsOf>, Linear> made_weights;  ///< layer, root, bits
  std::map<std::tuple<ValueId, Aggregation, bool, int, ScaleExtent, BoundsOf>, LevelScale> made_scales;
};

Linear ModelQuantizer::State::weights(std::size_t layer, bool root, const NumberFormat& format, BoundsOf bounds) {
  const auto [found, is_new] = made_weights.try_emplace({layer, root, format.bits, bounds});
  const Layer& from = model.layers[layer];
  if (is_new) found->second = in_levels(root ? from.root : from.neighbor, format, bounds);
  return found->second.to(Device());
}

LevelScale ModelQuantizer::State::scale_of(const Operator& op, const Value& out, BoundsOf bounds) {
  const bool by_degree = out.by_degree();
  const ScaleExtent extent = by_degree ? ScaleExtent::tensor : out.format.scale;
  const auto [found, is_new] =
      made_scales.try_emplace({op.inputs[0], op.aggregation, by_degree, out.format.bits, extent, bounds});
  if (is_new) {
    const DenseMatrix<float> x =
        values.scaled(op.inputs[0], by_degree ? values.inverse_degree_roots() : values.neighbor_scale(op.aggregation));
    found->second = without_zero_offsets(
        choose_scale(x, {.bits = out.format.bits, .extent = extent, .bounds = bounds, .keeps_zero = true}));
  }
  return found->second.to(Device());
}

void ModelQuantizer::State::choose_scales(Model& made, const Program& program, BoundsOf bounds) {
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
    scale = scale_of(op, out, bounds);
  }
}

Model ModelQuantizer::State::quantize(const QuantizeModelOptions& options) {
  const std::vector<Precision> forms = checked_forms(model, options);
  Program program = plain;
  apply_precision(program, forms);
  share(program);

  Model made{.architecture = model.architecture,
             .precision = *std::find_if(forms.begin(), forms.end(), [](const Precision& f) { return f.has_levels(); }),
             .dataset = model.dataset,
             .seed = model.seed,
             .trained = model.trained,
             .jumping_knowledge = model.jumping_knowledge,
             .readout = model.readout};
  copy_feature_rules(made, model);
  made.layer_builder = model.layer_builder;
  made.network = model.network;
  for (std::size_t l = 0; l < forms.size(); ++l) {
    const Layer& from = model.layers[l];
    Layer layer{.aggregation = from.aggregation, .precision = forms[l]};
    const bool levels = forms[l].multiplies_levels();
    layer.neighbor = levels ? weights(l, false, forms[l].weight, options.bounds) : from.neighbor.to(Device());
    layer.root = levels ? weights(l, true, forms[l].weight, options.bounds) : from.root.to(Device());
    made.layers.push_back(std::move(layer));
  }
  choose_scales(made, program, options.value_bounds);
  if (!options.corrects_biases) return made;
  ModelValues levels(made, dataset, program, forms, host);
  Correction(made, model, program, values, levels, host).run(options);
  return made;
}

ModelQuantizer::ModelQuantizer(const Model& model, const Dataset& dataset, const Device& device) {
  require_floats(model, dataset);
  state_ = std::make_unique<State>(model, dataset, device.is_host() ? device : Device());
}
ModelQuantizer::~ModelQuantizer() = default;
ModelQuantizer::ModelQuantizer(ModelQuantizer&&) noexcept = default;

Model ModelQuantizer::quantize(const QuantizeModelOptions& options) { return state_->quantize(options); }
const Model& ModelQuantizer::model() const noexcept { return state_->model; }
const Dataset& ModelQuantizer::dataset() const noexcept { return state_->dataset; }
const DenseMatrix<float>& ModelQuantizer::logits() const { return state_->values.logits(); }

Model quantize(const Model& model, const Dataset& dataset, const QuantizeModelOptions& options, const Device& device) {
  require_floats(model, dataset);
  static_cast<void>(checked_forms(model, options));  // before the model runs
  return ModelQuantizer(model, dataset, device).quantize(options);
}

}  // namespace bitgraph::nn
