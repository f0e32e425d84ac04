// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace bitgraph {

/// Bytes of memory that this process can still take without others being pushed out: what the system says is available,
/// or what its control group leaves, if that is less. The largest number where neither is known.
[[nodiscard]] std::size_t available_memory();

}  // namespace bitgraph
