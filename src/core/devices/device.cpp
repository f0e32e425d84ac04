// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/core/device.hpp>

#include <bitgraph/core/error.hpp>

#include "core/cuda/runtime.hpp"
#include "core/memory/host_memory.hpp"
#include "core/memory/storage_room.hpp"
#include "core/threads/host_pool.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

namespace bitgraph {

namespace {

constexpr std::align_val_t alignment{64};

/// Rounded up, so that a kernel may read a whole vector at the end of an array.
std::size_t padded(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

/// What can be had, as far as it matters for a request. The system promises more memory than it has and ends the
/// process once the pages are touched, so large requests are compared with what is free.
std::size_t room_for(std::size_t bytes) {
  constexpr std::size_t harmless = std::size_t{64} << 20;
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max() / 2;
  return bytes <= harmless ? bytes : std::min(most, available_memory());
}

[[noreturn]] void fail_for_memory(std::size_t bytes, std::size_t room) {
  const std::string needed = "not enough memory: " + std::to_string(bytes) + " bytes are needed";
  fail(ErrorCode::not_possible, bytes <= room ? needed
                                              : needed + " and " + std::to_string(room) + " are free; " +
                                                    std::to_string(bytes - room) + " are missing");
}

}  // namespace

/// Storage that grows and is kept.
struct Scratch {
  void* data = nullptr;
  std::size_t bytes = 0;
};

struct Device::State {
  int index = 0;
  int threads = 1;
  void* stream = nullptr;
  bool owns_stream = false;
  Scratch scratch, zeroed;
  std::atomic<std::size_t> live{0};
  std::atomic<std::size_t> peak{0};
  std::atomic<std::size_t> allocations{0};
  std::shared_ptr<StorageRoom> room;  ///< of with_room(): then scratch and record are those of
  std::shared_ptr<State> whole;       ///< this one; null: a handle without any

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    for (const Scratch& s : {scratch, zeroed}) {
      if (s.data != nullptr) cuda_runtime::deallocate(index, stream, s.data);
    }
    if (owns_stream) cuda_runtime::destroy_stream(index, stream);
  }
};

Device Device::host(int threads) {
  require(threads >= 0, "the number of threads must not be negative");
  auto state = std::make_shared<State>();
  state->threads = threads == 0 ? omp_get_max_threads() : threads;
  return Device(std::move(state), Kind::host, 0);
}

Device Device::cuda(int index, void* stream) {
  cuda_runtime::require_device(index);
  auto state = std::make_shared<State>();
  state->index = index;
  state->threads = omp_get_max_threads();
  state->stream = stream == nullptr ? cuda_runtime::create_stream(index) : stream;
  state->owns_stream = stream == nullptr;
  return Device(std::move(state), Kind::cuda, index);
}

Device Device::best() { return cuda_runtime::device_count() > 0 ? cuda() : host(); }

bool Device::cuda_built() noexcept { return cuda_runtime::built; }

int Device::threads() const noexcept {
  if (host_pool::lost_in_fork()) return 1;
  return state_ ? state_->threads : omp_get_max_threads();
}

void* Device::stream() const noexcept { return state_ ? state_->stream : nullptr; }

void Device::synchronize() const {
  if (!is_host()) cuda_runtime::synchronize(index(), stream());
}

void Device::wait_for(const Device& earlier) const {
  if (earlier.is_host() || *this == earlier) return;
  if (is_host()) return earlier.synchronize();
  cuda_runtime::order({earlier.index(), earlier.stream()}, {index(), stream()});
}

Device Device::with_stop(std::stop_token stop) const {
  Device device = *this;
  device.stop_ = std::move(stop);
  return device;
}

Device Device::with_room(std::shared_ptr<StorageRoom> room) const {
  auto state = std::make_shared<State>();
  state->index = index_;
  state->threads = threads();
  state->stream = stream();
  state->room = std::move(room);
  state->whole = has_room() ? state_->whole : state_;
  Device device(std::move(state), kind_, index_);
  device.stop_ = stop_;
  return device;
}

bool Device::has_room() const noexcept { return state_ && state_->room; }
Device Device::without_room() const { return Device(state_->whole, kind_, index_); }

void Device::fail_stopped() { fail(ErrorCode::stopped, "stopped, as the caller asked"); }

std::string Device::name() const { return is_host() ? "cpu" : "cuda:" + std::to_string(index()); }

MemoryUse Device::memory() const noexcept {
  if (has_room()) return without_room().memory();
  if (!state_) return {};
  return {state_->live.load(), state_->peak.load(), state_->allocations.load()};
}

void Device::reset_peak() const noexcept {
  if (has_room()) return without_room().reset_peak();
  if (state_) state_->peak.store(state_->live.load());
}

void* Device::allocate(std::size_t bytes, Storage storage) const {
  void* data = nullptr;
  if (has_room()) {
    if (storage == Storage::pool) data = state_->room->take(bytes);
    return data != nullptr ? data : without_room().allocate(bytes, storage);
  }
  if (!is_host()) {
    data = storage == Storage::pool ? cuda_runtime::allocate(index(), stream(), padded(bytes))
                                    : cuda_runtime::allocate_plain(index(), padded(bytes));
  } else {
    const std::size_t room = room_for(bytes);
    if (bytes <= room) data = ::operator new(padded(bytes), alignment, std::nothrow);
    if (data == nullptr) fail_for_memory(bytes, room);
    prefer_large_pages(data, bytes);
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

void Device::deallocate(void* data, std::size_t bytes, Storage storage) const noexcept {
  if (has_room()) {
    if (!state_->room->give_back(data)) without_room().deallocate(data, bytes, storage);
    return;
  }
  if (is_host()) {
    ::operator delete(data, alignment);
  } else if (storage == Storage::pool) {
    cuda_runtime::deallocate(index(), stream(), data);
  } else {
    cuda_runtime::deallocate_plain(index(), stream(), data);
  }
  if (state_) state_->live.fetch_sub(bytes);
}

void* Device::workspace(std::size_t bytes) const {
  require(!is_host(), "a workspace is of a CUDA device");
  if (has_room()) return without_room().workspace(bytes);
  Scratch& scratch = state_->scratch;
  if (scratch.bytes < bytes) {
    if (scratch.data != nullptr) deallocate(std::exchange(scratch.data, nullptr), std::exchange(scratch.bytes, 0));
    scratch.data = allocate(bytes);
    scratch.bytes = bytes;
  }
  return scratch.data;
}

void* Device::zeroed_workspace(std::size_t bytes) const {
  require(!is_host(), "a workspace is of a CUDA device");
  if (has_room()) return without_room().zeroed_workspace(bytes);
  Scratch& zeroed = state_->zeroed;
  bytes = (bytes + 7) / 8 * 8;
  if (zeroed.bytes < bytes) {
    if (zeroed.data != nullptr) deallocate(std::exchange(zeroed.data, nullptr), std::exchange(zeroed.bytes, 0));
    zeroed.data = allocate(bytes);
    zeroed.bytes = bytes;
    const std::uint64_t zero = 0;
    fill(zeroed.data, bytes, &zero, sizeof(zero));
  }
  return zeroed.data;
}

void Device::fill(void* data, std::size_t bytes, const void* pattern, std::size_t pattern_size) const {
  require(pattern_size != 0 && bytes % pattern_size == 0, "fill: the size is not a multiple of the pattern's");
  if (!is_host()) return cuda_runtime::fill(index(), stream(), data, bytes, pattern, pattern_size);
  for (std::size_t at = 0; at < bytes; at += pattern_size) {
    std::memcpy(static_cast<std::byte*>(data) + at, pattern, pattern_size);
  }
}

void Device::copy(void* to, const Device& target, const void* from, const Device& source, std::size_t bytes) {
  if (bytes == 0) return;
  if (target.is_host() && source.is_host()) {
    std::memcpy(to, from, bytes);
    return;
  }
  if (!target.is_host() && !source.is_host()) {
    return cuda_runtime::copy_between({target.index(), target.stream()}, to, {source.index(), source.stream()}, from,
                                      bytes);
  }
  const Device& device = target.is_host() ? source : target;
  cuda_runtime::copy(device.index(), device.stream(), to, from, bytes);
}

void detail::fail_mixed_devices(const char* op, const char* a_name, const Device& a, const char* b_name,
                                const Device& b) {
  if (same_place(a, b)) {
    fail(ErrorCode::usage, fmt::format("{}: {} and {} are both on {}, but on different streams; bring one to the other "
                                       "with to(), or share it with share()",
                                       op, a_name, b_name, a.name()));
  }
  fail(ErrorCode::usage, fmt::format("{}: {} is on {}, {} on {}; bring one to the other with to()", op, a_name,
                                     a.name(), b_name, b.name()));
}

void detail::fail_not_on_host(const char* what, const Device& device) {
  fail(ErrorCode::usage, fmt::format("{}: the values are on {}; bring them with to(Device{{}})", what, device.name()));
}

}  // namespace bitgraph
