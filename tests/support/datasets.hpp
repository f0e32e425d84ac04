// SPDX-License-Identifier: Apache-2.0
// Where the tests find real data.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>

namespace bitgraph::test {

/// $BITGRAPH_DATA, else shared/datasets beside the project's folder or beside one of the folders above it; nothing
/// where there is none.
inline std::optional<std::filesystem::path> dataset_dir() {
  namespace fs = std::filesystem;
  if (const char* told = std::getenv("BITGRAPH_DATA"); told != nullptr && fs::is_directory(told)) return told;
  std::error_code ignored;
  for (fs::path folder = fs::current_path(ignored); !folder.empty(); folder = folder.parent_path()) {
    const fs::path candidate = folder / "shared" / "datasets";
    if (fs::is_directory(candidate, ignored)) return candidate;
    if (folder == folder.parent_path()) break;
  }
  return std::nullopt;
}

}  // namespace bitgraph::test

/// The data folder as `name`; where there is none the test is skipped and says why.
#define BITGRAPH_DATASETS_OR_SKIP(name)                                                                   \
  const auto name##_found = ::bitgraph::test::dataset_dir();                                              \
  if (!name##_found) {                                                                                    \
    std::cerr << "SKIPPED: no data sets: set BITGRAPH_DATA to their folder\n";                            \
    GTEST_SKIP() << "no data sets: set BITGRAPH_DATA to their folder, or put them in ../shared/datasets"; \
  }                                                                                                       \
  const std::filesystem::path& name = *name##_found
