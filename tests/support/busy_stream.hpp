// SPDX-License-Identifier: Apache-2.0
// Work that keeps the stream of a CUDA device busy, so that what does not wait for it is seen.
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/core/device.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace bitgraph::test {

inline constexpr std::size_t busy_size = std::size_t{1} << 26;  // 256 MB: a fill takes long enough to be overtaken

/// Keeps a buffer's stream busy for some milliseconds.
inline void keep_busy(Buffer<std::uint32_t>& buffer) {
  for (std::uint32_t n = 0; n < 60; ++n) buffer.fill(1000 + n);
}

/// How many values are not `expected`.
inline std::size_t others(const Buffer<std::uint32_t>& buffer, std::uint32_t expected) {
  const Buffer<std::uint32_t> here = buffer.to(Device{});
  return here.size() - static_cast<std::size_t>(std::count(here.begin(), here.end(), expected));
}

}  // namespace bitgraph::test
