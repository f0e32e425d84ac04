// SPDX-License-Identifier: Apache-2.0
// The product within a mask, on the host, by rows of A and columns of B.
#pragma once

#include "ops/mxm/mxm.hpp"

#include <bitgraph/core/buffer.hpp>

#include <optional>

namespace bitgraph {

/// The product where the mask has an entry, as a pattern, and its counts where `counts` is not null: for each entry
/// (i, j) of the mask how many columns row i of A and row j of B^T share, which is made for that. Nothing where
/// gathering whole rows of the product looks cheaper. O(entries of B and of the mask, and the rows that are compared);
/// memory beside the result: B^T, and 4 bytes an entry of the mask.
[[nodiscard]] std::optional<CsrPattern> product_within(const Cpu& backend, const CsrPatternView& a,
                                                       const CsrPatternView& b, const CsrPatternView& mask,
                                                       Buffer<std::uint32_t>* counts);

}  // namespace bitgraph
