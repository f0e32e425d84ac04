// SPDX-License-Identifier: Apache-2.0
#include "nn/training/run/training_run.hpp"

#include <bitgraph/ops/dense.hpp>
#include <bitgraph/ops/gemm.hpp>
#include <bitgraph/ops/quantize.hpp>
#include "nn/model/reshape.hpp"
#include "nn/model/some_rows.hpp"

#include "nn/program/layers.hpp"
#include "nn/program/operators.hpp"
#include "nn/program/passes/passes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace bitgraph::nn {

namespace {

/// Streams of random numbers: one a layer from here on.
constexpr std::uint32_t dropout_streams = 0x1000;

/// Scales of so few bits are learned. More levels lie so close together that a fit is as good.
constexpr int most_learned_bits = 4;
bool is_learned(const LevelGrid& grid) noexcept { return grid.bits <= most_learned_bits; }

}  // namespace

RandomKey dropout_key(RandomKey step, std::size_t layer) noexcept {
  step.tensor = dropout_streams + static_cast<std::uint32_t>(layer);
  return step;
}

void subtract_center(const DenseSlice<float>& bias, const Binarized& weight, const DenseMatrix<float>& center,
                     DenseMatrix<float>& signs) {
  if (bias.device.is_host()) {
    std::vector<double> sums(weight.bits.nrows());
    signed_sums_into(sums, weight.bits, center.values());
    for (std::size_t f = 0; f < sums.size(); ++f) bias.view.data[f] -= weight.alpha[f] * static_cast<float>(sums[f]);
    return;
  }
  reshape(signs, weight.bits.nrows(), weight.bits.ncols(), bias.device);
  expand_into(signs, weight.bits, weight.alpha.span());
  float_gemm(bias, center, false, signs, true, -1, 1);
}

namespace {

/// The rows of what has been added up once more are the first ones of what has not. An add has its output's first.
void put_fewer_rows_first(Program& program) {
  std::vector<std::size_t> sums(program.values.size(), 0);
  for (Operator& op : program.operators) {
    if (op.kind == OperatorKind::add && sums[op.inputs[0]] < sums[op.inputs[1]]) std::swap(op.inputs[0], op.inputs[1]);
    std::size_t& of = sums[op.output()];
    for (const ValueId v : op.inputs) of = std::max(of, sums[v]);
    if (op.kind == OperatorKind::aggregate || op.weight == WeightOf::root) ++of;
  }
}

}  // namespace

Program training_program(std::span<const LayerShape> layers, bool concatenates, std::span<const Precision> forms,
                         bool of_graphs) {
  Program program = program_of(layers, concatenates, of_graphs ? 1 : 0);
  put_fewer_rows_first(program);
  apply_precision(program, forms);
  share(program);
  fold_activations(program);
  drop_inputs(program);
  remove_dead(program);
  program.validate();
  return program;
}

TrainingRun::TrainingRun(Program program, std::vector<LayerParameters> parameters, const Device& device,
                         const TrainingRunOptions& options)
    : program_(std::move(program)),
      parameters_(std::move(parameters)),
      device_(device),
      slots_(program_.values.size()),
      learns_(program_.values.size(), false),
      from_features_(program_.values.size(), false),
      neighbor_signs_(parameters_.size()),
      root_signs_(parameters_.size()),
      input_scales_(parameters_.size()),
      message_scales_(parameters_.size()),
      rows_of_part_(options.rows_of_part) {
  from_features_[program_.features] = true;
  learns_[program_.features] = options.of_features;
  for (const Operator& op : program_.operators) {
    const OperatorTraits& traits = operator_traits(op.kind);
    if (traits.train == nullptr || traits.gradient == nullptr)
      fail(ErrorCode::usage, fmt::format("layer {}, {}: has no gradient", op.layer, traits.name));
    bool learns = op.weight != WeightOf::none;
    for (const ValueId v : op.inputs) learns = learns || learns_[v];
    learns_[op.output()] = learns;
    const bool same = op.kind == OperatorKind::quantize || op.kind == OperatorKind::dropout;
    from_features_[op.output()] = same && from_features_[op.inputs[0]];
  }
  share_memory();
}

