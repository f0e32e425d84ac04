// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "io/text/text_output.hpp"

#include <string>

namespace bitgraph::test {

/// What write(out) writes.
template <class Write>
std::string text_of(Write&& write, const Device& device = {}) {
  std::string text;
  TextOutput out(
      [&](std::span<const std::byte> bytes) { text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size()); },
      false, device);
  write(out);
  return text;
}

}  // namespace bitgraph::test
