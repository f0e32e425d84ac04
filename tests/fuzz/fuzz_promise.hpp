// SPDX-License-Identifier: Apache-2.0
// What every reader must keep, whatever the bytes: it gives something valid, or throws bad_input with one line that
// names the file.
#pragma once

#include <bitgraph/core/error.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace bitgraph::fuzz {

inline void expect(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

inline const std::string file_name = "fuzzed";

/// Calls read(); true where it did not refuse.
template <class Read>
[[nodiscard]] bool accepted(Read&& read) {
  try {
    read();
  } catch (const Error& error) {
    const std::string_view message = error.what();
    expect(error.code() == ErrorCode::bad_input, error.what());
    expect(message.starts_with(file_name + ":"), "the message starts with the file's name");
    expect(message.find('\n') == std::string_view::npos, "the message is one line");
    return false;
  }
  return true;
}

}  // namespace bitgraph::fuzz
