// SPDX-License-Identifier: Apache-2.0
// The trainer: any architecture and depth, on any device, over the whole graph or over samples of it.
#include <bitgraph/nn/infer.hpp>
#include <bitgraph/ops/batch_norm.hpp>
#include <bitgraph/ops/dense.hpp>
#include <bitgraph/ops/dropout.hpp>
#include <bitgraph/ops/gemm.hpp>
#include <bitgraph/ops/gradient.hpp>
#include <bitgraph/ops/optimizer.hpp>
#include <bitgraph/ops/quantize.hpp>

#include "core/recording.hpp"
#include "nn/inference/forward.hpp"
#include "nn/inference/operator_times.hpp"
#include "nn/model/architectures.hpp"
#include "nn/model/normalization.hpp"
#include "nn/model/reshape.hpp"
#include "nn/sampling/training_source.hpp"
#include "nn/training/recipe.hpp"
#include "nn/training/run/training_run.hpp"
#include "nn/training/trainer.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

namespace bitgraph::nn {

namespace {

using Floats = DenseMatrix<float>;

/// Streams of random numbers: weights from 1 on, two a layer. Dropout and the order of batches have their own.
constexpr std::uint32_t weight_streams = 1;

/// The parameters of one linear map, by their places in the list; -1: not there.
struct LinearPlaces {
  int weight = -1;
  int bias = -1;
  int steps = -1;  ///< of levels; offsets follow
};

class NetworkTrainer final : public Trainer {
 public:
  NetworkTrainer(const Dataset& dataset, const TrainOptions& options, const Device& device, Floats teacher,
                 std::optional<std::size_t> drawing_threads)
      : dataset_(dataset),
        options_(options),
        device_(device),
        step_(device),
        recipe_(choose_recipe(options, measure_facts(dataset))),
        shapes_(layer_shapes(options.architecture, dataset.num_features(), options.hidden,
                             static_cast<std::size_t>(dataset.num_classes), options.depth, options.jumping_knowledge)) {
    // A float model that goes on from another has batch norms in its weights.
    for (LayerShape& shape : shapes_) shape.norm = shape.norm && !(real() && options.start != nullptr);
    metadata_.architecture = options.architecture;
    metadata_.precision = options.precision;
    metadata_.jumping_knowledge = options.jumping_knowledge;
    metadata_.dataset = dataset.name;
    metadata_.seed = options.seed;
    make_parameters();
    options_.teacher = nullptr;  // it need not stay
    options_.start = nullptr;
    if (recipe_.average)
      for (Parameter& parameter : parameters_) parameter.keep_average();
    for (Parameter& parameter : parameters_) optimized_.push_back(parameter.optimized());
    const std::vector<NodeId> nodes = seen_nodes();
    if (traits_of(options.architecture).sampled()) see_only(nodes, teacher);
    if (options.partition != nullptr) {
      partition_ = part_of(*options.partition, nodes);
      options_.partition = &*partition_;
    }
    if (real()) {
      metadata_.normalize_rows = recipe_.normalize_rows;
      if (options.start != nullptr) continue_from(*options.start);
    } else {
      FeatureMap map = sign_map(seen(), recipe_);
      metadata_.input_mean = std::move(map.shift);
      metadata_.input_inverse_deviation = std::move(map.scale);
    }
    source_ = make_training_source(seen(), options_, metadata_, recipe_.feature_scale, std::move(teacher), device,
                                   drawing_threads);
    if (has_levels()) {
      judged_ = make_whole_graph_source(dataset, dataset.validation, options, metadata_, recipe_.feature_scale,
                                        sum_factor(seen().graph), device);
    }
    validation_labels_ = Buffer<std::int32_t>::copy_of(dataset.labels, device);
    validation_nodes_ = Buffer<NodeId>::copy_of(dataset.validation, device);
  }

