// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/formats/views.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bitgraph {

/// A set of nodes as bits: a frontier, the visited nodes, a mask. Element i is bit i % 64 (least significant first) of
/// word i / 64. The bits behind the last element are zero, always.
class BitVector {
 public:
  BitVector() = default;

  /// `size` zeros.
  explicit BitVector(std::size_t size, Device device = {})
      : size_(size), words_(words_for_bits(size), std::uint64_t{0}, std::move(device)) {}

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return words_.bytes(); }
  [[nodiscard]] const Device& device() const noexcept { return words_.device(); }

  /// Elements one by one, and comparison, are for values on the host. They throw usage elsewhere.
  [[nodiscard]] bool bit(std::size_t i) const {
    require_on_host("reading a bit", device());
    return view().bit(i);
  }
  void set_bit(std::size_t i, bool bit) {
    require_on_host("setting a bit", device());
    std::uint64_t& word = words_[i / 64];
    const std::uint64_t mask = std::uint64_t{1} << (i % 64);
    word = bit ? (word | mask) : (word & ~mask);
  }

  [[nodiscard]] std::span<const std::uint64_t> words() const noexcept { return words_.span(); }
  [[nodiscard]] std::span<std::uint64_t> words() noexcept { return words_.span(); }
  [[nodiscard]] BitVectorView<> view() const noexcept { return {size_, words_.data()}; }
  [[nodiscard]] BitVectorView<std::uint64_t> view() noexcept { return {size_, words_.data()}; }

  [[nodiscard]] BitVector clone() const { return BitVector(size_, words_.clone()); }
  [[nodiscard]] BitVector to(const Device& device) const { return BitVector(size_, words_.to(device)); }

  /// The same storage, not copied, under a handle of the same place: see Buffer::share.
  [[nodiscard]] BitVector share(const Device& device) const { return BitVector(size_, words_.share(device)); }
  [[nodiscard]] BitVector share() const { return share(device()); }

  friend bool operator==(const BitVector& a, const BitVector& b) {
    require_on_host("comparing bit vectors", a.device());
    require_on_host("comparing bit vectors", b.device());
    return a.size_ == b.size_ && std::equal(a.words_.begin(), a.words_.end(), b.words_.begin());
  }

 private:
  BitVector(std::size_t size, Buffer<std::uint64_t> words) : size_(size), words_(std::move(words)) {}

  std::size_t size_ = 0;
  Buffer<std::uint64_t> words_;
};

/// Which elements of an output are computed: those whose bit is set, or with ~ those whose bit is not. Empty: all.
/// It refers to the vector, which must outlive it.
struct Mask {
  Mask() = default;
  Mask(const BitVector& vector) : bits(&vector) {}  // NOLINT(google-explicit-constructor): a vector is a mask

  const BitVector* bits = nullptr;
  bool complement = false;
};

[[nodiscard]] inline Mask operator~(const BitVector& vector) {
  Mask mask(vector);
  mask.complement = true;
  return mask;
}

}  // namespace bitgraph
