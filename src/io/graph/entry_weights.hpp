// SPDX-License-Identifier: Apache-2.0
// The weights of a list of edges, brought to the entries of the pattern that was made of it.
#pragma once

#include <bitgraph/formats/csr_pattern.hpp>

#include <span>

namespace bitgraph {

/// What an edge (i, j) of the list means for (j, i).
enum class Mirror {
  none,
  same,      ///< the same weight
  negative,  ///< the opposite one (skew-symmetric)
};

/// One weight for each entry of `a`: the smallest of its edges'; a NaN counts as smaller than any number, so that it is
/// seen. All edges, and with a mirror all opposite ones, are entries of `a`. O(edges log d).
[[nodiscard]] Buffer<float> weights_of_entries(const CsrPattern& a, std::span<const NodeId> rows,
                                               std::span<const NodeId> cols, std::span<const float> weights,
                                               Mirror mirror, const Device& device);

}  // namespace bitgraph
