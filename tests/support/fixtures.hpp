// SPDX-License-Identifier: Apache-2.0
// Small files that tests read.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace bitgraph::test {

/// A file of tests/data/io.
std::filesystem::path fixture(std::string_view name);

inline std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace bitgraph::test
