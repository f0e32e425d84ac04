// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/device.hpp>
#include <bitgraph/formats/csr_pattern.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

namespace bitgraph::nn {

// Parts of a graph for training by batches. Graphs are on the host, and so are the samples: CsrPattern::to() brings
// them to a device. Random numbers are keyed by seed, epoch, batch and node: the number of threads changes nothing.

/// A pattern that is made anew again and again in memory that is kept.
class ReusedPattern {
 public:
  /// Valid until the next sample is made; clone() outlives it.
  [[nodiscard]] const CsrPattern& get() const noexcept { return pattern_; }

  /// Room for `nrows` rows whose lengths the caller writes to the first nrows places.
  std::span<EdgeOffset> start(std::size_t nrows);
  /// Turns the lengths into row pointers and returns room for all entries.
  std::span<NodeId> make_room(const Device& device);
  [[nodiscard]] std::span<NodeId> row(std::size_t i) noexcept {
    return std::span(col_ind_).subspan(row_ptr_[i], row_ptr_[i + 1] - row_ptr_[i]);
  }
  /// Where row i begins among the entries.
  [[nodiscard]] EdgeOffset begin_of_row(std::size_t i) const noexcept { return row_ptr_[i]; }
  /// The pattern: the entries are in place, columns increasing.
  void finish(NodeId ncols, const Device& device);

 private:
  std::vector<EdgeOffset> row_ptr_;
  std::vector<NodeId> col_ind_;
  CsrPattern pattern_;
};

/// The part of a graph that a batch of targets is computed from, layer by layer.
struct NeighborSample {
  /// Input nodes of the first layer. Those of each later layer are the first of them, and the targets the very first:
  /// row i of every layer is nodes[i], and so is column i.
  std::vector<NodeId> nodes;
  /// In the order of computation: layer l is num_targets(l) x num_inputs(l), and the inputs of one layer are the
  /// targets of the one before. Without self loops unless the graph has them; with_self_loops() adds each target
  /// itself.
  std::vector<ReusedPattern> layers;

  [[nodiscard]] std::size_t num_targets(std::size_t layer) const noexcept { return layers[layer].get().nrows(); }
  [[nodiscard]] std::size_t num_inputs(std::size_t layer) const noexcept { return layers[layer].get().ncols(); }
};

/// A fan-out that takes all neighbours.
inline constexpr std::size_t all_neighbors = std::numeric_limits<std::size_t>::max();

/// Neighbour sampling (Hamilton, Ying, Leskovec, "Inductive representation learning on large graphs", NIPS 2017,
/// section 3.1): of each node's neighbours at most so many, drawn uniformly without replacement, the same ones for
/// every target of a batch that needs the node in one layer.
class NeighborSampler {
 public:
  /// fan_outs[h]: how many neighbours a node has h hops from the targets; one a layer, the last layer's first, such as
  /// {25, 10}. The graph must outlive the sampler. Memory: 4 bytes a node and a bit. Throws usage unless the graph is
  /// square, on the host, and there is a fan-out, none of them 0.
  NeighborSampler(const CsrPattern& graph, std::vector<std::size_t> fan_outs, std::uint64_t seed,
                  const Device& device = {});

  /// The sample of a batch; `out` keeps its memory from call to call, so that batches of a size soon allocate nothing.
  /// Targets are different nodes; none give empty layers. New inputs are numbered by rising id behind the targets.
  /// Throws usage for a node outside the graph, and for one that stands twice.
  /// O(nodes / 64 + sum over sampled rows of fan_out^2, or of the degree for fan-outs above 64), parallel.
  void sample_into(NeighborSample& out, std::span<const NodeId> targets, std::uint32_t epoch, std::uint32_t batch);

  ~NeighborSampler();
  NeighborSampler(NeighborSampler&&) noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A subgraph that a batch is trained on as if it were the graph.
struct SubgraphSample {
  std::vector<NodeId> nodes;  ///< rising
  ReusedPattern pattern;      ///< all edges between them; row and column i are nodes[i]
  /// GraphSAINT's coefficients, where estimate() has been called; else empty.
  /// Of nodes[i]: N / C_v, 1 / lambda. Weighted by it and divided by the graph's number of nodes, the losses of a
  /// subgraph's nodes add up to the mean loss of all nodes on average.
  std::vector<float> loss_weight;
  /// Of each entry (v, u): C_v / C_uv, 1 / alpha. Times the graph's own weight, such as 1 / degree of v in the graph,
  /// it makes v's aggregation over the subgraph that over the graph on average.
  std::vector<float> entry_scale;
};

struct RandomWalkOptions {
  std::size_t num_roots = 2000;
  std::size_t walk_length = 2;  ///< steps
  std::uint64_t seed = 0;
};

/// GraphSAINT's random-walk sampler (Zeng et al., "GraphSAINT: graph sampling based inductive learning method", ICLR
/// 2020, algorithm 2): roots drawn uniformly with replacement, from each a walk of so many uniform steps, and the
/// subgraph that all nodes met induce. A walk ends at a node without neighbours.
///
/// Nodes with many neighbours are met more often. With the coefficients of section 3.2, counted over subgraphs that
/// were sampled before, loss and aggregation are right on average: C_v of N of them have the node v, C_uv the edge (u,
/// v).
class RandomWalkSampler {
 public:
  /// Roots are drawn from `roots`, or from all nodes where it is empty. The graph must outlive the sampler. Throws
  /// usage unless the graph is square and on the host, there is at least one root to draw and one drawn, and roots are
  /// nodes.
  RandomWalkSampler(const CsrPattern& graph, std::span<const NodeId> roots, const RandomWalkOptions& options,
                    const Device& device = {});

  /// Counts over `num_subgraphs` subgraphs of their own random numbers, at most 65,535; replaces what was counted
  /// before. Memory: 4 bytes a node, 2 an entry. O(num_subgraphs times a sample).
  void estimate(std::size_t num_subgraphs);

  /// So many subgraphs meet each node that walks may start from so often on average, as Zeng et al. choose it (50):
  /// coverage times these nodes / those of them in a sample, at least 1, at most 65,535.
  [[nodiscard]] std::size_t subgraphs_for_coverage(double coverage);

  /// The subgraph of a batch; `out` keeps its memory from call to call. What estimate() has not met counts as met once.
  /// O(nodes / 64 + degrees of the sampled nodes), parallel.
  void sample_into(SubgraphSample& out, std::uint32_t epoch, std::uint32_t batch);

  /// A sampler of the same subgraphs for another thread: estimate()'s counts are shared.
  [[nodiscard]] RandomWalkSampler twin(const Device& device = {}) const;

  ~RandomWalkSampler();
  RandomWalkSampler(RandomWalkSampler&&) noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// All edges between `nodes`, renumbered by their place there: the graph of inductive training is that of the training
/// nodes. Throws usage unless the graph is square and on the host, and the nodes rise and lie in it.
/// O(nodes / 64 + degrees of the nodes), parallel.
[[nodiscard]] CsrPattern induced_subgraph(const CsrPattern& graph, std::span<const NodeId> nodes);

/// The nodes in an order of their own for each epoch (Fisher and Yates): cut into equal parts they are its batches.
/// Keeps the memory of `out`. O(nodes), on one thread.
void shuffle_into(std::vector<NodeId>& out, std::span<const NodeId> nodes, std::uint64_t seed, std::uint32_t epoch);

}  // namespace bitgraph::nn