void TrainingRun::share_memory() {
  gradient_of_.resize(slots_.size());
  std::iota(gradient_of_.begin(), gradient_of_.end(), ValueId{0});
  memory_of_ = gradient_of_;
  for (const Operator& op : program_.operators) {
    const ValueId in = op.inputs[0];
    const TrainsInPlace in_place = operator_traits(op.kind).in_place;
    if (in_place == TrainsInPlace::no || program_.uses(in) != 1 || !learns_[in]) continue;
    gradient_of_[op.output()] = gradient_of_[in];
    if (in_place == TrainsInPlace::both) memory_of_[op.output()] = memory_of_[in];
  }
}

const DenseMatrix<float>& TrainingRun::floats(ValueId v) const { return *slots_[v].floats; }

DenseMatrix<float>& TrainingRun::floats(ValueId v, std::size_t nrows) {
  Floats& storage = slots_[memory_of_[v]].storage.reshape(nrows, program_.value(v).columns, device_);
  slots_[v].floats = &storage;
  slots_[v].nrows = nrows;
  return storage;
}

const DenseMatrix<float>& TrainingRun::forward(const TrainingBatch& batch, const TrainingInput& input,
                                               const TrainingDropout& dropout) {
  batch_ = &batch;
  input_ = input;
  dropout_ = dropout;
  for (Slot& slot : slots_) {  // batches may have features of another kind
    slot.has_gradient = false;
    slot.entries = nullptr;
    slot.sample = {};
  }
  for (auto* all : {&neighbor_signs_, &root_signs_}) {
    for (WeightSigns& weight : *all) weight.made = weight.scale.has_gradient = false;
  }
  for (auto* all : {&input_scales_, &message_scales_}) {
    for (MadeScale& scale : *all) scale.has_gradient = false;
  }
  Slot& features = slots_[program_.features];
  features.floats = input.values;
  features.rows = input.rows;
  if (input.values != nullptr) {
    features.nrows = input.values->nrows();
  } else if (input.sparse != nullptr) {
    features.entries = &input.sparse->pattern;
    features.by_column = &input.sparse->transposed;
    features.sparse_values = input.sparse->values.span();
    features.nrows = input.sparse->pattern.nrows();
  } else if (input.rows != nullptr) {
    features.nrows = input.rows->nodes.size();
  } else if (input.sparse_signs != nullptr) {
    const SparseRows& flips = input.sparse_signs->flips;
    features.entries = &flips.pattern;
    features.by_column = &flips.transposed;
    features.sparse_values = flips.values.span();
    features.scale = input.sparse_signs->alpha.span();
    features.nrows = flips.pattern.nrows();
  } else {
    features.bits = &input.signs->bits;
    features.scale = input.signs->alpha.span();
    features.nrows = features.bits->nrows();
  }
  for (std::size_t n = 0; n < program_.operators.size(); ++n) run(n, false);
  fits_ = Fits::none;
  return logits();
}

void TrainingRun::run(std::size_t n, bool gradient) {
  const Operator& op = program_.operators[n];
  const OperatorTraits& traits = operator_traits(op.kind);
  const auto work = gradient ? traits.gradient : traits.train;
  if (!watch_) return work(*this, op);
  watch_(n, gradient, [&] { work(*this, op); });
}

DenseMatrix<float>& TrainingRun::result_gradient() {
  Slot& slot = slots_[gradient_of_[program_.result]];
  slot.has_gradient = true;
  return slot.gradient.reshape(logits().nrows(), logits().ncols(), device_);
}

void TrainingRun::backward() {
  for (std::size_t n = program_.operators.size(); n-- > 0;) {
    const Operator& op = program_.operators[n];
    if (learns_[op.output()] && has_gradient(op.output())) run(n, true);
  }
}

TrainingRun::Target TrainingRun::target(ValueId v) {
  Slot& slot = slots_[gradient_of_[v]];
  if (!slot.has_gradient) slot.gradient.reshape(slots_[v].nrows, program_.value(v).columns, device_);
  return {slot.gradient.get(), std::exchange(slot.has_gradient, true) ? 1.0F : 0.0F};
}

