// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/device.hpp>
#include <bitgraph/formats/partition.hpp>
#include <bitgraph/io/dataset.hpp>
#include <bitgraph/nn/infer.hpp>
#include <bitgraph/nn/model.hpp>
#include <bitgraph/ops/optimizer.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bitgraph::nn {

/// How the learning rate goes from epoch to epoch: it stays, or falls to nearly 0 in a line or half a cosine.
enum class Schedule : std::uint8_t { constant, linear, cosine };
[[nodiscard]] std::string_view to_string(Schedule schedule) noexcept;
/// Throws usage for any other name.
[[nodiscard]] Schedule schedule_from_string(std::string_view name);
/// The rate of an epoch, which count from 1.
[[nodiscard]] float scheduled_rate(Schedule schedule, float learning_rate, std::size_t epoch, std::size_t epochs);

/// What the samples of inductive_gcn, sage, inductive_gin and saint are taken from. Labels are those of training nodes
/// alone in any case.
enum class SampleFrom : std::uint8_t {
  automatic,  ///< preset() chooses
  training,   ///< the training nodes and the edges between them: the model has seen no other node ("inductive")
  all         ///< the whole graph: neighbours of a training node may be any nodes ("transductive")
};
/// "auto", "training", "all".
[[nodiscard]] std::string_view to_string(SampleFrom from) noexcept;
/// Throws usage for any other name.
[[nodiscard]] SampleFrom sample_from_string(std::string_view name);

/// Hyper-parameters. Those left empty take the recipe of the precision and architecture: preset().
struct TrainOptions {
  Precision precision = Precision::full;
  Architecture architecture = Architecture::gcn;
  std::size_t hidden = 64;
  std::size_t depth = 2;           ///< layers that aggregate
  bool jumping_knowledge = false;  ///< of the model; saint has it in any case
  /// A layer of your own, in place of each that aggregates but the first: Model::layer_builder. It aggregates once, as
  /// the architecture does. Of a data set of many graphs: usage. Null: those of the architecture.
  LayerBuilder layer_builder = nullptr;
  SampleFrom sample_from = SampleFrom::automatic;  ///< of sampled architectures; of others it stays automatic
  std::optional<std::size_t> epochs;
  std::optional<std::size_t> patience;  ///< epochs without a better one after which training ends; 0: it does not
  std::optional<float> learning_rate;
  OptimizerKind optimizer = OptimizerKind::adam;
  Schedule schedule = Schedule::constant;
  std::optional<float> weight_decay;
  std::optional<float> dropout;
  /// Full and bin: signs of each feature, 1 to most_thresholds; more than one: by its quantiles (Model::thresholds).
  /// Empty: the recipe chooses by the features.
  std::optional<std::size_t> thresholds;
  std::optional<std::size_t> batch_size;   ///< inductive_gcn, sage, inductive_gin: training nodes of a step; of a data
                                           ///< set of many graphs: training graphs
  std::vector<std::size_t> fan_outs;       ///< the same: neighbours drawn for a node, the last layer's first
  std::optional<std::size_t> walk_roots;   ///< saint: random walks of a step
  std::optional<std::size_t> walk_length;  ///< saint: steps of a walk
  /// Parts of the data set's graph. Each step of training then sees some of them, drawn anew in each epoch: their nodes
  /// and all edges between these (Chiang et al. 2019, "Cluster-GCN"). It takes the place of the samples above, for any
  /// architecture. Sampled ones see the training nodes of the parts, or all nodes of the parts with SampleFrom::all.
  /// Null: no parts. Not owned.
  const Partition* partition = nullptr;
  std::optional<std::size_t> batch_parts;  ///< parts of a step, at most
  std::uint64_t seed = 0;
  /// A model in full precision over the same data set, of any architecture and shape, from whose predictions this one
  /// learns; binary forms start from its weights, too, where it has their architecture and shape (see preset()). Its
  /// predictions are made without the edges that the model may not see in training (SampleFrom::training). Null: float
  /// learns from the labels alone; the teacher of a binary form is trained first, by the same options. Not owned.
  const Model* teacher = nullptr;
  /// Float without a teacher: the model is trained twice, and the second time it learns from the first. The one with
  /// the better validation accuracy is returned (Furlanello et al. 2018, "Born-again neural networks"). So are the
  /// teachers that are trained first over a whole graph.
  bool self_distillation = false;
  /// A model in full precision, of this architecture and of these widths, whose weights training starts from: of float
  /// models as they are, its biases and its preprocessing too; of binary forms latent weights, each matrix scaled to
  /// the magnitude of a drawn one. A teacher that is trained first starts from it as well. Null: weights are drawn, or
  /// taken from the teacher. Not owned.
  const Model* start = nullptr;
  /// Empty: none is written. A teacher that is trained first has a file of its own, with .teacher behind the name; the
  /// one that such a teacher learns from has one with .teacher.teacher.
  std::filesystem::path checkpoint;
  std::size_t checkpoint_every = 100;  ///< epochs
};

