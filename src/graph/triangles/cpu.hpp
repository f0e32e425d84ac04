// SPDX-License-Identifier: Apache-2.0
// What the SIMD kernels offer.
#pragma once

#include "graph/triangles/triangles.hpp"

namespace bitgraph::triangles_cpu {

/// Triangles whose last node is in [begin, end).
std::uint64_t count_range(const OrientedView& a, std::size_t begin, std::size_t end, std::uint64_t* marks);
std::uint64_t count_short_rows(const CsrPatternView& a, std::size_t begin, std::size_t end);

}  // namespace bitgraph::triangles_cpu
