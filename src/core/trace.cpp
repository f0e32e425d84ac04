// SPDX-License-Identifier: Apache-2.0
#include "core/trace.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace bitgraph {

bool is_tracing() noexcept {
  static const bool asked = [] {
    const char* const value = std::getenv("BITGRAPH_TRACE");
    return value != nullptr && std::string_view(value) == "1";
  }();
  return asked;
}

void trace(std::string_view line) {
  const std::string text = "bitgraph: " + std::string(line) + "\n";
  std::fputs(text.c_str(), stderr);
}

}  // namespace bitgraph
