// SPDX-License-Identifier: Apache-2.0
// What an InferencePlan holds, and how updates change it.
#pragma once

#include <bitgraph/nn/infer.hpp>

#include "nn/inference/forward.hpp"
#include "nn/inference/graph_operands.hpp"
#include "nn/inference/input_features.hpp"
#include "nn/updates/changing_rows.hpp"
#include "nn/updates/feature_updates.hpp"

#include <optional>
#include <span>
#include <vector>

namespace bitgraph::nn {

/// The nodes in the order that a plan uses. All are empty where that is the caller's.
struct NodeOrder {
  Buffer<NodeId> new_id;  ///< of the caller's nodes
  Buffer<NodeId> old_id;
  CsrPattern graph;

  NodeOrder(const CsrPattern& a, Order order);
  [[nodiscard]] const CsrPattern& graph_or(const CsrPattern& a) const { return new_id.empty() ? a : graph; }

  /// What brings rows back into the caller's order.
  [[nodiscard]] CallerOrder back(const Device& device) const;

  /// Graphs x rows: which rows are the nodes of each graph of a data set, on the host. Empty where it has one graph.
  [[nodiscard]] CsrPattern readout(const Dataset& dataset) const;
};

struct InferencePlan::State {
  State(const Model& model, const Dataset& dataset, const InferenceOptions& wanted, const Device& on);

  /// The same for the logits; those of graphs are in their places.
  [[nodiscard]] CallerOrder back() const;

  /// After updates: makes the steps again. Does nothing where nothing has changed.
  void refresh();

  void set_weights(const Model& model);
  void set_graph(CsrPattern next);
  void set_nodes(NodeId count);
  void add_edges(std::span<const NodeId> from, std::span<const NodeId> to);

  /// The rows of the plan that nodes have, ascending, and where in `nodes` each stands. Throws usage.
  struct Rows {
    std::vector<NodeId> rows;
    std::vector<NodeId> source;
    bool in_order = true;  ///< `source` counts up
  };
  [[nodiscard]] Rows rows_of(std::span<const NodeId> nodes) const;

  void require_capacity(std::size_t nodes, std::size_t entries) const;
  void require_kept() const;
  void resize_features(NodeId nodes);
  void place_graph(const CsrPattern& next);

  InferenceOptions options;
  Device device;
  std::size_t num_features;
  NodeId num_nodes;
  PlanCapacity capacity;             ///< nodes and entries at most
  std::optional<ChangingRows> kept;  ///< the graph as the caller numbers it, where the plan has capacity
  std::optional<CsrPattern> given;   ///< the last graph of set_graph, until or as long as the operands need it
  NodeOrder order;
  PredictedMemory predicted;
  GraphOperands graph;
  InputFeatures features;
  FeatureUpdates updates;
  Forward forward;
  InferenceBytes bytes;
  bool stale = false;        ///< the steps are of what was before
  bool other_graph = false;  ///< since the steps were made
};

}  // namespace bitgraph::nn
