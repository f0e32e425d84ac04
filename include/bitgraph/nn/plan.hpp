// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/partition.hpp>
#include <bitgraph/formats/reorder.hpp>
#include <bitgraph/nn/model.hpp>
#include <bitgraph/ops/level_strategy.hpp>
#include <bitgraph/ops/spmm.hpp>

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace bitgraph::nn {

/// How the features of a model are held: real ones as floats, those of binary models as bits, in full or (sparse) as
/// their few differences from one row where that is smaller. A CUDA device holds floats dense.
enum class FeatureStorage { dense, sparse };

/// What votes walk over, and sums of levels.
enum class GraphFormat {
  automatic,  ///< whichever is quickest, for each operator (src/nn/program/passes/graph/graph_form.cpp)
  csr,
  sell,  ///< on the host: one copy of the graph more, and the fastest votes on graphs that are not small
  tiles  ///< B2SR with tiles of side tile_dim; sums of levels take side 64 alone, as products of bit planes
};

/// Of a layer that aggregates what it has multiplied, or multiplies what it has aggregated: the sums are the same but
/// for rounding.
enum class Sequence {
  automatic,  ///< whichever moves fewer bytes
  update_first,
  aggregate_first
};

/// Of a vote and what follows it, on a CUDA device.
enum class Fusion {
  automatic,  ///< in one kernel where there is one for the shapes, and the graph is not small
  none        ///< a kernel each
};

/// How a CUDA device is asked for the steps of a run.
enum class Launching {
  automatic,  ///< in one launch where the graph is small and the steps allow it, else as a CUDA graph
  steps,      ///< one after another
  graph,      ///< as a CUDA graph
  one         ///< as one cooperative launch, where that is possible; else as automatic
};

/// Where a plan over parts keeps its batches, for a CUDA device. The host makes each anew in every run.
enum class BatchesAt {
  automatic,  ///< on the device where all fit: within the plan's limit, or without one within half of its memory
  device,     ///< on the device, as one graph: a run copies nothing
  host        ///< packed on the host: a run copies them, each while the one before runs
};

[[nodiscard]] std::string_view to_string(FeatureStorage storage) noexcept;
[[nodiscard]] std::string_view to_string(GraphFormat format) noexcept;
[[nodiscard]] std::string_view to_string(Sequence sequence) noexcept;
[[nodiscard]] std::string_view to_string(Fusion fusion) noexcept;
[[nodiscard]] std::string_view to_string(Launching launching) noexcept;
[[nodiscard]] std::string_view to_string(BatchesAt batches_at) noexcept;

/// Room that a plan reserves for a graph that grows. See InferencePlan::set_graph. Values below what the data set has
/// mean what the data set has.
struct PlanCapacity {
  std::size_t nodes = 0;
  std::size_t entries = 0;  ///< of the adjacency matrix: an undirected edge is two
};

/// Everything about a run that its result does not depend on, but for `forms` and rounding.
struct InferenceOptions {
  std::vector<Precision> forms;  ///< one a layer; empty: those that the model was trained in
  FeatureStorage features = FeatureStorage::sparse;
  GraphFormat graph = GraphFormat::automatic;
  int tile_dim = 8;  ///< of GraphFormat::tiles
  SpmmStrategy strategy = SpmmStrategy::automatic;
  LevelStrategy levels = LevelStrategy::automatic;  ///< of products and sums of levels, kernel by kernel
  Order order = Order::original;  ///< numbers the nodes anew; logits come back in the caller's numbering
  Sequence sequence = Sequence::automatic;
  Fusion fusion = Fusion::automatic;
  Launching launching = Launching::automatic;

  /// Bytes that the plan may hold; 0: as many as it likes. Where the whole needs more, the graph stays with the data
  /// set, which must outlive the plan then, and its rows are taken part by part; a run allocates what a part needs.
  std::size_t memory = 0;

  /// Parts of the data set's graph: a run takes `batch_parts` of them at a time, in their order, with the edges between
  /// them; 0: preset_batch_parts(). Edges to other batches are left out, so the result is that over the graph without
  /// these (QGTC, section 4.1). On the host the plan holds one batch, and makes it from the data set. On a CUDA device
  /// all batches stay where they fit, or they are packed once, in pinned memory where there is some, and a run copies
  /// each while the one before runs (section 4.6). The data set must outlive the plan. Nodes cannot be numbered anew or
  /// change then. The partition need not stay.
  const Partition* partition = nullptr;
  std::size_t batch_parts = 0;                  ///< saved with partition_file
  BatchesAt batches_at = BatchesAt::automatic;  ///< saved with partition_file

  /// Room for nodes and edges to come. Not saved.
  PlanCapacity capacity = {};

  /// The model that they were measured with: its file and Model::fingerprint(). Empty: not known. InferencePlan does
  /// not look at them.
  std::string model_file, model_fingerprint;

  /// The part file that `partition` came from. Empty: there is none, or it is not known. InferencePlan does not look at
  /// it: whoever loads a plan that names one loads the partition (load_partition).
  std::string partition_file;

  /// One JSON object, each option by its name, and the model and the part file where they are known.
  void save(const std::filesystem::path& path) const;

  /// Throws bad_input naming the file and the option that is unknown or has no such value.
  [[nodiscard]] static InferenceOptions load(const std::filesystem::path& path);

  /// "bin full, csr, rcm", only what is not the default.
  [[nodiscard]] std::string describe() const;
};

}  // namespace bitgraph::nn
