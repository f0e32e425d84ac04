// SPDX-License-Identifier: Apache-2.0
// How deep JSON is nested. What parses, prints and frees it may go as deep on its stack: a file of brackets alone is
// refused before it is parsed.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace bitgraph {

/// Where `text` opens more than `most` objects and arrays within one another; none where it does not.
[[nodiscard]] inline std::optional<std::size_t> nested_deeper(std::string_view text, int most) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t n = 0; n < text.size(); ++n) {
    const char c = text[n];
    if (quoted) {
      n += c == '\\' ? 1U : 0U;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      if (++depth > most) return n;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return std::nullopt;
}

}  // namespace bitgraph