  void train_epoch(std::size_t epoch, float learning_rate) override {
    // The bin form starts from weights that the full form has brought near: votes from the first epoch on now and then
    // lose a class for good.
    const bool votes = options_.precision.votes() && 2 * epoch > *options_.epochs;
    TrainingRun& run = votes ? *voting_run_ : *run_;
    const std::size_t batches = source_->batches();
    losses_.resize(batches);
    num_steps_ = 0;
    for (std::size_t n = 0; n < batches; ++n) {
      device_.throw_if_stopped();
      step_.set((epoch - 1) * batches + n + 1, learning_rate);
      const TrainingBatch& batch = source_->batch(epoch, n);
      if (!has_loss(batch)) continue;
      PendingScore& loss = losses_[num_steps_++];
      if (num_steps_ == 1 && fits_scales_in(epoch)) {
        run.fit_scales();
        take_step(run, batch, loss);
        continue;
      }
      repeat(votes ? voting_step_ : plain_step_, [&] { take_step(run, batch, loss); });
    }
  }

  [[nodiscard]] double train_loss() const override {
    double loss = 0;
    for (const PendingScore& batch : std::span(losses_).first(num_steps_))
      loss += batch.get().loss / static_cast<double>(num_steps_);
    return loss;
  }

  void judge() override {
    if (has_levels()) return judge_levels();
    if (!forward_) make_forward();
    repeat(judging_, [this] {
      take_layers();
      forward_->set_weights(layers_);
      score_into(validation_, forward_->run(), std::as_const(validation_labels_).span(),
                 std::as_const(validation_nodes_).span());
    });
  }

  [[nodiscard]] Score validation() const override { return validation_.get(); }

  [[nodiscard]] std::vector<ExplainedOperator> explain(std::size_t repeats) override {
    TrainingRun& run = voting_run_ ? *voting_run_ : *run_;
    const Program& program = run.program();
    const std::size_t count = program.operators.size();
    OperatorTimes times(2 * count, device_);  // gradients behind the operators
    run.watch([&](std::size_t n, bool gradient, const auto& work) { times.run(gradient ? count + n : n, work); });
    step_.set(1, *options_.learning_rate);
    const TrainingBatch& batch = source_->batch(1, 0);
    PendingScore loss;
    for (std::size_t repeat = 0; repeat <= repeats; ++repeat) take_step(run, batch, loss);
    run.watch(nullptr);
    const CsrPattern& pattern = batch.graphs.front()->pattern;
    return times.explain(program, {.nodes = pattern.nrows(), .entries = pattern.nvals()});
  }

  [[nodiscard]] Model model() const override {
    Model model;
    model.architecture = metadata_.architecture;
    model.precision = metadata_.precision;
    model.jumping_knowledge = metadata_.jumping_knowledge;
    model.dataset = metadata_.dataset;
    model.seed = metadata_.seed;
    model.normalize_rows = metadata_.normalize_rows;
    model.input_mean = metadata_.input_mean.clone();
    model.input_inverse_deviation = metadata_.input_inverse_deviation.clone();
    for (std::size_t l = 0; l < shapes_.size(); ++l) {
      if (has_levels()) {
        model.layers.push_back(level_layer(l));
        continue;
      }
      Layer layer;
      take_layer(layer, l);
      model.layers.push_back(
          {layer.aggregation, layer.precision, layer.neighbor.to(Device{}), layer.root.to(Device{})});
    }
    return model;
  }

 private:
  [[nodiscard]] bool real() const noexcept { return !options_.precision.multiplies_signs(); }
  [[nodiscard]] bool has_levels() const noexcept { return options_.precision.has_levels(); }
  [[nodiscard]] bool is_last(std::size_t l) const noexcept { return l + 1 == shapes_.size(); }

  /// The forms of the layers: until votes are in the loop, those of a bin model are full.
  [[nodiscard]] std::vector<Precision> forms(bool votes) const {
    const Precision form = options_.precision.votes() && !votes ? Precision::full : options_.precision;
    std::vector<Precision> all(shapes_.size(), form);
    all.back() = form.of_last_layer();
    return all;
  }

  /// Does it; on a device, where it is the same every time, from a recording.
  template <class Work>
  void repeat(Recording& recording, const Work& work) {
    if (device_.is_host() || !source_->same_batch()) return work();
    recording.repeat(device_, work);
  }

  /// Parts of a graph may have no node that counts: without a teacher's word a step would go by its momentum alone.
  [[nodiscard]] static bool has_loss(const TrainingBatch& batch) noexcept {
    return batch.counted.size() != 0 || batch.taught.nrows() != 0;
  }

