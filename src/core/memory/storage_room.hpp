// SPDX-License-Identifier: Apache-2.0
// Not installed.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

namespace bitgraph {

/// One piece of memory that buffers are taken from, so that all of them go elsewhere and come back in one copy. See
/// Device::with_room. A buffer that does not fit, or comes after close(), lies outside of it, and nothing else changes.
///
///     auto room = std::make_shared<StorageRoom>(memory.data(), memory.size());
///     const CsrPattern there = pattern.to(device.with_room(room));  // in `memory`
///     room->close();
///     // the first room->used() bytes of `memory` are all that `there` needs
///
/// Several threads may take and give back. Its memory outlives it.
class StorageRoom {
 public:
  StorageRoom(std::byte* data, std::size_t size) : data_(data), size_(size) {}
  StorageRoom(const StorageRoom&) = delete;
  StorageRoom& operator=(const StorageRoom&) = delete;

  /// The first gap that is large enough; null: there is none. What was given back is taken again. O(pieces).
  [[nodiscard]] void* take(std::size_t bytes);

  /// False: it was not taken from here. O(log pieces).
  bool give_back(void* data) noexcept;

  /// Nothing more is taken.
  void close() noexcept;

  /// Pieces are taken again, where all of them end within used(): what goes and comes in one copy stays as long.
  void reopen() noexcept;

  /// Up to the end of the last piece.
  [[nodiscard]] std::size_t used() const noexcept;

  /// Of every piece, as CUDA aligns what it allocates.
  static constexpr std::size_t alignment = 256;

 private:
  std::byte* data_;
  std::size_t size_;
  mutable std::mutex guard_;
  bool open_ = true;
  std::map<std::size_t, std::size_t> pieces_;  ///< where each begins and ends
};

}  // namespace bitgraph
