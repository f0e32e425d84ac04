// SPDX-License-Identifier: Apache-2.0
// Names of an enumeration's values, as options, files and reports have them: one table each.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace bitgraph {

template <class T, std::size_t N>
using Names = std::array<std::pair<T, std::string_view>, N>;

/// "unknown" where the table has no such value.
template <class T, std::size_t N>
[[nodiscard]] constexpr std::string_view name_of(const Names<T, N>& names, T wanted) noexcept {
  for (const auto& [value, name] : names) {
    if (value == wanted) return name;
  }
  return "unknown";
}

/// Empty where the table has no such name.
template <class T, std::size_t N>
[[nodiscard]] constexpr std::optional<T> find_name(const Names<T, N>& names, std::string_view wanted) noexcept {
  for (const auto& [value, name] : names) {
    if (name == wanted) return value;
  }
  return std::nullopt;
}

/// Throws usage: "unknown order 'x': use degree, rcm or community".
[[noreturn]] void refuse_name(std::string_view what, std::string_view name, std::span<const std::string_view> known);

/// The value of this name. Throws usage with all names where there is none.
template <class T, std::size_t N>
[[nodiscard]] T value_of(const Names<T, N>& names, std::string_view what, std::string_view wanted) {
  if (const std::optional<T> value = find_name(names, wanted)) return *value;
  std::array<std::string_view, N> known;
  std::transform(names.begin(), names.end(), known.begin(), [](const auto& row) { return row.second; });
  refuse_name(what, wanted, known);
}

}  // namespace bitgraph