DenseMatrix<float>& TrainingRun::scratch(std::size_t nrows, std::size_t ncols) {
  return scratch_.reshape(nrows, ncols, device_);
}

const LinearParameters& TrainingRun::parameters(const Operator& op) const {
  const LayerParameters& layer = parameters_[op.layer];
  return op.weight == WeightOf::root ? layer.root : layer.neighbor;
}

TrainingRun::WeightSigns& TrainingRun::signs_of(const Operator& op) {
  return op.weight == WeightOf::root ? root_signs_[op.layer] : neighbor_signs_[op.layer];
}

TrainingRun::Scale TrainingRun::weight_scale(const Operator& op) {
  const LayerParameters& layer = parameters_[op.layer];
  return {op.weight == WeightOf::root ? layer.root_scale : layer.neighbor_scale, signs_of(op).scale};
}

TrainingRun::Scale TrainingRun::value_scale(const Value& value) {
  const std::size_t layer = value.scale_layer;
  if (value.levels_of == LevelsOf::input) return {parameters_[layer].input_scale, input_scales_[layer]};
  return {parameters_[layer].message_scale, message_scales_[layer]};
}

namespace {

LevelGrid grid_of(const NumberFormat& format, const DenseMatrix<float>& scale) {
  const std::span<const float> values = scale.values();
  return {.bits = format.bits,
          .extent = format.scale,
          .steps = values.first(scale.ncols()),
          .offsets = values.subspan(scale.ncols())};
}

}  // namespace

LevelGrid TrainingRun::weight_grid(const Operator& op) {
  return grid_of(op.weight_format, weight_scale(op).made.values);
}

const DenseMatrix<float>& TrainingRun::weight(const Operator& op) {
  const Floats& latent = *parameters(op).weight;
  if (!op.multiplies_levels()) return latent;
  WeightSigns& weight = signs_of(op);
  if (std::exchange(weight.made, true)) return weight.levels;
  const Scale scale = weight_scale(op);
  reshape(scale.made.values, 2, scale.parameters.learned->ncols(), device_);
  const LevelGrid grid = weight_grid(op);
  make(scale, latent, grid, BoundsOf::least_error);
  reshape(weight.levels, latent.nrows(), latent.ncols(), device_);
  fake_quantize_into(weight.levels, latent, grid);
  return weight.levels;
}

LevelGrid TrainingRun::grid(const Operator& op, const Floats& x) {
  const Value& value = program_.value(op.output());
  LevelGrid grid = grid_of(value.format, value_scale(value).made.values);
  if (op.aggregation != Aggregation::none) grid.row_scale = graph(op).col_scale.span();
  if (value.by_degree()) {
    grid.extent = ScaleExtent::tensor;
    grid.row_scale = batch_->inverse_degree_roots.span().first(x.nrows());
  }
  return grid;
}

LevelGrid TrainingRun::make_grid(const Operator& op, const Floats& x) {
  const Scale scale = value_scale(program_.value(op.output()));
  reshape(scale.made.values, 2, scale.parameters.learned->ncols(), device_);
  const LevelGrid made = grid(op, x);
  make(scale, x, made, BoundsOf::clipped);
  return made;
}

void TrainingRun::make(const Scale& scale, const Floats& x, const LevelGrid& grid, BoundsOf bounds) {
  if (fits_ == Fits::all || (fits_ == Fits::wide && !is_learned(grid))) fit(scale.parameters, x, grid, bounds);
  learned_scale_into(scale.made.values, *scale.parameters.learned);
}

void TrainingRun::learn_grid(const Operator& op, const Floats& x, const Floats& gradient) {
  const Value& value = program_.value(op.output());
  const Scale scale = value_scale(value);
  const LevelGrid grid = this->grid(op, x);
  if (!is_learned(grid)) return;
  learn(scale, x, gradient, grid);
  // What a layer reads begins at 0 behind a relu: level 0 stays there.
  if (value.levels_of == LevelsOf::input) fill_rows_from(*scale.parameters.gradient, 1);
}

