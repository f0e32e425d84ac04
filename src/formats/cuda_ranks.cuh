// SPDX-License-Identifier: Apache-2.0
// Some of many things, in their order: bits say which, and the bits before a bit are its place among those kept.
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/core/types.hpp>
#include <bitgraph/formats/bit_vector.hpp>

#include <cstddef>
#include <cstdint>

namespace bitgraph::cuda_formats {

inline constexpr unsigned rank_block = 256;  ///< bits that are counted together

/// What a kernel sees of bits and their counts.
struct RankView {
  std::size_t size = 0;
  const std::uint32_t* words = nullptr;
  const EdgeOffset* before = nullptr;  ///< set bits before each block

  [[nodiscard]] __device__ bool bit(std::size_t u) const { return (words[u / 32] >> (u % 32) & 1U) != 0; }

  /// Set bits before bit u; u may be size.
  [[nodiscard]] __device__ EdgeOffset rank(std::size_t u) const {
    EdgeOffset sum = before[u / rank_block];
    for (std::size_t w = u / rank_block * (rank_block / 32); w < u / 32; ++w) sum += __popc(words[w]);
    if (u % 32 != 0) sum += __popc(words[u / 32] & ((1U << (u % 32)) - 1));
    return sum;
  }
};

/// The counts of a set on a CUDA device; the set must outlive them. Waits for the device.
class Ranks {
 public:
  explicit Ranks(const BitVector& bits);
  [[nodiscard]] RankView view() const noexcept { return {size_, words_, before_.data()}; }
  [[nodiscard]] EdgeOffset count() const noexcept { return count_; }  ///< bits that are set

 private:
  std::size_t size_ = 0;
  const std::uint32_t* words_ = nullptr;
  Buffer<EdgeOffset> before_;
  EdgeOffset count_ = 0;
};

/// Row pointers of what is kept of rows: row_ptr[i] becomes its rank. `nrows` + 1 of them.
[[nodiscard]] Buffer<EdgeOffset> kept_row_ptr(const Ranks& ranks, const EdgeOffset* row_ptr, NodeId nrows,
                                              const Device& device);

}  // namespace bitgraph::cuda_formats
