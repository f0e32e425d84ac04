// SPDX-License-Identifier: Apache-2.0
// Stands in for cuda_formats.cu in a build without CUDA: no value can live on a CUDA device, so nothing is ever called.
#include "formats/cuda_formats.hpp"

#include <bitgraph/core/error.hpp>

namespace bitgraph::cuda_formats {

namespace {

[[noreturn]] void refuse(const Device& device) {
  fail(ErrorCode::not_possible, device.name() + ": this bitgraph was built without CUDA");
}

}  // namespace

Buffer<NodeId> csr_chunk_rows(const Device& device, NodeId, EdgeOffset, const EdgeOffset*) { refuse(device); }
EdgeOffset longest_row(const Device& device, NodeId, const EdgeOffset*) { refuse(device); }

}  // namespace bitgraph::cuda_formats
