// SPDX-License-Identifier: Apache-2.0
// Bit rows of the long rows of a pattern: to AND two of them costs less than to look up each column of a long row.
#pragma once

#include <bitgraph/core/buffer.hpp>

#include "core/threads/parallel.hpp"
#include "ops/mxm/mxm.hpp"

#include <algorithm>
#include <atomic>

namespace bitgraph {

class LongRowBits {
 public:
  /// Words of a bit row.
  [[nodiscard]] static std::size_t words_of(NodeId ncols) noexcept {
    constexpr std::size_t block_bits = long_row_block * 64;
    return (std::size_t{ncols} + block_bits - 1) / block_bits * long_row_block;
  }

  /// O(rows + words of the bit rows), of which there are 64 MiB at most.
  LongRowBits(const CsrPatternView& a, const Device& device) : words_(words_of(a.ncols)) {
    // As many columns as words: then the bits are no more memory than twice the columns.
    const std::size_t long_row = std::max(cpu_mxm_tuning().least_long_row, words_);
    std::atomic<std::size_t> found{0};
    parallel_chunks(device, a.nrows, grain, [&](Range rows) {
      std::size_t here = 0;
      for (std::size_t i = rows.begin; i < rows.end; ++i) here += a.row_ptr[i + 1] - a.row_ptr[i] >= long_row ? 1 : 0;
      found += here;
    });
    const std::size_t most = std::min<std::size_t>(found, cpu_mxm_tuning().most_long_row_bytes / (words_ * 8 + 1));
    if (most == 0) return;
    place_ = Buffer<std::uint32_t>(a.nrows, 0U, device);
    Buffer<NodeId> rows(most, device);
    std::size_t count = 0;
    for (NodeId i = 0; i < a.nrows && count < most; ++i) {
      if (a.row_ptr[i + 1] - a.row_ptr[i] < long_row) continue;
      rows[count++] = i;
      place_[i] = static_cast<std::uint32_t>(count);
    }
    bits_ = Buffer<std::uint64_t>(most * words_, device);
    parallel_chunks(device, most, 16, [&](Range range) {
      for (std::size_t n = range.begin; n < range.end; ++n) {
        std::uint64_t* bits = bits_.data() + n * words_;
        std::fill_n(bits, words_, std::uint64_t{0});
        for (const NodeId j : a.row(rows[n])) bits[j / 64] |= std::uint64_t{1} << (j % 64);
      }
    });
  }

  [[nodiscard]] LongRows view() const noexcept { return {place_.data(), bits_.data(), words_}; }

 private:
  static constexpr std::size_t grain = 4096;
  std::size_t words_;
  Buffer<std::uint32_t> place_;
  Buffer<std::uint64_t> bits_;
};

}  // namespace bitgraph
