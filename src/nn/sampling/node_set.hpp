// SPDX-License-Identifier: Apache-2.0
// A set of nodes that several threads fill at once, and that numbers its nodes by rising id.
#pragma once

#include <bitgraph/core/device.hpp>
#include <bitgraph/core/types.hpp>

#include "core/threads/parallel.hpp"

#include <atomic>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace bitgraph::nn {

class NodeSet {
 public:
  explicit NodeSet(std::size_t num_nodes) : words_((num_nodes + 63) / 64, 0), before_(words_.size(), 0) {}

  /// May run on many threads at once.
  void add(NodeId i) noexcept {
    const std::uint64_t bit = std::uint64_t{1} << (i % 64);
    std::atomic_ref<std::uint64_t> word(words_[i / 64]);
    if ((word.load(std::memory_order_relaxed) & bit) == 0) word.fetch_or(bit, std::memory_order_relaxed);
  }
  [[nodiscard]] bool has(NodeId i) const noexcept { return (words_[i / 64] >> (i % 64) & 1U) != 0; }

  /// Numbers the nodes; returns how many there are. O(nodes / 64).
  NodeId number(const Device& device) {
    parallel_for(device, words_.size(), word_grain,
                 [&](std::size_t w) { before_[w] = static_cast<NodeId>(std::popcount(words_[w])); });
    return exclusive_scan(device, std::span(before_));
  }
  /// The place of a node of the set among them, after number().
  [[nodiscard]] NodeId place(NodeId i) const noexcept {
    const std::uint64_t below = words_[i / 64] & ((std::uint64_t{1} << (i % 64)) - 1);
    return before_[i / 64] + static_cast<NodeId>(std::popcount(below));
  }
  /// Writes the nodes, rising, after number().
  void list(NodeId* to, const Device& device) const {
    parallel_for(device, words_.size(), word_grain, [&](std::size_t w) {
      NodeId* at = to + before_[w];
      for (std::uint64_t word = words_[w]; word != 0; word &= word - 1)
        *at++ = static_cast<NodeId>(w * 64 + static_cast<std::size_t>(std::countr_zero(word)));
    });
  }
  void clear(const Device& device) {
    parallel_for(device, words_.size(), word_grain, [&](std::size_t w) { words_[w] = 0; });
  }

 private:
  static constexpr std::size_t word_grain = 4096;
  std::vector<std::uint64_t> words_;
  std::vector<NodeId> before_;
};

}  // namespace bitgraph::nn
