// SPDX-License-Identifier: Apache-2.0
// The trainer: any architecture and depth, on any device, over the whole graph or over samples of it.
#include <bitgraph/formats/block_diagonal.hpp>
#include <bitgraph/nn/infer.hpp>
#include <bitgraph/ops/dense.hpp>
#include <bitgraph/ops/dropout.hpp>
#include <bitgraph/ops/gemm.hpp>
#include <bitgraph/ops/gradient.hpp>
#include <bitgraph/ops/optimizer.hpp>

#include "core/devices/recording.hpp"
#include "nn/inference/forward.hpp"
#include "nn/inference/operator_times.hpp"
#include "nn/inference/predict.hpp"
#include "nn/model/architectures.hpp"
#include "nn/model/feature_rules.hpp"
#include "nn/model/normalization.hpp"
#include "nn/model/reshape.hpp"
#include "nn/sampling/parts/seen_part.hpp"
#include "nn/sampling/training_source.hpp"
#include "nn/training/network_layers.hpp"
#include "nn/training/recipe/feature_maps.hpp"
#include "nn/training/recipe/recipe.hpp"
#include "nn/training/run/training_run.hpp"
#include "nn/training/trainer.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

namespace bitgraph::nn {

namespace {

using Floats = DenseMatrix<float>;

class NetworkTrainer final : public Trainer {
 public:
  NetworkTrainer(const Dataset& dataset, const TrainOptions& options, const Device& device, Floats teacher,
                 std::optional<std::size_t> drawing_threads)
      : dataset_(dataset),
        options_(options),
        device_(device),
        step_(device),
        recipe_(choose_recipe(options, measure_facts(dataset))),
        layers_(parameters_, shapes_to_train(dataset, options), options, recipe_, device) {
    metadata_.architecture = options.architecture;
    metadata_.precision = options.precision;
    metadata_.jumping_knowledge = options.jumping_knowledge;
    metadata_.layer_builder = options.layer_builder;
    metadata_.dataset = dataset.name;
    metadata_.seed = options.seed;
    metadata_.readout = dataset.num_graphs() != 0;
    const auto program = [&](bool votes) {
      return training_program(layers_.shapes(), metadata_.concatenates(), layers_.forms(votes), metadata_.readout);
    };
    run_.emplace(program(false), layers_.places(), device_);
    if (options.precision.votes()) voting_run_.emplace(program(true), layers_.places(), device_);
    options_.teacher = nullptr;  // it need not stay
    options_.start = nullptr;
    if (recipe_.average)
      for (Parameter& parameter : parameters_) parameter.keep_average();
    for (Parameter& parameter : parameters_) optimized_.push_back(parameter.optimized());
    see(teacher);
    if (real()) {
      metadata_.normalize_rows = recipe_.normalize_rows;
      if (options.start != nullptr) {
        copy_feature_rules(metadata_, *options.start);
        layers_.continue_from(*options.start, factors());
      } else if (recipe_.standardize) {
        set_feature_map(recipe_.medians ? typical_map(seen()) : standard_map(seen()));
        if (recipe_.medians) metadata_.input_limit = typical_limit;
      }
    } else {
      set_feature_map(sign_map(seen(), recipe_));
    }
    source_ = make_training_source(seen(), options_, metadata_, recipe_.feature_scale, std::move(teacher), device,
                                   drawing_threads);
    if (has_levels()) {
      judged_ = make_whole_graph_source(dataset, dataset.validation, options, metadata_, recipe_.feature_scale,
                                        SumFactors::of(seen()), device);
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
        run.fit_scales(epoch == 1);
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
      layers_.take_layers(judged_layers_, factors());
      forward_->set_weights(judged_layers_);
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

  [[nodiscard]] std::string drawing() const override { return to_dot((voting_run_ ? *voting_run_ : *run_).program()); }

  [[nodiscard]] Model model() const override {
    Model model;
    model.architecture = metadata_.architecture;
    model.precision = metadata_.precision;
    model.jumping_knowledge = metadata_.jumping_knowledge;
    model.layer_builder = metadata_.layer_builder;
    model.readout = metadata_.readout;
    model.dataset = metadata_.dataset;
    model.seed = metadata_.seed;
    copy_feature_rules(model, metadata_);
    model.layers = layers_.model_layers(factors());
    return model;
  }

 private:
  void set_feature_map(FeatureMap map) {
    metadata_.input_mean = std::move(map.shift);
    metadata_.input_inverse_deviation = std::move(map.scale);
  }
  [[nodiscard]] bool real() const noexcept { return !options_.precision.multiplies_signs(); }
  [[nodiscard]] bool has_levels() const noexcept { return options_.precision.has_levels(); }

  /// A float model that goes on from another has batch norms in its weights.
  static std::vector<LayerShape> shapes_to_train(const Dataset& dataset, const TrainOptions& options) {
    std::vector<LayerShape> shapes = trained_shapes(dataset, options);
    const bool goes_on = !options.precision.multiplies_signs() && options.start != nullptr;
    for (LayerShape& shape : shapes) shape.norm = shape.norm && !goes_on;
    return shapes;
  }

  [[nodiscard]] FoldedFactors factors() const {
    const SumFactors sums = SumFactors::of(seen());
    return {.sum = sums.neighbors, .readout = sums.readout, .features = recipe_.feature_scale, .center = center()};
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

  void make_forward() {
    const Model present = model();
    const FeatureStorage storage = device_.is_host() ? FeatureStorage::sparse : FeatureStorage::dense;
    operands_.emplace(dataset_.graph, device_, PlanCapacity{},
                      metadata_.readout ? readout_matrix(dataset_.first_node) : CsrPattern());
    features_.emplace(present, dataset_, options_.precision, storage, device_);
    forward_.emplace(present, InferenceOptions{.forms = checked_forms(present, {})}, *operands_, *features_, device_);
  }

  [[nodiscard]] const Floats* center() const noexcept {
    if (!source_) return nullptr;
    return source_->center().nrows() == 0 ? nullptr : &source_->center();
  }

  /// What training may see: all of a graph that is known whole, or of which samples are taken; else the training nodes
  /// and the edges between them; of many graphs those for training.
  [[nodiscard]] const Dataset& seen() const noexcept { return part_ ? *part_ : dataset_; }

  /// Decides it, once.
  void see(Floats& teacher) {
    std::vector<NodeId> nodes = dataset_.train;
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    const bool sampled = traits_of(options_.architecture).sampled();
    const bool all = !sampled || options_.sample_from == SampleFrom::all;
    if (metadata_.readout) see_only(graphs_of(dataset_, dataset_.train), dataset_.train, teacher);
    if (!all) see_only(part_of(dataset_, nodes), nodes, teacher);
    if (all && sampled) part_ = with_labels_of(dataset_, nodes);
    if (options_.partition == nullptr) return;
    if (all) {
      nodes.resize(dataset_.graph.nrows());
      std::iota(nodes.begin(), nodes.end(), NodeId{0});
    }
    partition_ = part_of(*options_.partition, nodes);
    options_.partition = &*partition_;
  }

  /// A part of the data set that has these samples.
  void see_only(Dataset part, const std::vector<NodeId>& samples, Floats& teacher) {
    part_ = std::move(part);
    if (teacher.nrows() == 0) return;
    Floats taught(samples.size(), teacher.ncols());
    gather_rows_into(taught, teacher, samples);
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
  NetworkLayers layers_;
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
  std::vector<Layer> judged_layers_;  ///< of the model that is judged
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