/// What preset() goes by in a data set. A number that is 0 is not known.
struct DataSize {
  std::size_t training_nodes = 0;
  std::size_t training_graphs = 0;  ///< of a data set of many graphs
  double mean_degree = 0;           ///< entries in a row of the graph, mean of training and validation nodes
  // Of one graph: how many neighbours a training node has on average, and how many of them are training nodes too.
  double neighbors = 0;
  double training_neighbors = 0;
  bool dense_features = false;
  std::size_t features = 0, classes = 0;
};
/// Of a data set that is valid.
[[nodiscard]] DataSize size_of(const Dataset& dataset);

/// The recipe of an architecture and precision, all fields set.
///   gcn, real: Kipf and Welling 2017: Adam 1e-2, dropout 0.5; at most 1000 epochs, patience 100; decay 1e-2 on the
///     first layer, over features of mean row length 1 (theirs, 5e-4, is over shorter rows). Above a mean degree of 8
///     decay falls as 8 / degree: a mean over many neighbours leaves less noise to hold back.
///   gcn, full and bin: Adam 3e-3, dropout 0.3, or 0.5 where features are dense, no decay; 400 epochs. Levels the
///     same, but Adam 1e-2 where weights have 1 or 2 bits.
///   gin: as gcn.
///   inductive_gcn, sage, inductive_gin: batches of 512 nodes, of which 25 neighbours are drawn, and 10 of each of
///     those, as of any further on (Hamilton et al. 2017, section 4).
///   saint: 6000 walks of 2 steps (Zeng et al. 2020, for Flickr); of a small graph fewer: two samples an epoch at
///     least.
///   These four in full precision: Adam 1e-2, dropout 0.5. In binary forms: Adam 3e-3, dropout 0.3, or 0.5
///   where features are dense. Levels the same, but Adam 1e-2 where weights have 1 or 2 bits. No decay, but 5e-4 in
///   full precision where samples are of all nodes, falling with the degree as that of gcn. No patience.
///   Epochs are as many as 2,000 steps take, 30 to 300, where the number of training nodes is told; else 100.
///   Samples of sage and saint are of all nodes where a training node has at least one neighbour, but on average less
///   than one that is a training node too. Else they are of the training nodes, as are those of the other two, which
///   are inductive by their names, and of parts.
/// Of many graphs: batches of 128 graphs. Epochs are as many as 2,000 steps take, 30 to 300, there is no patience, and
/// a tenth of the decay; all else is as above. Over the parts of a partition: a twentieth of the parts in a batch,
/// epochs as many as 2,000 steps take, 200 to 300, patience 50 but for full and bin, which have none; gcn and gin have
/// a tenth of the decay, and the best epoch of float is that of the best validation accuracy; all else is as above.
/// Levels start from a float model's weights, and learn from what it predicts where it knows at least 0.6 of the
/// training labels. Where a model has fewer than four weights for a label, dropout is less in proportion. Binary forms
/// of all learn from a teacher: latent weights start from its weights, each matrix scaled to the magnitude of a drawn
/// one (but those of bin over dense features, which are drawn); of full, not the weights themselves but their average
/// over the last hundred steps or so is what is judged and returned. It is what did best in short trials:
/// docs/notebook. explain_recipe() tells what is chosen beside these numbers.
[[nodiscard]] TrainOptions preset(TrainOptions options, const DataSize& size = {});

