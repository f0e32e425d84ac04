// SPDX-License-Identifier: Apache-2.0
// Loops whose threads each have a workspace. Not installed.
#pragma once

#include "core/threads/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>

namespace bitgraph {

/// How many workspaces for_chunks_of_threads needs.
[[nodiscard]] inline std::size_t num_workspaces(const Device& device, std::size_t n, std::size_t chunk) noexcept {
  return std::min(static_cast<std::size_t>(device.threads()), std::max<std::size_t>(1, (n + chunk - 1) / chunk));
}

/// body(workspace, Range) over chunks of [0, n), handed out one after another: for very uneven work. No two calls at a
/// time have the same workspace, a number below num_workspaces().
template <class Body>
void for_chunks_of_threads(const Device& device, std::size_t n, std::size_t chunk, Body&& body) {
  if (n == 0) return;
  if (num_workspaces(device, n, chunk) == 1) return body(std::size_t{0}, Range{0, n});
  const std::size_t workspaces = num_workspaces(device, n, chunk);
  std::atomic<std::size_t> next{0};
  parallel_region(device, [&](int thread, int) {
    const auto workspace = static_cast<std::size_t>(thread);
    if (workspace >= workspaces) return;
    for (std::size_t begin = next.fetch_add(chunk); begin < n; begin = next.fetch_add(chunk)) {
      body(workspace, Range{begin, std::min(n, begin + chunk)});
    }
  });
}

}  // namespace bitgraph
