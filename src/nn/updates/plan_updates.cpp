// SPDX-License-Identifier: Apache-2.0
// Updates of a plan: other features, another graph, new nodes and edges, other weights.
#include <bitgraph/formats/block_diagonal.hpp>
#include <bitgraph/formats/reorder.hpp>
#include <bitgraph/ops/dense.hpp>

#include "nn/inference/parts/over_parts.hpp"
#include "nn/inference/plan_state.hpp"
#include "nn/inference/predict.hpp"
#include "nn/updates/planned_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

namespace bitgraph::nn {

namespace {

bool reserves(const InferenceOptions& options) { return options.capacity.nodes != 0 || options.capacity.entries != 0; }

Device host_of(const Device& device) { return device.is_host() ? device : Device(); }

/// The graph to be kept, where there is room reserved.
std::optional<ChangingRows> kept_graph(const CsrPattern& graph, const InferenceOptions& options, const Device& device) {
  if (!reserves(options)) return std::nullopt;
  return std::make_optional<ChangingRows>(graph, options.capacity.nodes, options.capacity.entries, host_of(device));
}

void require_shape(std::size_t rows, std::size_t columns, std::size_t nodes, std::size_t width) {
  if (rows == nodes && columns == width) return;
  fail(ErrorCode::usage, fmt::format("set_features: the features are {} x {}, {} nodes of {} features are expected",
                                     rows, columns, nodes, width));
}

void require_sparse(const SparseFeatures& x) {
  x.pattern.validate();
  if (x.values.size() != x.pattern.nvals()) {
    fail(ErrorCode::usage, fmt::format("set_features: {} values for {} entries", x.values.size(), x.pattern.nvals()));
  }
}

void require_features(const DenseMatrix<float>& x, std::size_t nodes, std::size_t width) {
  require_shape(x.nrows(), x.ncols(), nodes, width);
}
void require_features(const SparseFeatures& x, std::size_t nodes, std::size_t width) {
  require_shape(x.pattern.nrows(), x.pattern.ncols(), nodes, width);
  require_sparse(x);
}

}  // namespace

NodeOrder::NodeOrder(const CsrPattern& a, Order order) {
  if (order == Order::original) return;
  new_id = reorder(a, order);
  old_id = inverse_permutation(new_id.span());
  graph = permuted(a, new_id.span());
}

CsrPattern NodeOrder::readout(const Dataset& dataset) const {
  if (dataset.num_graphs() == 0) return {};
  CsrPattern found = readout_matrix(dataset.first_node);
  if (new_id.empty()) return found;
  Buffer<EdgeOffset> row_ptr = Buffer<EdgeOffset>::copy_of(found.row_ptr());
  Buffer<NodeId> rows = new_id.clone();
  for (std::size_t g = 0; g < dataset.num_graphs(); ++g)
    std::sort(rows.begin() + dataset.first_node[g], rows.begin() + dataset.first_node[g + 1]);
  return CsrPattern(found.nrows(), found.ncols(), std::move(row_ptr), std::move(rows), trusted);
}

CallerOrder NodeOrder::back(const Device& device) const {
  return old_id.empty() ? CallerOrder() : CallerOrder(old_id.span(), device);
}

InferencePlan::State::State(const Model& model, const Dataset& dataset, const InferenceOptions& wanted,
                            const Device& on)
    : options(wanted),
      device(on),
      num_features(dataset.num_features()),
      num_nodes(dataset.graph.nrows()),
      capacity{std::max<std::size_t>(wanted.capacity.nodes, dataset.graph.nrows()),
               std::max<std::size_t>(wanted.capacity.entries, dataset.graph.nvals())},
      kept(kept_graph(dataset.graph, wanted, on)),
      order(dataset.graph, wanted.order),
      predicted(predict_memory_over(order.graph_or(dataset.graph), model, dataset, options, device)),
      graph(order.graph_or(kept ? kept->pattern() : dataset.graph), device,
            kept && wanted.order == Order::original ? capacity : PlanCapacity{}, order.readout(dataset)),
      features(model, dataset, form_of_features(model, options.forms),
               storage_of_features(options, form_of_features(model, options.forms).input), device, order.old_id.span(),
               predicted.features),
      updates(features, model, form_of_features(model, options.forms), options.features, dataset.has_dense_features(),
              num_features, capacity.nodes, device),
      forward(model, options, graph, features, device, back(), predicted.parts) {
  bytes = {.model = model.bytes(), .graph = graph.bytes(), .features = features.bytes()};
  if (predicted.parts == 1) order.graph = {};  // all that is used of it is in the operands now
}

CallerOrder InferencePlan::State::back() const { return graph.num_graphs() != 0 ? CallerOrder() : order.back(device); }

void InferencePlan::State::refresh() {
  if (!stale) return;
  forward.remake(back(), other_graph);
  bytes.graph = graph.bytes();
  bytes.features = features.bytes();
  stale = other_graph = false;
  if (predicted.parts != 1) return;
  order.graph = {};
  given.reset();
}

InferencePlan::State::Rows InferencePlan::State::rows_of(std::span<const NodeId> nodes) const {
  std::vector<std::pair<NodeId, NodeId>> pairs;
  pairs.reserve(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i] >= num_nodes)
      fail(ErrorCode::usage, fmt::format("set_features: node {} of {} nodes", nodes[i], num_nodes));
    pairs.emplace_back(order.new_id.empty() ? nodes[i] : order.new_id[nodes[i]], static_cast<NodeId>(i));
  }
  Rows found;
  found.in_order = std::is_sorted(pairs.begin(), pairs.end());
  if (!found.in_order) std::sort(pairs.begin(), pairs.end());
  for (const auto& [row, source] : pairs) {
    if (!found.rows.empty() && found.rows.back() == row)
      fail(ErrorCode::usage, fmt::format("set_features: node {} is named twice", nodes[source]));
    found.rows.push_back(row);
    found.source.push_back(source);
  }
  return found;
}

