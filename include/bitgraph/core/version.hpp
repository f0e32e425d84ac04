// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace bitgraph {

/// The version of the library that the program runs with: three numbers with dots between them. project() in
/// CMakeLists.txt sets it.
[[nodiscard]] std::string_view version() noexcept;

}  // namespace bitgraph
