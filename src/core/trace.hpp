// SPDX-License-Identifier: Apache-2.0
// BITGRAPH_TRACE=1: operators say on stderr which kernel they run.
#pragma once

#include <string_view>

namespace bitgraph {

/// Whether the environment asks for it; looked up once.
[[nodiscard]] bool is_tracing() noexcept;

/// Prints "bitgraph: LINE" on stderr.
void trace(std::string_view line);

}  // namespace bitgraph
