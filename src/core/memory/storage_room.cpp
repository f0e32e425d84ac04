// SPDX-License-Identifier: Apache-2.0
#include "core/memory/storage_room.hpp"

#include <functional>

namespace bitgraph {

void* StorageRoom::take(std::size_t bytes) {
  const std::lock_guard lock(guard_);
  if (!open_ || bytes > size_) return nullptr;
  bytes = (bytes + alignment - 1) / alignment * alignment;
  std::size_t begin = 0;
  auto next = pieces_.begin();
  while (next != pieces_.end() && next->first - begin < bytes) begin = next++->second;
  if (next == pieces_.end() && (begin > size_ || size_ - begin < bytes)) return nullptr;
  pieces_.emplace_hint(next, begin, begin + bytes);
  return data_ + begin;
}

bool StorageRoom::give_back(void* data) noexcept {
  const auto* const at = static_cast<const std::byte*>(data);
  if (std::less<>()(at, static_cast<const std::byte*>(data_)) || !std::less<>()(at, data_ + size_)) return false;
  const std::lock_guard lock(guard_);
  pieces_.erase(static_cast<std::size_t>(at - data_));
  return true;
}

void StorageRoom::close() noexcept {
  const std::lock_guard lock(guard_);
  open_ = false;
}

void StorageRoom::reopen() noexcept {
  const std::lock_guard lock(guard_);
  open_ = true;
  size_ = pieces_.empty() ? 0 : pieces_.rbegin()->second;
}

std::size_t StorageRoom::used() const noexcept {
  const std::lock_guard lock(guard_);
  return pieces_.empty() ? 0 : pieces_.rbegin()->second;
}

}  // namespace bitgraph