  void take_step(TrainingRun& run, const TrainingBatch& batch, PendingScore& loss) {
    const StepValues* const there = step_.there();
    const RandomKey key{options_.seed, 0, step_.values().number, &there->number};
    run.forward(batch, features_of(batch, key), {*options_.dropout, key});
    start_backward(run, batch, loss);
    run.backward();
    optimize(optimized_, options_.optimizer, step_);
  }

  /// Often while the weights find their places, then now and then.
  [[nodiscard]] bool fits_scales_in(std::size_t epoch) const noexcept {
    constexpr std::size_t first_epochs = 5, epochs_between = 10;
    return has_levels() && (epoch <= first_epochs || epoch % epochs_between == 1);
  }

  /// Levels in floats, as training has them: the same whole numbers as inference.
  void judge_levels() {
    repeat(judging_, [this] {
      const TrainingBatch& batch = judged_->batch(1, 0);
      TrainingInput input = features_of(batch, {});
      input.dropout = 0;
      run_->forward(batch, input, {});
      score_into(validation_, run_->logits(), batch.labels.span(), batch.counted.span());
    });
  }

  /// Of the place of the steps, on the host; offsets that are all 0 are none.
  [[nodiscard]] LevelScale scale_of(int steps, ScaleExtent extent, float factor, bool keeps_offsets) const {
    const auto row = [&](int place) {
      const Floats here = outcome(place).to(Device());
      Buffer<float> values(here.ncols());
      for (std::size_t f = 0; f < values.size(); ++f) values[f] = here(0, f) * factor;
      return values;
    };
    LevelScale scale{extent, row(steps), row(steps + 1)};
    if (!keeps_offsets && std::all_of(scale.offsets.begin(), scale.offsets.end(), [](float o) { return o == 0; }))
      scale.offsets = Buffer<float>();
    return scale;
  }

  /// The weights' levels in training; `factor` is what the model multiplies the weights by.
  [[nodiscard]] Linear level_linear(const LinearPlaces& at, const NumberFormat& format, float factor) const {
    if (at.weight < 0) return {};
    const Floats weight = outcome(at.weight).to(Device());
    Linear linear;
    linear.bias = Buffer<float>(weight.nrows(), 0.0F);
    if (at.bias >= 0) linear.bias = Buffer<float>::copy_of(outcome(at.bias).to(Device()).values());
    if (format.kind == NumberKind::levels) {
      QuantizedMatrix levels(weight.nrows(), weight.ncols(), format.bits);
      levels.set_scale(scale_of(at.steps, format.scale, 1, true));
      quantize_into(levels, weight);
      levels.set_scale(scale_of(at.steps, format.scale, factor, true));
      linear.weight = std::move(levels);
    } else {
      Floats scaled = weight.clone();
      for (float& w : scaled.values()) w *= factor;
      linear.weight = std::move(scaled);
    }
    return linear;
  }

  [[nodiscard]] Layer level_layer(std::size_t l) const {
    Layer layer{.aggregation = shapes_[l].aggregation, .precision = forms(true)[l]};
    const float of_sum = is_sum(shapes_[l].aggregation) ? sum_factor(seen().graph) : 1.0F;
    const float of_features = l == 0 ? recipe_.feature_scale : 1.0F;
    layer.neighbor = level_linear(neighbor_[l], layer.precision.weight, of_sum * of_features);
    layer.root = level_linear(root_[l], layer.precision.weight, 1);
    if (inputs_[l] >= 0) layer.input_scale = scale_of(inputs_[l], ScaleExtent::tensor, 1, false);
    if (messages_[l] >= 0) layer.message_scale = scale_of(messages_[l], ScaleExtent::column, of_sum, false);
    return layer;
  }

  void make_forward() {
    const Model present = model();
    const FeatureStorage storage = device_.is_host() ? FeatureStorage::sparse : FeatureStorage::dense;
    operands_.emplace(dataset_.graph, device_);
    features_.emplace(present, dataset_, options_.precision, storage, device_);
    forward_.emplace(present, InferenceOptions{.forms = present.layer_forms(options_.precision)}, *operands_,
                     *features_, device_);
  }

  LinearPlaces add_linear(const std::string& name, const LayerShape& shape, float decay, bool bias) {
    const auto first = static_cast<int>(parameters_.size());
    parameters_.emplace_back(name + ".weight", shape.outputs, shape.inputs, decay, device_);
    parameters_.back().glorot(options_.seed, weight_streams + static_cast<std::uint32_t>(first));
    if (!bias) return {first, -1};
    parameters_.emplace_back(name + ".bias", 1, shape.outputs, decay, device_);
    return {first, first + 1};
  }

