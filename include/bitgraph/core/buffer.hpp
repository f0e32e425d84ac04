// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/device.hpp>
#include <bitgraph/core/error.hpp>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

namespace bitgraph {

/// a * b, a number of elements. Throws not_possible if no memory can have so many.
[[nodiscard]] inline std::size_t checked_product(std::size_t a, std::size_t b) {
  if (b != 0 && a > std::numeric_limits<std::size_t>::max() / b) fail(ErrorCode::not_possible, "an array is too large");
  return a * b;
}

namespace detail {

/// Storage that is freed when the last copy of the pointer goes.
[[nodiscard]] std::shared_ptr<void> shared_allocation(const Device& device, std::size_t bytes, Storage storage);

/// Returns the shared owner of a buffer's storage on `device`, for a second buffer. If `owner` is empty, it takes the
/// storage over first. Several threads may share one buffer at the same time.
[[nodiscard]] std::shared_ptr<const void> shared_owner(std::shared_ptr<const void>& owner, void* data,
                                                       std::size_t bytes, const Device& device, const Device& user);

}  // namespace detail

/// An array of plain values on a device, aligned to 64 bytes. It moves; copies are asked for by name: clone().
/// Values on a CUDA device are not for the host to touch: to(Device{}) brings them.
/// The storage is owned, shared with other buffers, or borrowed from something kept alive with it (a mapped file,
/// another library's array).
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>, "a Buffer holds plain values");

 public:
  using value_type = T;

  Buffer() = default;

  /// `size` values, not initialised. Throws not_possible when memory runs out.
  explicit Buffer(std::size_t size, Device device = {}, Storage storage = Storage::pool)
      : size_(size), device_(std::move(device)) {
    if (size > std::numeric_limits<std::size_t>::max() / sizeof(T))
      fail(ErrorCode::not_possible, "an array is too large");
    if (size == 0) return;
    if (storage == Storage::pool) {
      data_ = static_cast<T*>(device_.allocate(size * sizeof(T)));
    } else {
      std::shared_ptr<void> memory = detail::shared_allocation(device_, size * sizeof(T), storage);
      data_ = static_cast<T*>(memory.get());
      owner_ = std::move(memory);
    }
  }

  Buffer(std::size_t size, T value, Device device = {}) : Buffer(size, std::move(device)) { fill(value); }

  Buffer(std::initializer_list<T> values, Device device = {})
      : Buffer(copy_of(std::span<const T>(values.begin(), values.size()), std::move(device))) {}

  /// A buffer over values that `owner` keeps alive. `owner` goes when the last buffer over them does.
  static Buffer borrow(T* data, std::size_t size, std::shared_ptr<const void> owner, Device device = {}) {
    Buffer buffer;
    buffer.data_ = data;
    buffer.size_ = size;
    buffer.owner_ = std::move(owner);
    buffer.device_ = std::move(device);
    return buffer;
  }

  /// Values of the host, on a device.
  static Buffer copy_of(std::span<const T> values, Device device = {}) {
    Buffer buffer(values.size(), std::move(device));
    Device::copy(buffer.data_, buffer.device_, values.data(), Device{}, values.size_bytes());
    return buffer;
  }

  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer moved(std::move(other));
    swap(moved);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() {
    if (data_ != nullptr && owner_ == nullptr) device_.deallocate(data_, bytes());
  }

  /// A second buffer over the same storage, which lives until the last of them is gone: nothing is copied. What is
  /// written through one is seen by the other, const or not; whoever shares says who may write. O(1).
  [[nodiscard]] Buffer share() const { return share(device_); }

  /// The same for operators of another handle of the same place (another stream, another number of threads, another
  /// stop token). What the first handle was asked for before comes ahead of what `device` is asked for; later work of
  /// the two has no order but by Device::wait_for. Where the streams differ, the second buffer waits for its own stream
  /// when it goes. Uses both handles: not while another thread does. Throws usage where the places differ.
  [[nodiscard]] Buffer share(const Device& device) const {
    require_same_place("sharing a buffer", "it", device_, "the other handle", device);
    Buffer other;
    if (data_ != nullptr) other.owner_ = detail::shared_owner(owner_, data_, bytes(), device_, device);
    other.data_ = data_;
    other.size_ = size_;
    other.device_ = device;
    return other;
  }

  [[nodiscard]] Buffer clone() const { return to(device_); }

  /// A copy on `device`.
  [[nodiscard]] Buffer to(const Device& device, Storage storage = Storage::pool) const {
    Buffer copy(size_, device, storage);
    Device::copy(copy.data_, copy.device_, data_, device_, bytes());
    return copy;
  }

  void fill(T value) {
    if (device_.is_host()) {
      std::fill_n(data_, size_, value);
    } else {
      device_.fill(data_, bytes(), &value, sizeof(T));
    }
  }

  [[nodiscard]] T* data() noexcept { return data_; }
  [[nodiscard]] const T* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t bytes() const noexcept { return size_ * sizeof(T); }
  [[nodiscard]] const Device& device() const noexcept { return device_; }

  // Of values on the host. Elements and iterators throw usage elsewhere, but in builds without NDEBUG only: loops over
  // them are hot. A span is checked nowhere: of values on a CUDA device it has the device's addresses.
  [[nodiscard]] std::span<T> span() noexcept { return {data_, size_}; }
  [[nodiscard]] std::span<const T> span() const noexcept { return {data_, size_}; }
  [[nodiscard]] T& operator[](std::size_t i) { return on_host()[i]; }
  [[nodiscard]] const T& operator[](std::size_t i) const { return on_host()[i]; }
  [[nodiscard]] T* begin() { return on_host(); }
  [[nodiscard]] T* end() { return on_host() + size_; }
  [[nodiscard]] const T* begin() const { return on_host(); }
  [[nodiscard]] const T* end() const { return on_host() + size_; }

  void swap(Buffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(owner_, other.owner_);
    std::swap(device_, other.device_);
  }

 private:
  [[nodiscard]] T* on_host() const {
#ifndef NDEBUG
    require_on_host("reading a buffer", device_);
#endif
    return data_;
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
  mutable std::shared_ptr<const void> owner_;  ///< empty: the buffer owns its storage alone; share() may set it
  Device device_;
};

}  // namespace bitgraph
