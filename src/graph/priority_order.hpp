// SPDX-License-Identifier: Apache-2.0
// What independent sets and colouring share: rows that are decided in the order of their priorities, in parallel.
#pragma once

#include <bitgraph/core/types.hpp>

#include "core/parallel.hpp"
#include "formats/rows.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

namespace bitgraph {

/// A graph read as undirected: the entries of a row in both directions. Loops are for the caller to leave out.
template <class Graph>
struct UndirectedView {
  Graph out;
  Graph in;
  bool symmetric = false;  ///< in is out

  [[nodiscard]] NodeId nrows() const noexcept { return out.nrows; }

  /// Whether fn(neighbor) is true for one of row i; none behind the first one is looked at.
  template <class Fn>
  bool any(NodeId i, Fn&& fn) const {
    return any_entry(out, i, fn) || (!symmetric && any_entry(in, i, fn));
  }

  template <class Fn>
  void each(NodeId i, Fn&& fn) const {
    for_each_entry(out, i, fn);
    if (!symmetric) for_each_entry(in, i, fn);
  }

  /// Entries of row i but for loops; those of both directions count twice.
  [[nodiscard]] std::uint32_t degree(NodeId i) const {
    std::uint32_t count = 0;
    each(i, [&](NodeId j) { count += j != i ? 1 : 0; });
    return count;
  }
};

/// Calls decide(i) for every row until it is true. A row's decision may wait for rows of higher priority, and for those
/// only, so that there is always one that can be made; no thread waits for the others before it goes on. `open` is room
/// for n rows.
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
