// SPDX-License-Identifier: Apache-2.0
// The columns of one row of a product while it is gathered.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace bitgraph {

/// A set of numbers below n as bits, under levels of bits that tell which words of the level below are not zero:
/// inserting is a bit or two, and going through k members in order, emptying the set, costs O(k), not O(n / 64).
class ColumnSet {
 public:
  static constexpr int max_levels = 6;  // 64^6 columns and more than there are

  /// Words of memory that a set of numbers below n needs.
  [[nodiscard]] static std::size_t num_words(std::size_t n) noexcept {
    std::size_t total = 0;
    do {
      n = (n + 63) / 64;
      total += n;
    } while (n > 1);
    return total;
  }

  /// An empty set in `words`, which are zero.
  ColumnSet(std::size_t n, std::uint64_t* words) noexcept {
    do {
      n = (n + 63) / 64;
      levels_[num_levels_++] = words;
      words += n;
    } while (n > 1);
  }

  /// True where it was not there.
  bool insert(std::size_t member) noexcept {
    for (int level = 0;; ++level) {
      std::uint64_t& word = levels_[level][member / 64];
      const std::uint64_t before = word;
      word |= std::uint64_t{1} << (member % 64);
      if (before != 0 || level + 1 == num_levels_) return level != 0 || before != word;
      member /= 64;
    }
  }

  /// fn(member) for every member, in order; the set is empty afterwards.
  template <class Fn>
  void drain(Fn&& fn) noexcept {
    drain_word(num_levels_ - 1, 0, fn);
  }

 private:
  template <class Fn>
  void drain_word(int level, std::size_t index, Fn&& fn) noexcept {
    std::uint64_t bits = levels_[level][index];
    levels_[level][index] = 0;
    for (; bits != 0; bits &= bits - 1) {
      const std::size_t member = index * 64 + static_cast<std::size_t>(std::countr_zero(bits));
      if (level == 0) {
        fn(member);
      } else {
        drain_word(level - 1, member, fn);
      }
    }
  }

  std::array<std::uint64_t*, max_levels> levels_{};
  int num_levels_ = 0;
};

}  // namespace bitgraph
