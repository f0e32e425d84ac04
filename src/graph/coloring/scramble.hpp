// SPDX-License-Identifier: Apache-2.0
// How ties between nodes of as many neighbours are drawn.
#pragma once

#include <bitgraph/core/random.hpp>

#include <cstdint>

namespace bitgraph {

struct ScrambleKeys {
  std::uint32_t key[4] = {};
};

inline ScrambleKeys scramble_keys(std::uint64_t seed) {
  const auto words = random_words({seed, 41, 0}, 0);
  return {{words[0], words[1], words[2], words[3]}};
}

/// Numbers of 32 bits in another order: different ones stay different.
constexpr std::uint32_t scrambled(std::uint32_t number, const ScrambleKeys& keys) {
  for (const std::uint32_t key : keys.key) {
    number ^= key;
    number *= 0x9E3779B1U;  // odd: invertible
    number ^= number >> 15;
  }
  return number;
}

}  // namespace bitgraph