void TrainingRun::learn_weight_scale(const Operator& op) {
  const LinearParameters& linear = parameters(op);
  const LevelGrid grid = weight_grid(op);
  if (!is_learned(grid)) return;
  learn(weight_scale(op), *linear.weight, *linear.weight_gradient, grid);
  fake_quantize_backward(*linear.weight_gradient, *linear.weight, grid);
}

void TrainingRun::learn(const Scale& scale, const Floats& x, const Floats& gradient, const LevelGrid& grid) {
  Floats& sums = *scale.parameters.gradient;
  const auto add_part = [&](Floats& to, std::size_t first, std::size_t nrows) {
    LevelGrid part = grid;
    if (!grid.row_scale.empty()) part.row_scale = grid.row_scale.subspan(first, nrows);
    learned_scale_backward_into(to, some_rows(gradient, first, nrows), some_rows(x, first, nrows), part);
  };
  if (grid.extent == ScaleExtent::row) return learned_scale_backward_into(sums, gradient, x, grid);
  if (!std::exchange(scale.made.has_gradient, true)) return sum_parts(sums, x.nrows(), add_part);
  Floats& more = more_scales_.reshape(sums.nrows(), sums.ncols(), device_);
  sum_parts(more, x.nrows(), add_part);
  accumulate(sums, std::as_const(more));
}

void TrainingRun::fit(const ScaleParameters& scale, const Floats& x, const LevelGrid& grid, BoundsOf bounds) {
  // Of many rows some are enough, and each row of weights has a scale of its own.
  constexpr std::size_t most_rows = 2048;
  const std::size_t stride =
      grid.extent == ScaleExtent::row ? 1 : std::max<std::size_t>(1, (x.nrows() + most_rows - 1) / most_rows);
  std::vector<NodeId> rows;
  for (std::size_t i = 0; i < x.nrows(); i += stride) rows.push_back(static_cast<NodeId>(i));
  Floats taken(rows.size(), x.ncols(), device_);
  gather_rows_into(taken, x, Buffer<NodeId>::copy_of(rows, device_));
  Floats some = device_.is_host() ? std::move(taken) : taken.to(Device());
  if (!grid.row_scale.empty()) {
    Buffer<float> factor(grid.row_scale.size());
    Device::copy(factor.data(), Device(), grid.row_scale.data(), device_, factor.bytes());
    Buffer<float> of_rows(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) of_rows[i] = factor[rows[i]];
    scale_rows(some, of_rows.span());
  }
  const LevelScale chosen =
      choose_scale(some, {.bits = grid.bits, .extent = grid.extent, .bounds = bounds, .keeps_zero = true});
  const Buffer<float> zeros(chosen.has_offsets() ? 0 : chosen.steps.size(), 0.0F);
  const Buffer<float>& offsets = chosen.has_offsets() ? chosen.offsets : zeros;
  Floats learned(2, chosen.steps.size());
  for (std::size_t n = 0; n < chosen.steps.size(); ++n) {
    learned(0, n) = std::log(chosen.steps[n]);
    learned(1, n) = std::nearbyint(offsets[n] / chosen.steps[n]);  // 0 is a level's value
  }
  assign(*scale.learned, learned.to(device_), device_);
}

const Binarized& TrainingRun::weight_signs(const Operator& op) {
  WeightSigns& weight = op.weight == WeightOf::root ? root_signs_[op.layer] : neighbor_signs_[op.layer];
  if (!std::exchange(weight.made, true)) {
    const Floats& latent = *parameters(op).weight;
    reshape(weight.signs, latent.nrows(), latent.ncols(), device_);
    binarize_into(weight.signs, latent);
  }
  return weight.signs;
}

std::size_t TrainingRun::targets(const Operator& op) const {
  const bool aggregates = op.layer < batch_->graphs.size() && batch_->graphs[op.layer] != nullptr;
  return aggregates ? graph(op).pattern.nrows() : rows(op.inputs[0]);
}

float TrainingRun::dropout_rate(const Operator& op) const {
  return from_features_[op.output()] ? input_.dropout : dropout_.rate;
}

}  // namespace bitgraph::nn
