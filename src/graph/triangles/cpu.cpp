// SPDX-License-Identifier: Apache-2.0
#include "graph/triangles/cpu.hpp"

#include "core/threads/thread_chunks.hpp"

#include <algorithm>
#include <atomic>

namespace bitgraph {

namespace {

/// Counters of all nodes: of the first ones, each thread's own.
class NodeCounters {
 public:
  NodeCounters(std::uint64_t* own, std::uint64_t* shared) : own_(own), shared_(shared) {}
  void add(NodeId node, std::uint64_t count) {
    if (node < own_counters) {
      own_[node] += count;
    } else {
      std::atomic_ref<std::uint64_t>(shared_[node]).fetch_add(count, std::memory_order_relaxed);
    }
  }

 private:
  std::uint64_t* own_;
  std::uint64_t* shared_;
};

void count_node(const OrientedView& a, NodeId u, std::uint64_t* marks, NodeCounters& counters) {
  const NodeId* list = a.cols + a.start[u];
  const NodeId size = a.low[u];
  if (size < 2) return;
  for (NodeId e = 0; e < size; ++e) marks[list[e] / 64] |= std::uint64_t{1} << (list[e] % 64);
  std::uint64_t of_u = 0;
  for (NodeId e = 0; e < size; ++e) {
    const NodeId v = list[e];
    const NodeId* other = a.cols + a.start[v];
    std::uint64_t of_both = 0;
    for (NodeId f = 0; f < a.low[v]; ++f) {
      const NodeId w = other[f];
      if (((marks[w / 64] >> (w % 64)) & 1U) == 0) continue;
      counters.add(w, 1);
      ++of_both;
    }
    if (of_both != 0) counters.add(v, of_both);
    of_u += of_both;
  }
  if (of_u != 0) counters.add(u, of_u);
  for (NodeId e = 0; e < size; ++e) marks[list[e] / 64] = 0;
}

}  // namespace

std::uint64_t triangles(const Cpu& backend, const OrientedView& a, std::uint64_t* marks) {
  const std::size_t words = mark_words(a.num_nodes);
  std::atomic<std::uint64_t> total{0};
  for_chunks_of_threads(backend.device, a.num_nodes, triangle_chunk, [&](std::size_t workspace, Range nodes) {
    total += triangles_cpu::count_range(a, nodes.begin, nodes.end, marks + workspace * words);
  });
  return total;
}

std::uint64_t triangles_of_short_rows(const Cpu& backend, const CsrPatternView& a) {
  std::atomic<std::uint64_t> total{0};
  parallel_ranges(backend.device, a.nrows, 1024,
                  [&](Range nodes) { total += triangles_cpu::count_short_rows(a, nodes.begin, nodes.end); });
  return total;
}

void triangles_of_nodes(const Cpu& backend, const OrientedView& a, std::uint64_t* marks, std::uint64_t* own,
                        std::uint64_t* counts) {
  const std::size_t words = mark_words(a.num_nodes);
  const std::size_t num_own = std::min<std::size_t>(own_counters, a.num_nodes);
  const std::size_t workspaces = num_workspaces(backend.device, a.num_nodes, triangle_chunk);
  for_chunks_of_threads(backend.device, a.num_nodes, triangle_chunk, [&](std::size_t workspace, Range nodes) {
    NodeCounters counters(own + workspace * num_own, counts);
    for (std::size_t u = nodes.begin; u < nodes.end; ++u) {
      count_node(a, static_cast<NodeId>(u), marks + workspace * words, counters);
    }
  });
  parallel_for(backend.device, num_own, 1024, [&](std::size_t node) {
    for (std::size_t workspace = 0; workspace < workspaces; ++workspace) {
      counts[node] += own[workspace * num_own + node];
      own[workspace * num_own + node] = 0;
    }
  });
}

}  // namespace bitgraph
