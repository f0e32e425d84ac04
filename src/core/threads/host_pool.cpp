// SPDX-License-Identifier: Apache-2.0
#include "core/threads/host_pool.hpp"

#include <pthread.h>

#include <atomic>

namespace bitgraph::host_pool {

namespace {

std::atomic<bool> lost{false};

}  // namespace

void about_to_start() {
  [[maybe_unused]] static const int watched =
      ::pthread_atfork(nullptr, nullptr, [] { lost.store(true, std::memory_order_relaxed); });
}

bool lost_in_fork() noexcept { return lost.load(std::memory_order_relaxed); }

}  // namespace bitgraph::host_pool
