// SPDX-License-Identifier: Apache-2.0
// What independent sets and colouring share: rows that are decided in the order of their priorities, in parallel.
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/core/types.hpp>

#include "core/threads/parallel.hpp"
#include "graph/packed_graph/undirected.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

namespace bitgraph {

/// Scratch of the host for rows that are decided in an order: the priority of every row, and the rows still open.
struct PriorityOrder {
  Buffer<std::uint64_t> priority;
  Buffer<NodeId> open;

  /// The priority of a row is priority_of(node, degree), with the node's number in the caller's numbering.
  template <class PriorityOf>
  PriorityOrder(const PackedGraph& graph, const PriorityOf& priority_of)
      : priority(graph.num_nodes(), graph.device()), open(graph.num_nodes(), graph.device()) {
    constexpr std::size_t worth_threads = std::size_t{1} << 12;
    with_undirected_view(graph, [&](const auto& view) {
      parallel_for(graph.device(), graph.num_nodes(), worth_threads, [&](std::size_t i) {
        const auto row = static_cast<NodeId>(i);
        priority[i] = priority_of(graph.node_of(row), view.degree(row));
      });
    });
  }
};

/// Calls decide(i) for every row until it returns true. A row's decision may wait for rows of higher priority only, so
/// one row can always be decided. Threads do not wait for each other between rounds. `open` is scratch for n rows.
template <class Decide>
void decide_all(const Device& device, std::size_t n, NodeId* open, const Decide& decide) {
  constexpr std::size_t worth_threads = 1024;
  const auto decide_range = [&](Range range) {
    NodeId* rows = open + range.begin;
    std::size_t left = 0;
    for (std::size_t i = range.begin; i < range.end; ++i) {
      if (!decide(static_cast<NodeId>(i))) rows[left++] = static_cast<NodeId>(i);
    }
    while (left != 0) {
      std::size_t kept = 0;
      for (std::size_t k = 0; k < left; ++k) {
        if (!decide(rows[k])) rows[kept++] = rows[k];
      }
      if (kept == left) std::this_thread::yield();  // others hold what these wait for
      left = kept;
    }
  };
  parallel_ranges(device, n, worth_threads, decide_range);
}

/// Values that several threads look at and each is written once.
template <class T>
T peek(T& value) {
  return std::atomic_ref<T>(value).load(std::memory_order_relaxed);
}
template <class T>
void publish(T& value, T now) {
  std::atomic_ref<T>(value).store(now, std::memory_order_relaxed);
}

}  // namespace bitgraph
