// SPDX-License-Identifier: Apache-2.0
// Random numbers of samplers, and what makes up for the neighbours that they leave out.
#pragma once

#include <bitgraph/core/random.hpp>
#include <bitgraph/core/types.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace bitgraph::nn {

/// What a stream is for. They lie apart from the tensors of training.
enum class Draw : std::uint32_t { neighbors = 0x5A00, walk, counted_walk, order };

/// What a sum over drawn neighbours is multiplied by: `neighbors` there are, and `vote` is one over those drawn. Host
/// and devices have the same bits.
[[nodiscard]] constexpr float drawn_sum_scale(float factor, float neighbors, float vote) noexcept {
  return factor * (neighbors * vote);
}

/// A batch's own seed.
inline std::uint64_t seed_of_batch(std::uint64_t seed, Draw draw, std::uint32_t epoch, std::uint32_t batch) noexcept {
  return random_bits({seed, static_cast<std::uint32_t>(draw), epoch}, batch);
}

/// Whole numbers below bounds, one behind another, for one node (or walk) of a batch: 32 random bits each, so that the
/// bias is below bound / 2^32.
class NodeDraws {
 public:
  NodeDraws(std::uint64_t batch_seed, std::uint32_t hop, NodeId node) noexcept
      : seed_(batch_seed), hop_(hop), node_(node) {}

  std::uint32_t below(std::uint64_t bound) noexcept {
    if (next_ % 4 == 0) words_ = random_words({seed_, hop_, next_ / 4}, node_);
    return static_cast<std::uint32_t>(words_[next_++ % 4] * bound >> 32);
  }

  /// What the first `count` calls of below() would multiply, before any of them. Blocks do not wait for each other.
  template <std::size_t most>
  void first_words(std::array<std::uint32_t, most>& words, std::size_t count) const noexcept {
    static_assert(most % 4 == 0);
    for (std::size_t n = 0; n < count; n += 4) {
      const auto four = random_words({seed_, hop_, static_cast<std::uint32_t>(n / 4)}, node_);
      std::copy(four.begin(), four.end(), words.begin() + static_cast<std::ptrdiff_t>(n));
    }
  }

 private:
  std::uint64_t seed_;
  std::uint32_t hop_;
  NodeId node_;
  std::uint32_t next_ = 0;
  std::array<std::uint32_t, 4> words_{};
};

}  // namespace bitgraph::nn
