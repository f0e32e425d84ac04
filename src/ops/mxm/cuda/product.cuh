// SPDX-License-Identifier: Apache-2.0
// Sparse products on a CUDA device, and the parts they are made of.
#pragma once

#include <bitgraph/core/kernel.cuh>

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/formats/csr_pattern.hpp>

#include <cstdint>

namespace bitgraph::mxm_cuda {

/// The arrays of a product: ascending columns a row, and a count each where counts are wanted.
struct SparseRows {
  Buffer<EdgeOffset> row_ptr;
  Buffer<NodeId> col_ind;
  Buffer<std::uint32_t> counts;
};

/// a b where `hidden`, if it has rows, has no entry. Of a and b no more than row_ptr and col_ind is looked at.
[[nodiscard]] SparseRows gathered_product(const Device& device, const CsrPatternView& a, const CsrPatternView& b,
                                          const CsrPatternView& hidden, bool counted);

/// a b where the mask has an entry.
[[nodiscard]] SparseRows product_within(const Device& device, const CsrPatternView& a, const CsrPatternView& b,
                                        const CsrPatternView& mask, bool counted);

/// Sizes, n of them and one more element, become positions. Returns their sum, for which it waits.
EdgeOffset scan_sizes(const Device& device, Buffer<EdgeOffset>& sizes);

}  // namespace bitgraph::mxm_cuda
