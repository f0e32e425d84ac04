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

/// a * b elements. Throws not_possible where that is more than any memory has.
[[nodiscard]] inline std::size_t checked_product(std::size_t a, std::size_t b) {
  if (b != 0 && a > std::numeric_limits<std::size_t>::max() / b) fail(ErrorCode::not_possible, "an array is too large");
  return a * b;
}

/// An array of plain values on a device, aligned to 64 bytes. It moves; copies are asked for by name: clone().
/// Values on a CUDA device are not for the host to touch: to(Device{}) brings them.
/// The storage is owned, or borrowed from something kept alive with it (a mapped file, another library's array).
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>, "a Buffer holds plain values");

 public:
  using value_type = T;

  Buffer() = default;

  /// `size` values, not initialised. Throws not_possible when memory runs out.
  explicit Buffer(std::size_t size, Device device = {}) : size_(size), device_(std::move(device)) {
    if (size > std::numeric_limits<std::size_t>::max() / sizeof(T))
      fail(ErrorCode::not_possible, "an array is too large");
    if (size != 0) data_ = static_cast<T*>(device_.allocate(size * sizeof(T)));
  }

  Buffer(std::size_t size, T value, Device device = {}) : Buffer(size, std::move(device)) { fill(value); }

  Buffer(std::initializer_list<T> values, Device device = {})
      : Buffer(copy_of(std::span<const T>(values.begin(), values.size()), std::move(device))) {}

  /// A buffer over values that `owner` keeps alive.
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

  [[nodiscard]] Buffer clone() const { return to(device_); }

  /// A copy on `device`.
  [[nodiscard]] Buffer to(const Device& device) const {
    Buffer copy(size_, device);
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
  [[nodiscard]] bool is_borrowed() const noexcept { return owner_ != nullptr; }

  // Spans, elements and iterators: of values on the host.
  [[nodiscard]] std::span<T> span() noexcept { return {data_, size_}; }
  [[nodiscard]] std::span<const T> span() const noexcept { return {data_, size_}; }
  [[nodiscard]] T& operator[](std::size_t i) noexcept { return data_[i]; }
  [[nodiscard]] const T& operator[](std::size_t i) const noexcept { return data_[i]; }
  [[nodiscard]] T* begin() noexcept { return data_; }
  [[nodiscard]] T* end() noexcept { return data_ + size_; }
  [[nodiscard]] const T* begin() const noexcept { return data_; }
  [[nodiscard]] const T* end() const noexcept { return data_ + size_; }

  void swap(Buffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(owner_, other.owner_);
    std::swap(device_, other.device_);
  }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::shared_ptr<const void> owner_;
  Device device_;
};

}  // namespace bitgraph
