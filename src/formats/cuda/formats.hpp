// SPDX-License-Identifier: Apache-2.0
// What the formats need done on a CUDA device.
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/core/types.hpp>
#include <bitgraph/formats/bit_tile_matrix.hpp>
#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/formats/row_order.hpp>

#include "core/devices/backend.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace bitgraph::cuda_formats {

/// CsrPatternView::chunk_row of a pattern on `device`.
[[nodiscard]] Buffer<NodeId> csr_chunk_rows(const Cuda& backend, NodeId nrows, EdgeOffset nvals,
                                            const EdgeOffset* row_ptr);

/// CsrPatternView::longest_row. Waits for the device.
[[nodiscard]] EdgeOffset csr_longest_row(const Cuda& backend, NodeId nrows, const EdgeOffset* row_ptr);

/// What a RowOrder holds: the rows, how many have 2^p entries or more, for each p, and how many have d or more, for
/// each d up to 64. Waits for the device.
[[nodiscard]] Buffer<NodeId> rows_by_length(const Cuda& backend, const CsrPattern& a, std::span<NodeId> at_least,
                                            std::span<NodeId> at_least_of_few);

/// Where those rows begin, and their entries. Waits for the device.
[[nodiscard]] Buffer<RowPlace> places_of_rows(const Cuda& backend, const CsrPattern& a, std::span<const NodeId> rows);

// The functions of the public headers, of values on a CUDA device; results are there too.

[[nodiscard]] BitTileMatrix pack(const Cuda& backend, const CsrPattern& a, int tile_dim);
[[nodiscard]] EdgeOffset count_tiles(const Cuda& backend, const CsrPattern& a, int tile_dim);
[[nodiscard]] CsrPattern unpack(const Cuda& backend, const BitTileMatrix& a);
[[nodiscard]] BitTileMatrix transpose(const Cuda& backend, const BitTileMatrix& a);
[[nodiscard]] CsrPattern transpose(const Cuda& backend, const CsrPattern& a);
[[nodiscard]] CsrPattern symmetrized(const Cuda& backend, const CsrPattern& a);
[[nodiscard]] bool equal(const Cuda& backend, const CsrPattern& a, const CsrPattern& b);

/// What the advisor draws at random for one sample: see advisor.cpp.
struct ProfileDraw {
  EdgeOffset entry = 0;     ///< its tile row is looked at
  std::uint64_t start = 0;  ///< random bits: from which entry of its row, where the tile row is long
  NodeId plain_row = 0;     ///< for Algorithm 1
};

struct ProfileAnswer {
  double inverse_occupancy = 0;  ///< mean of 1 / (entries in an entry's tile)
  double compression = 0;        ///< entries per bit row of the plain row; 0 where it is empty
};

/// Entries looked at in one drawn row, where its tile row has more than `short_tile_row`.
inline constexpr std::size_t entries_a_row = 16;
inline constexpr std::size_t short_tile_row = 4096;

/// The answers, on the host: the same numbers as the host would find.
[[nodiscard]] Buffer<ProfileAnswer> profile_answers(const Cuda& backend, const CsrPattern& a, int tile_dim,
                                                    std::span<const ProfileDraw> draws);

/// new_id is on the host, and a permutation.
[[nodiscard]] CsrPattern permuted(const Cuda& backend, const CsrPattern& a, std::span<const NodeId> new_id);

/// new_id of Order::degree, brought to the host.
[[nodiscard]] Buffer<NodeId> degree_order(const Cuda& backend, const CsrPattern& a);

}  // namespace bitgraph::cuda_formats