  /// Steps of levels, which offsets follow. No gradient changes these.
  int add_scale(const std::string& name, std::size_t count) {
    const auto first = static_cast<int>(parameters_.size());
    for (const char* part : {".step", ".offset"}) parameters_.emplace_back(name + part, 1, count, 0.0F, device_);
    parameters_[static_cast<std::size_t>(first)].value = {1, count, Buffer<float>(count, 1.0F, device_)};
    return first;
  }

  void add_scales(const std::string& name, std::size_t l) {
    const LayerShape& shape = shapes_[l];
    const Precision form = forms(true)[l];
    if (form.multiplies_levels()) {
      neighbor_[l].steps = add_scale(name + ".neighbor.weight", shape.outputs);
      if (shape.root) root_[l].steps = add_scale(name + ".root.weight", shape.outputs);
    }
    inputs_.push_back(form.multiplies_levels() && l > 0 ? add_scale(name + ".input", 1) : -1);
    const bool sums = form.sums_levels() && shape.aggregation != Aggregation::none;
    messages_.push_back(sums ? add_scale(name + ".message", shape.outputs) : -1);
  }

  /// The place of its scale, which mean and variance follow. No gradient changes these: a step leaves there what it
  /// saw, and the average is what a model is given.
  int add_norm(const std::string& name, const LayerShape& shape) {
    if (!shape.norm) return -1;
    const auto first = static_cast<int>(parameters_.size());
    for (const std::string part : {".scale", ".mean", ".variance"}) {
      const float decay = real() || part != ".scale" ? 0.0F : *options_.weight_decay;
      Parameter& row = parameters_.emplace_back(name + part, 1, shape.outputs, decay, device_);
      if (part != ".mean") row.value = {1, shape.outputs, Buffer<float>(shape.outputs, 1.0F, device_)};
      if (part != ".scale") row.keep_average();
    }
    return first;
  }

  void make_parameters() {
    for (std::size_t l = 0; l < shapes_.size(); ++l) {
      // Kipf and Welling let the weights of the first layer alone decay; Bi-GCN all.
      const float decay = real() && l != 0 ? 0.0F : *options_.weight_decay;
      const std::string name = "layer" + std::to_string(l);
      neighbor_.push_back(add_linear(name + ".neighbor", shapes_[l], decay, true));
      // A real layer adds up both biases: one is enough.
      root_.push_back(shapes_[l].root ? add_linear(name + ".root", shapes_[l], decay, !real()) : LinearPlaces{});
      norm_.push_back(add_norm(name + ".norm", shapes_[l]));
      add_scales(name, l);
    }
    if (recipe_.even_scales) even_out_scales();
    if (!real() && options_.start != nullptr) {
      start_from(*options_.start);
    } else if (recipe_.teacher_weights && options_.teacher != nullptr && has_shapes(*options_.teacher)) {
      start_from(*options_.teacher);
    }
    run_.emplace(training_program(shapes_, metadata_.concatenates(), forms(false)), places(), device_);
    if (options_.precision.votes())
      voting_run_.emplace(training_program(shapes_, metadata_.concatenates(), forms(true)), places(), device_);
  }

  /// One unit of each hidden layer is always on and as large as the layer is wide, so that the mean magnitude of a row,
  /// by which its signs are multiplied in the next layer, is a little above 1 for every node. Without it a node counts
  /// the more the less its neighbours agree, or, of sums, the more of them there are. No gradient reaches such a unit.
  void even_out_scales() {
    constexpr std::size_t least_width = 16;
    if (options_.hidden < least_width) return;
    for (std::size_t l = 0; !is_last(l); ++l) {
      Floats& bias = parameter(shapes_[l].root ? root_[l].bias : neighbor_[l].bias).value;
      Floats values = bias.to(Device{});
      values(0, 0) = static_cast<float>(shapes_[l].outputs);
      bias = values.to(device_);
    }
  }

  [[nodiscard]] bool has_shapes(const Model& model) const {
    if (model.architecture != options_.architecture || model.layers.size() != shapes_.size()) return false;
    for (std::size_t l = 0; l < shapes_.size(); ++l) {
      if (model.layers[l].inputs() != shapes_[l].inputs || model.layers[l].outputs() != shapes_[l].outputs)
        return false;
    }
    return true;
  }

