// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/core/types.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace bitgraph {

/// Whole weights 1 .. 255 of a graph's entries as bit planes: what a weighted edge costs beside its one bit.
///
/// Blocks of 64 entries, row by row as the entries are numbered; a block is num_planes() words, word p holding bit p of
/// the 64 weights, entry e in bit e % 64. As many planes as the largest weight needs. Bits behind the last entry are
/// zero.
class EdgeWeights {
 public:
  static constexpr std::size_t block = 64;

  EdgeWeights() = default;

  [[nodiscard]] EdgeOffset size() const noexcept { return size_; }
  [[nodiscard]] int num_planes() const noexcept { return planes_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return words_.bytes(); }
  [[nodiscard]] std::span<const std::uint64_t> words() const noexcept { return words_.span(); }

  /// The weight of entry e.
  [[nodiscard]] int at(EdgeOffset e) const noexcept {
    const std::uint64_t* word = words_.data() + e / block * static_cast<std::size_t>(planes_);
    int weight = 0;
    for (int p = 0; p < planes_; ++p) weight |= static_cast<int>((word[p] >> (e % block)) & 1U) << p;
    return weight;
  }

 private:
  friend EdgeWeights pack_weights(std::span<const std::uint8_t>, const Device&);
  EdgeOffset size_ = 0;
  int planes_ = 0;
  Buffer<std::uint64_t> words_;
};

/// One byte an entry to bit planes. Throws usage for a weight of 0, naming the entry. O(entries), parallel.
[[nodiscard]] EdgeWeights pack_weights(std::span<const std::uint8_t> weights, const Device& device = {});

/// Bit planes to one byte an entry; the inverse of pack_weights.
[[nodiscard]] Buffer<std::uint8_t> unpack_weights(const EdgeWeights& weights, const Device& device = {});

}  // namespace bitgraph
