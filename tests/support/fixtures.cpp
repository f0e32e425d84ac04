// SPDX-License-Identifier: Apache-2.0
#include "support/fixtures.hpp"

namespace bitgraph::test {

std::filesystem::path fixture(std::string_view name) { return std::filesystem::path(BITGRAPH_TEST_DATA) / name; }

}  // namespace bitgraph::test
