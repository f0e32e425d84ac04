// SPDX-License-Identifier: Apache-2.0
// What a row is while an independent set is looked for.
#pragma once

#include <cstdint>

namespace bitgraph::independent_set_state {

inline constexpr std::uint8_t open = 0;
inline constexpr std::uint8_t inside = 1;
inline constexpr std::uint8_t outside = 2;

}  // namespace bitgraph::independent_set_state