  /// Latent weights start where a float model of the same shape ended.
  void start_from(const Model& model) {
    for (std::size_t l = 0; l < shapes_.size(); ++l) {
      parameter(neighbor_[l].weight).start_from(model.layers[l].neighbor.floats());
      if (shapes_[l].root) parameter(root_[l].weight).start_from(model.layers[l].root.floats());
    }
  }

  /// A float model goes on from another: linear() and fold_sum_factor() the other way round.
  void continue_from(const Model& model) {
    metadata_.normalize_rows = model.normalize_rows;
    for (std::size_t l = 0; l < shapes_.size(); ++l) {
      const Layer& layer = model.layers[l];
      Floats weight = layer.neighbor.floats().clone();
      if (is_sum(shapes_[l].aggregation)) {
        const float factor = sum_factor(seen().graph);
        for (float& w : weight.values()) w /= factor;
      }
      if (l == 0) {
        for (float& w : weight.values()) w /= recipe_.feature_scale;
      }
      Floats bias(1, layer.outputs(), layer.neighbor.bias.clone());
      if (shapes_[l].root) {
        for (std::size_t f = 0; f < layer.outputs(); ++f) bias(0, f) += layer.root.bias[f];
        parameter(root_[l].weight).value = layer.root.floats().to(device_);
      }
      parameter(neighbor_[l].weight).value = weight.to(device_);
      parameter(neighbor_[l].bias).value = bias.to(device_);
    }
  }

  [[nodiscard]] Parameter& parameter(int place) { return parameters_[static_cast<std::size_t>(place)]; }

  std::vector<LayerParameters> places() {
    std::vector<LayerParameters> all;
    for (std::size_t l = 0; l < shapes_.size(); ++l)
      all.push_back({places(neighbor_[l]), places(root_[l]), places(norm_[l]), scales(neighbor_[l].steps),
                     scales(root_[l].steps), scales(inputs_[l]), scales(messages_[l])});
    return all;
  }

  ScaleParameters scales(int steps) {
    if (steps < 0) return {};
    return {&parameter(steps).value, &parameter(steps + 1).value};
  }

  NormParameters places(int scale) {
    if (scale < 0) return {};
    return {&parameter(scale).value, &parameter(scale).gradient, &parameter(scale + 1).value,
            &parameter(scale + 2).value};
  }

  LinearParameters places(const LinearPlaces& at) {
    LinearParameters linear;
    if (at.weight >= 0) {
      Parameter& weight = parameter(at.weight);
      linear.weight = &weight.value;
      linear.weight_gradient = &weight.gradient;
    }
    if (at.bias >= 0) {
      Parameter& bias = parameter(at.bias);
      linear.bias = &bias.value;
      linear.bias_gradient = &bias.gradient;
    }
    return linear;
  }

  /// The layers of the model, where it is trained. Their memory stays.
  void take_layers() {
    layers_.resize(shapes_.size());
    for (std::size_t l = 0; l < shapes_.size(); ++l) take_layer(layers_[l], l);
  }

  void take_layer(Layer& layer, std::size_t l) const {
    layer.aggregation = shapes_[l].aggregation;
    layer.precision = forms(true)[l];
    if (shapes_[l].norm) {
      fold_norm(layer.neighbor, l);
    } else {
      take_linear(layer.neighbor, outcome(neighbor_[l].weight), neighbor_[l].bias);
    }
    if (shapes_[l].root) take_linear(layer.root, outcome(root_[l].weight), root_[l].bias);
    if (l == 0 && center() != nullptr) {
      take_center_off(layer.neighbor);
      if (shapes_[l].root) take_center_off(layer.root);
    }
    if (l == 0 && real()) scale(layer.neighbor.floats(), recipe_.feature_scale);
    if (is_sum(shapes_[l].aggregation)) fold_sum_factor(layer);
  }

  [[nodiscard]] const Floats& outcome(int place) const {
    return parameters_[static_cast<std::size_t>(place)].outcome();
  }

