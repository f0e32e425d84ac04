// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/core/device.hpp>

#include <bitgraph/core/error.hpp>

#include "core/host_memory.hpp"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <new>

namespace bitgraph {

namespace {

constexpr std::align_val_t alignment{64};

/// Rounded up, so that a kernel may read a whole vector at the end of an array.
std::size_t padded(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

/// Whether that much can be had. The system promises more memory than it has and ends the process once the pages are
/// touched, so large requests are compared with what is free.
bool there_is_room_for(std::size_t bytes) {
  constexpr std::size_t harmless = std::size_t{64} << 20;
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max() / 2;
  return bytes <= harmless || bytes <= std::min(most, available_memory());
}

}  // namespace

struct Device::State {
  Kind kind = Kind::host;
  int index = 0;
  int threads = 1;
  std::atomic<std::size_t> live{0};
  std::atomic<std::size_t> peak{0};
  std::atomic<std::size_t> allocations{0};
};

Device Device::host(int threads) {
  require(threads >= 0, "the number of threads must not be negative");
  auto state = std::make_shared<State>();
  state->threads = threads == 0 ? omp_get_max_threads() : threads;
  return Device(std::move(state));
}

Device Device::cuda(int index) {
  fail(ErrorCode::not_possible,
       "cuda:" + std::to_string(index) +
           ": this bitgraph was built without CUDA; use the device 'cpu', or build with the preset 'cuda'");
}

Device Device::best() { return host(); }

bool Device::cuda_built() noexcept { return false; }

Device::Kind Device::kind() const noexcept { return state_ ? state_->kind : Kind::host; }

int Device::index() const noexcept { return state_ ? state_->index : 0; }

int Device::threads() const noexcept { return state_ ? state_->threads : omp_get_max_threads(); }

std::string Device::name() const { return is_host() ? "cpu" : "cuda:" + std::to_string(index()); }

MemoryUse Device::memory() const noexcept {
  if (!state_) return {};
  return {state_->live.load(), state_->peak.load(), state_->allocations.load()};
}

void Device::reset_peak() const noexcept {
  if (state_) state_->peak.store(state_->live.load());
}

void* Device::allocate(std::size_t bytes) const {
  void* data = there_is_room_for(bytes) ? ::operator new(padded(bytes), alignment, std::nothrow) : nullptr;
  if (data == nullptr) {
    fail(ErrorCode::not_possible, "not enough memory: " + std::to_string(bytes) + " bytes were asked for");
  }
  if (state_) {
    const std::size_t live = state_->live.fetch_add(bytes) + bytes;
    std::size_t peak = state_->peak.load();
    while (peak < live && !state_->peak.compare_exchange_weak(peak, live)) {
    }
    state_->allocations.fetch_add(1);
  }
  return data;
}

void Device::deallocate(void* data, std::size_t bytes) const noexcept {
  ::operator delete(data, alignment);
  if (state_) state_->live.fetch_sub(bytes);
}

}  // namespace bitgraph
