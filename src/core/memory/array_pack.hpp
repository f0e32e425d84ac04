// SPDX-License-Identifier: Apache-2.0
// Not installed.
#pragma once

#include <bitgraph/core/buffer.hpp>

#include "core/memory/lent.hpp"

#include <cstddef>
#include <memory>
#include <span>

namespace bitgraph {

/// Arrays of several types, made on the host in one piece of memory, so that they go to a device in one copy. The
/// memory grows to the most that was needed and stays.
///
///     pack.clear();
///     const auto degrees = pack.add<float>(n);  // places first
///     pack[degrees][0] = 1;                     // then values
///     pack.upload(there, device);
///     const Buffer<float> on_device = pack.lend(degrees);
///
/// A thread may fill it while another uses a device. The others of its functions are for the thread that has the
/// device.
class ArrayPack {
 public:
  template <class T>
  struct Place {
    std::size_t begin = 0;  ///< in bytes
    std::size_t size = 0;   ///< in values; a smaller one leaves out the last of them
  };

  ArrayPack() = default;
  ArrayPack(const ArrayPack&) = delete;
  ArrayPack& operator=(const ArrayPack&) = delete;
  ~ArrayPack() { wait(); }

  /// Forgets all arrays.
  void clear() noexcept { used_ = 0; }

  /// Room for one more array, not initialised. Values that are there already may move.
  template <class T>
  [[nodiscard]] Place<T> add(std::size_t size) {
    const std::size_t begin = used_;
    used_ += (checked_product(size, sizeof(T)) + alignment - 1) / alignment * alignment;
    if (used_ > room_) grow(begin);
    return {begin, size};
  }

  template <class T>
  [[nodiscard]] std::span<T> operator[](Place<T> place) noexcept {
    return {reinterpret_cast<T*>(data_ + place.begin), place.size};
  }

  /// Brings all arrays to `device`, in one copy behind what it was asked for before, from memory that the device reads
  /// by itself where there is enough of it. Returns at once: wait() before the pack is filled again. `there` is the
  /// memory on the device; it may be used by many packs in turns, and grows. On the host the arrays stay where they
  /// are.
  void upload(Buffer<std::byte>& there, const Device& device);

  /// Until the pack may be filled again.
  void wait() const noexcept;

  /// An array where upload() brought it, for as long as it stays there.
  template <class T>
  [[nodiscard]] Buffer<T> lend(Place<T> place) const {
    return lent(reinterpret_cast<T*>(lent_ + place.begin), place.size, device_);
  }

 private:
  static constexpr std::size_t alignment = 64;

  /// More room; the first `filled` bytes keep their values.
  void grow(std::size_t filled);
  /// Moves into pinned memory, unless there is too little of it.
  void pin(const Device& device);

  std::byte* data_ = nullptr;
  std::size_t used_ = 0;
  std::size_t room_ = 0;
  std::size_t refused_ = 0;       ///< so many bytes could not be pinned
  Buffer<std::byte> here_;        ///< where data_ is, or
  std::shared_ptr<void> pinned_;  ///< where it is from an upload on until it grows
  std::shared_ptr<void> copied_;  ///< the event of the last upload
  std::byte* lent_ = nullptr;
  Device device_;
};

}  // namespace bitgraph
