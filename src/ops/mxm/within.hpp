// SPDX-License-Identifier: Apache-2.0
// The product within a mask, on the host, by rows of A and columns of B.
#pragma once

#include "ops/mxm/long_rows.hpp"
#include "ops/mxm/mxm.hpp"

#include <bitgraph/core/buffer.hpp>

#include <optional>

namespace bitgraph {

/// Whether rows of A and of B^T are compared for each entry of the mask, or rows of the product gathered: what costs
/// less, by the columns that each goes through. What was made to tell is kept.
struct WithinPlan {
  bool compares = false;
  std::optional<CsrPattern> b_transposed;
  std::optional<LongRowBits> long_rows;  ///< of b_transposed
};
[[nodiscard]] WithinPlan plan_within(const Cpu& backend, const CsrPatternView& a, const CsrPatternView& b,
                                     const CsrPatternView& mask, bool counted,
                                     const CpuMxmTuning& tuning = cpu_mxm_tuning());

/// The product where the mask has an entry, as a pattern, and its counts where `counts` is not null: for each entry
/// (i, j) of the mask how many columns row i of A and row j of B^T share, which is made for that. Nothing where
/// gathering whole rows of the product looks cheaper. O(entries of B and of the mask, and the rows that are compared);
/// memory beside the result: B^T, and 4 bytes an entry of the mask.
[[nodiscard]] std::optional<CsrPattern> product_within(const Cpu& backend, const CsrPatternView& a,
                                                       const CsrPatternView& b, const CsrPatternView& mask,
                                                       Buffer<std::uint32_t>* counts);

}  // namespace bitgraph