  /// A batch norm multiplies each output by a factor, which the weights take over, and adds a shift, which is the bias.
  void fold_norm(Linear& linear, std::size_t l) const {
    const Floats& scale = outcome(norm_[l]);
    const std::span<const float> mean = outcome(norm_[l] + 1).values(), variance = outcome(norm_[l] + 2).values();
    folded_.resize(shapes_.size());
    Folded& folded = folded_[l];
    reshape(folded.zeros, 1, scale.ncols(), device_);
    reshape(folded.factor, 1, scale.ncols(), device_);
    batch_norm_into(folded.factor, scale, {std::as_const(folded.zeros).values(), variance, {}, {}});
    assign(folded.weight, outcome(neighbor_[l].weight), device_);
    scale_rows(folded.weight, std::as_const(folded.factor).values());
    take_linear(linear, folded.weight, -1);
    Floats& shift = folded.factor;  // no longer wanted
    batch_norm_into(shift, folded.zeros, {mean, variance, scale.values(), outcome(neighbor_[l].bias).values()});
    Device::copy(linear.bias.data(), device_, shift.values().data(), device_, shift.bytes());
  }

  void take_linear(Linear& linear, const Floats& weight, int bias_place) const {
    if (real()) {
      assign(linear.floats(), weight, device_);
    } else {
      if (!linear.binary()) linear.weight.emplace<Binarized>();
      reshape(linear.signs(), weight.nrows(), weight.ncols(), device_);
      binarize_into(linear.signs(), weight);
    }
    reshape(linear.bias, weight.nrows(), device_);
    if (bias_place < 0) return linear.bias.fill(0);
    const Floats& bias = outcome(bias_place);
    Device::copy(linear.bias.data(), device_, bias.values().data(), device_, bias.bytes());
  }

  [[nodiscard]] const Floats* center() const noexcept {
    return source_->center().nrows() == 0 ? nullptr : &source_->center();
  }

  /// Training takes the mean row off the first layer's input: the model has it in its bias.
  void take_center_off(Linear& linear) const {
    const std::size_t outputs = linear.outputs();
    subtract_center({{1, outputs, outputs, linear.bias.data()}, device_}, linear.signs(), *center(), signs_);
  }

  static void scale(Floats& values, float factor) { accumulate(values, std::as_const(values), factor, 0); }
  void scale(Buffer<float>& values, float factor) const {
    const DenseView<float> view{1, values.size(), values.size(), values.data()};
    accumulate({view, device_}, {{1, values.size(), values.size(), values.data()}, device_}, factor, 0);
  }

  /// Training divides sums over neighbours: the model does so by its weights. A vote does not change by it.
  void fold_sum_factor(Layer& layer) const {
    const float factor = sum_factor(seen().graph);
    if (real()) return scale(layer.neighbor.floats(), factor);
    scale(layer.neighbor.signs().alpha, factor);
    scale(layer.neighbor.bias, factor);
  }

  /// What training may see: all of a graph that is known whole; of others the training nodes and the edges between
  /// them.
  [[nodiscard]] const Dataset& seen() const noexcept { return part_ ? *part_ : dataset_; }

  [[nodiscard]] std::vector<NodeId> seen_nodes() const {
    std::vector<NodeId> nodes = dataset_.train;
    if (!traits_of(options_.architecture).sampled()) {
      nodes.resize(dataset_.graph.nrows());
      std::iota(nodes.begin(), nodes.end(), NodeId{0});
    }
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    return nodes;
  }

  void see_only(const std::vector<NodeId>& nodes, Floats& teacher) {
    part_ = part_of(dataset_, nodes);
    if (teacher.nrows() == 0) return;
    Floats taught(nodes.size(), teacher.ncols());
    gather_rows_into(taught, teacher, nodes);
    teacher = std::move(taught);
  }

  /// Whether binary inputs are dropped as a sparse matrix's are: of what a node has something is forgotten.
  [[nodiscard]] bool forgets_features() const noexcept { return recipe_.presence && *options_.dropout > 0; }

