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
EdgeOffset csr_longest_row(const Device& device, NodeId, const EdgeOffset*) { refuse(device); }
Buffer<NodeId> rows_by_length(const CsrPattern& a, std::span<NodeId>) { refuse(a.device()); }
Buffer<RowPlace> places_of_rows(const CsrPattern& a, std::span<const NodeId>) { refuse(a.device()); }

BitTileMatrix pack(const CsrPattern& a, int) { refuse(a.device()); }
EdgeOffset count_tiles(const CsrPattern& a, int) { refuse(a.device()); }
CsrPattern unpack(const BitTileMatrix& a) { refuse(a.device()); }
BitTileMatrix transpose(const BitTileMatrix& a) { refuse(a.device()); }
CsrPattern transpose(const CsrPattern& a) { refuse(a.device()); }
CsrPattern symmetrized(const CsrPattern& a) { refuse(a.device()); }
bool equal(const CsrPattern& a, const CsrPattern&) { refuse(a.device()); }
CsrPattern permuted(const CsrPattern& a, std::span<const NodeId>) { refuse(a.device()); }
Buffer<NodeId> degree_order(const CsrPattern& a) { refuse(a.device()); }
Buffer<ProfileAnswer> profile_answers(const CsrPattern& a, int, std::span<const ProfileDraw>) { refuse(a.device()); }

}  // namespace bitgraph::cuda_formats
