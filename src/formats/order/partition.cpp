// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/formats/partition.hpp>

#include <bitgraph/core/error.hpp>

#include "core/fingerprint.hpp"
#include "core/preconditions.hpp"
#include "core/threads/parallel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>

namespace bitgraph {

namespace {

constexpr std::size_t row_grain = 1024;

/// fn(size) for each part.
template <class Fn>
void each_size(std::span<const NodeId> part_ptr, Fn&& fn) {
  for (std::size_t p = 1; p < part_ptr.size(); ++p) fn(part_ptr[p] - part_ptr[p - 1]);
}

}  // namespace

CsrPattern undirected(const CsrPattern& a) {
  if (a.nrows() != a.ncols())
    fail(ErrorCode::usage,
         fmt::format("undirected: the matrix is {} x {}, a square one is needed", a.nrows(), a.ncols()));
  require_host(a.device(), "undirected");
  CsrPattern both = is_symmetric(a) ? a.share() : symmetrized(a);
  return num_self_loops(both) == 0 ? std::move(both) : without_self_loops(both);
}

std::string undirected_fingerprint(const CsrPattern& a) {
  const CsrPattern graph = undirected(a);
  Fingerprint print;
  print.add(graph.row_ptr());
  print.add(graph.col_ind());
  return print.text();
}

Partition::Partition(std::vector<NodeId> part_of, NodeId num_parts, PartitionOrigin origin)
    : part_of_(std::move(part_of)), origin_(std::move(origin)) {
  const std::size_t nodes = part_of_.size();
  if (nodes > std::numeric_limits<NodeId>::max() - 1)
    fail(ErrorCode::usage, fmt::format("a partition of {} nodes: a graph has at most 2^32 - 2", nodes));
  if (num_parts == 0 || num_parts > std::max<std::size_t>(nodes, 1))
    fail(ErrorCode::usage,
         fmt::format("{} parts of {} nodes, expected 1 to {}", num_parts, nodes, std::max<std::size_t>(nodes, 1)));
  part_ptr_.assign(std::size_t{num_parts} + 1, 0);
  for (std::size_t i = 0; i < nodes; ++i) {
    if (part_of_[i] >= num_parts)
      fail(ErrorCode::bad_input,
           fmt::format("node {} is in part {}, expected a part below {}", i, part_of_[i], num_parts));
    ++part_ptr_[part_of_[i] + std::size_t{1}];
  }
  for (std::size_t p = 0; p < num_parts; ++p) part_ptr_[p + 1] += part_ptr_[p];
  nodes_.resize(nodes);
  std::vector<NodeId> next(part_ptr_.begin(), part_ptr_.end() - 1);
  for (std::size_t i = 0; i < nodes; ++i) nodes_[next[part_of_[i]]++] = static_cast<NodeId>(i);
}

std::span<const NodeId> Partition::nodes(NodeId part) const {
  if (part >= num_parts()) fail(ErrorCode::usage, fmt::format("part {} of a partition into {}", part, num_parts()));
  return std::span(nodes_).subspan(part_ptr_[part], part_ptr_[part + std::size_t{1}] - part_ptr_[part]);
}

NodeId Partition::largest() const noexcept {
  NodeId most = 0;
  each_size(part_ptr_, [&](NodeId size) { most = std::max(most, size); });
  return most;
}

NodeId Partition::smallest() const noexcept {
  NodeId least = num_nodes();
  each_size(part_ptr_, [&](NodeId size) { least = std::min(least, size); });
  return least;
}

NodeId Partition::num_empty() const noexcept {
  NodeId empty = 0;
  each_size(part_ptr_, [&](NodeId size) { empty += size == 0 ? 1 : 0; });
  return empty;
}

void Partition::require_graph(const CsrPattern& graph, std::string_view name) const {
  if (graph.nrows() != num_nodes()) {
    fail(ErrorCode::bad_input,
         fmt::format("{}: the parts are of {} nodes, and the graph has {}: they belong to another graph", name,
                     num_nodes(), graph.nrows()));
  }
  if (origin_.graph.empty()) return;
  const std::string found = undirected_fingerprint(graph);
  if (found != origin_.graph) {
    fail(ErrorCode::bad_input,
         fmt::format("{}: the parts belong to another graph: its fingerprint is {}, that of the graph given is {}",
                     name, origin_.graph, found));
  }
}

EdgeCut edge_cut(const CsrPattern& graph, const Partition& partition) {
  if (graph.nrows() != partition.num_nodes())
    fail(ErrorCode::usage,
         fmt::format("edge cut: a partition of {} nodes for a graph of {}", partition.num_nodes(), graph.nrows()));
  const CsrPattern a = undirected(graph);
  const auto part_of = partition.part_of();
  std::atomic<EdgeOffset> crossing{0};
  parallel_ranges(a.device(), a.nrows(), row_grain, [&](Range rows) {
    EdgeOffset found = 0;
    for (std::size_t i = rows.begin; i < rows.end; ++i) {
      for (const NodeId j : a.row(static_cast<NodeId>(i))) found += part_of[i] != part_of[j] ? 1U : 0U;
    }
    crossing += found;
  });
  // Each edge stands in both its rows.
  return {a.nvals() / 2, crossing / 2};
}

}  // namespace bitgraph