  /// The first layer's input of a step.
  TrainingInput features_of(const TrainingBatch& batch, const RandomKey& step) {
    const float rate = *options_.dropout;
    if (batch.sparse) return {.sparse = batch.sparse.get(), .dropout = rate};
    if (batch.rows.exist()) return {.rows = &batch.rows, .dropout = rate};
    if (batch.sparse_signs) return {.sparse_signs = batch.sparse_signs.get(), .center = center(), .dropout = rate};
    if (real()) return {.values = &batch.features, .dropout = rate};
    if (!forgets_features()) return {.signs = &batch.signs, .center = center(), .dropout = rate};
    // With factor k = 1 / (1 - rate), what is kept counts k times: b becomes k b, and the signs 2 b - 1 become k times
    // what is left of them plus k - 1.
    const float factor = 1 / (1 - rate);
    const BitMatrix<PlusMinusOne>& bits = batch.signs.bits;
    reshape(keep_, bits.nrows(), bits.ncols(), device_);
    dropout_mask_into(keep_, rate, dropout_key(step, 0));
    reshape(remembered_, bits.nrows(), bits.ncols(), device_);
    Device::copy(remembered_.bits.words().data(), device_, bits.words().data(), device_, bits.bytes());
    drop_set_bits(remembered_.bits, keep_);
    const DenseView<const float> alpha{bits.nrows(), 1, 1, batch.signs.alpha.data()};
    accumulate({{bits.nrows(), 1, 1, remembered_.alpha.data()}, device_}, {alpha, device_}, factor, 0);
    if (remembered_center_.nrows() == 0) {
      Floats shifted = source_->center().to(Device{});
      for (float& value : shifted.values()) value += 1 - factor;
      remembered_center_ = shifted.to(device_);
    }
    return {.signs = &remembered_, .center = &remembered_center_};
  }

  /// The gradient of the loss: cross entropy of the counted rows; with a teacher, plus the divergence from its
  /// predictions on all rows.
  void start_backward(TrainingRun& run, const TrainingBatch& batch, PendingScore& loss) {
    const Floats& logits = run.logits();
    Floats& gradient = run.result_gradient();
    cross_entropy_backward_into(gradient, loss, logits, batch.labels.span(), batch.counted.span());
    if (!batch.loss_weight.empty()) scale_rows(gradient, batch.loss_weight.span());
    if (batch.taught.nrows() == 0) return;
    reshape(log_p_, logits.nrows(), logits.ncols(), device_);
    log_softmax_into(log_p_, logits);
    add_divergence_gradient(gradient, log_p_, batch.taught,
                            recipe_.divergence_weight / static_cast<float>(logits.nrows()));
  }

  const Dataset& dataset_;
  TrainOptions options_;
  Device device_;
  TrainingStep step_;
  Recipe recipe_;
  std::vector<LayerShape> shapes_;
  std::vector<LinearPlaces> neighbor_, root_;
  std::vector<int> inputs_, messages_;  ///< the places of steps of levels; -1: there are none
  std::vector<int> norm_;               ///< the place of a batch norm's scale; -1: there is none
  std::vector<OptimizedParameter> optimized_;
  std::optional<TrainingRun> run_, voting_run_;
  Recording plain_step_, voting_step_, judging_;
  std::optional<Dataset> part_;
  std::optional<Partition> partition_;  ///< of what is seen, without empty parts
  Model metadata_;                      ///< all of a model but its layers
  std::unique_ptr<TrainingSource> source_;
  std::unique_ptr<TrainingSource> judged_;  ///< the validation nodes, of levels
  BitMatrix<ZeroOne> keep_;                 ///< those that are not dropped in this step
  Binarized remembered_;                    ///< the batch's signs, less what was dropped
  Floats remembered_center_;                ///< the center that goes with them
  Floats log_p_;
  std::vector<PendingScore> losses_;  ///< of the steps of an epoch
  std::size_t num_steps_ = 0;         ///< that it took
  mutable Floats signs_;              ///< scratch of take_center_off()
  std::vector<Layer> layers_;         ///< of the model that is judged
  struct Folded {
    Floats weight, factor, zeros;
  };
  mutable std::vector<Folded> folded_;  ///< scratch of fold_norm(), by layer
  PendingScore validation_;
  Buffer<std::int32_t> validation_labels_;
  Buffer<NodeId> validation_nodes_;
  std::optional<GraphOperands> operands_;
  std::optional<InputFeatures> features_;
  std::optional<Forward> forward_;
};

}  // namespace

std::unique_ptr<Trainer> make_trainer(const Dataset& dataset, const TrainOptions& options, const Device& device,
                                      Floats teacher, std::optional<std::size_t> drawing_threads) {
  return std::make_unique<NetworkTrainer>(dataset, options, device, std::move(teacher), drawing_threads);
}

}  // namespace bitgraph::nn
