// SPDX-License-Identifier: Apache-2.0
// Scans and sorts on a CUDA device, by CUB, for all conversions: each compiled once; and what sorted keys are made
// into.
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/core/types.hpp>

#include <cstddef>
#include <cstdint>

namespace bitgraph::cuda_formats {

/// Sizes become row pointers: values[i] the sum of the values before it. The last value, which is of no row and must be
/// 0, becomes the sum of all; it is returned, and the device waited for.
[[nodiscard]] EdgeOffset exclusive_scan(Buffer<EdgeOffset>& values);

/// Keys by their bits [begin_bit, end_bit), rising; equal ones keep their order. Radix sort: 8 bytes a key beside them.
[[nodiscard]] Buffer<std::uint64_t> sorted(Buffer<std::uint64_t> keys, int begin_bit, int end_bit);

/// Sorted keys without repetitions. 8 bytes a key beside them.
[[nodiscard]] Buffer<std::uint64_t> without_repetitions(Buffer<std::uint64_t> keys);

/// Row pointers of sorted keys, whose bits from low_bits on are a row below nrows.
[[nodiscard]] Buffer<EdgeOffset> row_pointers(const Buffer<std::uint64_t>& keys, int low_bits, NodeId nrows);

/// Bits that hold every number below n.
[[nodiscard]] constexpr int bits_for(std::uint64_t n) noexcept {
  int bits = 0;
  while (bits < 64 && n > (std::uint64_t{1} << bits)) ++bits;
  return bits;
}

}  // namespace bitgraph::cuda_formats