/// The hidden width of the papers for a data set, by its name: 64 for gcn (Kipf and Welling use 16, Bi-GCN and BitGNN
/// 64) and gin; else 256 where the name has "flickr" in it and 128 for Reddit and all others (BitGNN, Tables 4 and 5).
[[nodiscard]] std::size_t preset_hidden(Architecture architecture, std::string_view dataset) noexcept;

/// What a finished epoch had.
struct EpochReport {
  std::size_t epoch = 0;  ///< counted from 1
  std::size_t epochs = 0;
  double train_loss = 0;
  double validation_loss = 0;
  double validation_accuracy = 0;
  bool of_teacher = false;  ///< an epoch of the teacher that is trained first
};

struct TrainResult {
  Model model;
  std::size_t best_epoch = 0;  ///< 0, of levels: those that their start has without training (quantize()) were better
  double validation_loss = 0;
  double seconds_per_epoch = 0;  ///< median, validation included
  double teacher_seconds = 0;    ///< that a teacher took to be trained first; 0: none was
  double validation_accuracy = 0;
  double teacher_accuracy = 0;   ///< of the teacher on the validation nodes; 0: there is none
  std::optional<Model> teacher;  ///< that was trained first; none where it read signs of features (thresholds)
  bool ignores_teacher = false;  ///< levels: it knew too few of the training labels to have a word, see preset()
};

/// Points of validation accuracy that a form may lose to its teacher: more, and train of the program says which form to
/// take instead.
inline constexpr double most_lost_points = 3;

/// The options by which train() trains a teacher first where it is given none: float, the same shape and samples, the
/// numbers of its own recipe. Over one whole graph, where it has a word on nodes without labels, the teacher of bits
/// and of levels learns from one itself.
[[nodiscard]] TrainOptions teacher_options(const Dataset& dataset, const TrainOptions& options);

/// In one line how a model is trained, and what in the data set decides it: the labels and features of training and
/// validation nodes. "features are sparse and not negative: signs of presence, less their mean; ..." Throws as train().
[[nodiscard]] std::string explain_recipe(const Dataset& dataset, const TrainOptions& options);

/// The operators of one training step, of the program that is trained last, and behind them the gradients of those that
/// have one. What is trained first is not trained, nor is anything else. Throws as train().
[[nodiscard]] std::vector<ExplainedOperator> explain_training(const Dataset& dataset, const TrainOptions& options,
                                                              const Device& device = {}, std::size_t repeats = 10);

/// The same operators, without gradients and times, as a graph for Graphviz. Throws as train().
[[nodiscard]] std::string draw_training(const Dataset& dataset, const TrainOptions& options, const Device& device = {});

/// Trains a model and returns the weights of the epoch with the least validation loss; for full, and for bin of the
/// architectures that are sampled, of the one with the best validation accuracy, and of several such the least loss.
/// gcn and gin are trained over the whole graph. The others see a sample at a time of what TrainOptions::sample_from
/// says, and the whole graph when they are judged on the validation nodes. Of many graphs gcn and gin see those for
/// training only, a batch at a time, and the model classifies graphs. With a partition each sees a batch of
/// parts at a time; a batch without a labelled training node takes no step unless there is a teacher.
///
/// Signs have no scales (Precision::with_plain_input) behind the sums of saint, where gin sums them again, and in full
/// behind the means of sage and inductive_gcn. All others have those of Bi-GCN.
///
/// Gradients of the binary layers are those of Bi-GCN: through sign(x) where |x| <= 1, the scales held constant; see
/// docs/architecture.md. With a checkpoint file the state is written every `checkpoint_every` epochs, whole or not at
/// all, and a run that finds one goes on from it and ends with the same bits; a checkpoint of another run is an error
/// (bad_input) before anything is trained. The model remembers its split (Model::trained). `progress` is called after
/// each epoch, of a teacher that is trained first too. The result depends on data set, options, the kind of device and,
/// through the order of float sums, a host's number of threads. The data set is on the host; `device` says where
/// training runs. Where the loss is no longer finite, training ends. Throws usage or bad_input: no training or
/// validation nodes, impossible hyper-parameters, a teacher, a start or a partition that does not fit, a loss that
/// never was finite.
[[nodiscard]] TrainResult train(const Dataset& dataset, const TrainOptions& options, const Device& device = {},
                                const std::function<void(const EpochReport&)>& progress = {});

}  // namespace bitgraph::nn