void InferencePlan::State::require_capacity(std::size_t nodes, std::size_t entries) const {
  if (nodes <= capacity.nodes && entries <= capacity.entries) return;
  fail(
      ErrorCode::not_possible,
      fmt::format("the plan has room for {} nodes and {} entries, the graph has {} and {}: make the plan with a larger "
                  "InferenceOptions::capacity",
                  capacity.nodes, capacity.entries, nodes, entries));
}

void InferencePlan::State::require_kept() const {
  if (!kept) {
    fail(ErrorCode::not_possible, "the plan has no room for nodes and edges: make it with InferenceOptions::capacity");
  }
}

/// Features are in the caller's order while this runs, where the plan has another.
void InferencePlan::State::resize_features(NodeId nodes) {
  if (nodes != num_nodes) updates.resize(nodes);
  num_nodes = nodes;
}

/// The operands take the graph, in the plan's order of nodes, which is found anew.
void InferencePlan::State::place_graph(const CsrPattern& next) {
  stale = other_graph = true;
  if (options.order == Order::original) {
    resize_features(next.nrows());
    return graph.reset(next);
  }
  NodeOrder found(next, options.order);
  if (!order.new_id.empty()) updates.permute(order.new_id.span());
  resize_features(next.nrows());
  if (!found.old_id.empty()) updates.permute(found.old_id.span());
  order = std::move(found);
  graph.reset(order.graph_or(next));
}

void InferencePlan::State::set_graph(CsrPattern next) {
  if (!next.device().is_host()) fail(ErrorCode::usage, "set_graph: the graph must be on the host");
  if (next.nrows() != next.ncols()) {
    fail(ErrorCode::usage,
         fmt::format("set_graph: the graph is {} x {}, a square one is needed", next.nrows(), next.ncols()));
  }
  next.validate();
  if (num_self_loops(next) != 0) fail(ErrorCode::bad_input, "set_graph: the graph has loops");
  require_capacity(next.nrows(), next.nvals());
  if (kept) {
    kept.emplace(next, capacity.nodes, capacity.entries, host_of(device));
    return place_graph(kept->pattern());
  }
  given = std::move(next);
  place_graph(*given);
}

void InferencePlan::State::set_nodes(NodeId count) {
  kept->replace({}, count, count);
  if (options.order != Order::original) return place_graph(kept->pattern());
  stale = other_graph = true;
  resize_features(count);
  graph.replace(kept->pattern(), {});
}

