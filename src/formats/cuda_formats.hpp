// SPDX-License-Identifier: Apache-2.0
// What the formats need done on a CUDA device: cuda_formats.cu, or cuda_formats_absent.cpp in a build without CUDA.
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/core/types.hpp>

namespace bitgraph::cuda_formats {

/// CsrPatternView::chunk_row of a pattern on `device`.
[[nodiscard]] Buffer<NodeId> csr_chunk_rows(const Device& device, NodeId nrows, EdgeOffset nvals,
                                            const EdgeOffset* row_ptr);

/// Entries of the longest row. Waits for the device.
[[nodiscard]] EdgeOffset longest_row(const Device& device, NodeId nrows, const EdgeOffset* row_ptr);

}  // namespace bitgraph::cuda_formats
