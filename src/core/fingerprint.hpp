// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdint>
#include <span>
#include <string>

namespace bitgraph {

/// Tells one list of arrays from another.
class Fingerprint {
 public:
  template <class T>
  void add(std::span<const T> values) {
    hash_ = XXH3_64bits_withSeed(values.data(), values.size_bytes(), hash_ + values.size());
  }
  [[nodiscard]] std::string text() const { return fmt::format("{:016x}", hash_); }

 private:
  std::uint64_t hash_ = 0;
};

}  // namespace bitgraph
