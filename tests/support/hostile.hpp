// SPDX-License-Identifier: Apache-2.0
// Random cases that are partly wrong, and what comes of them: an Error, or a value that is checked.
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/core/error.hpp>
#include <bitgraph/core/random.hpp>

#include "support/sanitized.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <optional>
#include <type_traits>

namespace bitgraph::test {

/// How many cases of a type are tried: BITGRAPH_CASES, else fewer where a sanitizer watches.
inline std::size_t hostile_cases() {
  const char* asked = std::getenv("BITGRAPH_CASES");
  return asked != nullptr ? std::strtoull(asked, nullptr, 10) : sanitized ? 300 : 2000;
}

/// Random numbers of one case.
class Draw {
 public:
  explicit Draw(std::size_t which) : key_{which, 0x4057, 0} {}
  std::uint64_t below(std::uint64_t bound) { return random_below(key_, next_++, bound); }
  bool once_in(std::uint64_t n) { return below(n) == 0; }

  /// Mostly `usual`; else a near or a wild number.
  template <class T>
  T perhaps(T usual, std::uint64_t how_often = 6) {
    if (!once_in(how_often)) return usual;
    switch (below(5)) {
      case 0: return static_cast<T>(usual + 1);
      case 1: return static_cast<T>(usual - 1);
      case 2: return static_cast<T>(usual * 2 + 3);
      case 3: return T{0};
      default: return std::numeric_limits<T>::max();
    }
  }

 private:
  RandomKey key_;
  std::uint64_t next_ = 0;
};

/// What came of the cases of a type: some must be accepted and some refused, or the test tests nothing.
class Outcomes {
 public:
  /// make() throws an Error or gives a value for check(), where an Error is a failure.
  template <class Make, class Check>
  void add(Make&& make, Check&& check) {
    using Value = std::invoke_result_t<Make>;
    std::optional<Value> value;
    try {
      value.emplace(make());
      ++accepted_;
    } catch (const Error&) {
      ++refused_;
    }
    if (!value) return;
    EXPECT_NO_THROW(check(*value));
  }
  ~Outcomes() {
    EXPECT_GT(accepted_, 0U);
    EXPECT_GT(refused_, 0U);
  }

 private:
  std::size_t accepted_ = 0, refused_ = 0;
};

template <class T>
Buffer<T> random_buffer(std::size_t size, const std::function<T()>& draw) {
  Buffer<T> buffer(size);
  for (T& value : buffer) value = draw();
  return buffer;
}

}  // namespace bitgraph::test
