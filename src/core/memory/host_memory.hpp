// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace bitgraph {

/// Bytes of memory that this process can still take without others being pushed out: what the system says is available,
/// or what its control group leaves, if that is less. The largest number where neither is known.
[[nodiscard]] std::size_t available_memory();

/// Asks for large pages behind a large array that nothing has been written to yet: rows and values are read in no
/// order, and with small pages each such read costs a walk through the page tables besides. Asking is all; nothing
/// where the system has none.
void prefer_large_pages(void* data, std::size_t bytes) noexcept;

}  // namespace bitgraph