void InferencePlan::State::add_edges(std::span<const NodeId> from, std::span<const NodeId> to) {
  const CsrPattern& before = kept->pattern();
  std::map<NodeId, std::vector<NodeId>> rows;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] >= num_nodes || to[i] >= num_nodes || from[i] == to[i]) {
      fail(ErrorCode::usage,
           fmt::format("add_edges: {} - {} is no edge between two of {} nodes", from[i], to[i], num_nodes));
    }
    rows[from[i]].push_back(to[i]);
    rows[to[i]].push_back(from[i]);
  }
  std::size_t entries = before.nvals();
  std::vector<ChangingRows::Row> changed;
  for (auto& [row, columns] : rows) {
    const auto old = before.row(row);
    columns.insert(columns.end(), old.begin(), old.end());
    std::sort(columns.begin(), columns.end());
    columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
    entries += columns.size() - old.size();
    changed.push_back({row, columns, {}});
  }
  require_capacity(num_nodes, entries);
  kept->replace(changed, num_nodes, num_nodes);
  if (options.order != Order::original) return place_graph(kept->pattern());
  stale = other_graph = true;
  graph.replace(kept->pattern(), changed);
}

/// Where weights go depends on the format of the features, so that what is stale is renewed first. Kernels have steps
/// and offsets of levels by value; all else they read where it was.
void InferencePlan::State::set_weights(const Model& model) {
  refresh();
  forward.set_weights(model.layers);
  stale = model.has_levels();
}

void InferencePlan::set_features(DenseMatrix<float>&& features) {
  require_features(features, whole().num_nodes, whole().num_features);
  state_->updates.swap_all(features, state_->order.old_id.span());
  state_->stale |= state_->updates.take_moved();
}

void InferencePlan::set_features(const DenseMatrix<float>& features) {
  require_features(features, whole().num_nodes, whole().num_features);
  state_->updates.set_all(features, state_->order.old_id.span());
  state_->stale |= state_->updates.take_moved();
}

void InferencePlan::set_features(const SparseFeatures& features) {
  require_features(features, whole().num_nodes, whole().num_features);
  state_->updates.set_all(features, state_->order.old_id.span());
  state_->stale |= state_->updates.take_moved();
}

void InferencePlan::set_features(std::span<const NodeId> nodes, const DenseMatrix<float>& features) {
  require_features(features, nodes.size(), whole().num_features);
  const auto rows = state_->rows_of(nodes);
  if (rows.in_order) {
    state_->updates.set_rows(rows.rows, features);
  } else {
    DenseMatrix<float> sorted(rows.rows.size(), features.ncols());
    gather_rows_into(sorted, features, rows.source);
    state_->updates.set_rows(rows.rows, sorted);
  }
  state_->stale |= state_->updates.take_moved();
}

void InferencePlan::set_features(std::span<const NodeId> nodes, const SparseFeatures& features) {
  require_features(features, nodes.size(), whole().num_features);
  const auto rows = state_->rows_of(nodes);
  if (rows.in_order) {
    state_->updates.set_rows(rows.rows, features);
  } else {
    state_->updates.set_rows(rows.rows, features_of(features, rows.source));
  }
  state_->stale |= state_->updates.take_moved();
}

void InferencePlan::set_weights(const Model& model) {
  model_->require_same_layers(model);
  model_->require_same_features(model);
  parts_ ? parts_->set_weights(model) : state_->set_weights(model);
}

template <class Features>
void InferencePlan::set_model(const Model& model, const Features& features) {
  require_features(features, whole().num_nodes, whole().num_features);
  model_->require_same_layers(model);
  model_->require_dense_where_needed(model);
  state_->updates.set_all_as(model, features, state_->order.old_id.span());
  state_->stale |= state_->updates.take_moved();
  model_->see_features_as(model);
  state_->set_weights(model);
}

void InferencePlan::set_weights(const Model& model, const DenseMatrix<float>& features) { set_model(model, features); }
void InferencePlan::set_weights(const Model& model, const SparseFeatures& features) { set_model(model, features); }

void InferencePlan::set_graph(CsrPattern graph) { one_graph().set_graph(std::move(graph)); }

NodeId InferencePlan::add_nodes(NodeId count) {
  one_graph().require_kept();
  const NodeId first = num_nodes();
  state_->require_capacity(std::size_t{first} + count, state_->kept->pattern().nvals());
  state_->set_nodes(first + count);
  return first;
}

void InferencePlan::add_edges(std::span<const NodeId> from, std::span<const NodeId> to) {
  one_graph().require_kept();
  if (from.size() != to.size())
    fail(ErrorCode::usage, fmt::format("add_edges: {} nodes on one side, {} on the other", from.size(), to.size()));
  state_->add_edges(from, to);
}

}  // namespace bitgraph::nn
