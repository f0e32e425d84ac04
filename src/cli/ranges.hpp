// SPDX-License-Identifier: Apache-2.0
// What numbers an option takes. CLI11's own checks let numbers through that do not fit their type, and NaN, and name
// limits of three hundred digits.
#pragma once

#include <CLI/CLI.hpp>

#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace bitgraph::cli {

inline constexpr std::uint64_t any_count = std::numeric_limits<std::uint64_t>::max();
inline constexpr std::uint64_t most_nodes = 0xFFFFFFFE;  ///< of any graph

/// The number that the whole text is.
template <class T>
std::optional<T> number_of(const std::string& text) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

/// Decimal whole numbers from `least` to `most`.
[[nodiscard]] CLI::Validator whole_number(std::uint64_t least, std::uint64_t most = any_count);

/// Finite numbers from `least` to `most`.
[[nodiscard]] CLI::Validator number_between(double least, double most);

/// Finite numbers above 0.
[[nodiscard]] CLI::Validator positive_number();

/// Finite numbers from 0 on.
[[nodiscard]] CLI::Validator not_negative();

}  // namespace bitgraph::cli
