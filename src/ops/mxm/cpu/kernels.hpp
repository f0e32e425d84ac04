// SPDX-License-Identifier: Apache-2.0
// What the SIMD kernels of the masked sum offer.
#pragma once

#include "ops/mxm/mxm.hpp"

namespace bitgraph::mxm_cpu {

/// The masked sum over the rows [begin, end) of the mask, with one of the workspaces.
std::uint64_t sum_rows(const MaskedSumArgs<CsrPatternView>& args, std::size_t begin, std::size_t end,
                       std::size_t workspace);

/// The same over tile rows, without one.
template <int K>
std::uint64_t sum_rows(const MaskedSumArgs<BitTileView<K>>& args, std::size_t begin, std::size_t end,
                       std::size_t workspace);

}  // namespace bitgraph::mxm_cpu
