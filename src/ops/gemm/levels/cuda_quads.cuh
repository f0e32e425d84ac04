// SPDX-License-Identifier: Apache-2.0
// Matrix instructions leave four neighbouring lanes, a quad, two outputs each of every eight of a row. Here the lanes
// of a quad change levels, so that each has all eight outputs of some tiles, and stores them together.
#pragma once

#include <bitgraph/core/kernel.cuh>

#include <cstdint>

namespace bitgraph::level_cuda {

/// The sum of a row's levels, of which the lanes of its quad have parts.
__device__ inline float add_quad(std::uint32_t value) {
  value += __shfl_xor_sync(full_warp, value, 1);
  value += __shfl_xor_sync(full_warp, value, 2);
  return static_cast<float>(value);
}

/// What a lane does when its quad changes levels. Lane q has outputs 2q and 2q + 1 of four tiles before, and all
/// outputs of tile q afterwards.
class QuadTurn {
 public:
  __device__ explicit QuadTurn(unsigned lane)
      : upper_(lane % 4 >= 2),
        bytes_of_pair_(lane % 2 == 0 ? 0x6240 : 0x3715),
        bytes_of_quad_(upper_ ? 0x3276 : 0x5410),
        halves_given_(lane % 2 == 0 ? 0x7632 : 0x5410),
        first_halves_(lane % 2 == 0 ? 0x5410 : 0x3254),
        second_halves_(lane % 2 == 0 ? 0x7610 : 0x3276) {}

  /// Of levels of 4 bits: byte i of `word` has two outputs of tile i, that of the result those of lane i.
  [[nodiscard]] __device__ std::uint32_t bytes(std::uint32_t word) const {
    word = __byte_perm(word, __shfl_xor_sync(full_warp, word, 1), bytes_of_pair_);
    return __byte_perm(word, __shfl_xor_sync(full_warp, word, 2), bytes_of_quad_);
  }

  /// Of levels of 8 bits: half i has two outputs of tile i, and afterwards those of lane i; the first two halves in
  /// one word, the others in the second.
  __device__ void halves(std::uint32_t& first, std::uint32_t& second) const {
    const std::uint32_t got = __shfl_xor_sync(full_warp, upper_ ? first : second, 2);
    const std::uint32_t kept = upper_ ? second : first;
    const std::uint32_t lower = upper_ ? got : kept, higher = upper_ ? kept : got;
    const std::uint32_t others = __shfl_xor_sync(full_warp, __byte_perm(lower, higher, halves_given_), 1);
    first = __byte_perm(lower, others, first_halves_);
    second = __byte_perm(higher, others, second_halves_);
  }

 private:
  bool upper_;
  std::uint32_t bytes_of_pair_, bytes_of_quad_;
  std::uint32_t halves_given_, first_halves_, second_halves_;
};

}  // namespace bitgraph::level_cuda
