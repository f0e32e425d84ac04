// SPDX-License-Identifier: Apache-2.0
// The kernels of select. See include/bitgraph/ops/select.hpp.
#pragma once

#include "core/devices/backend.hpp"

#include <bitgraph/formats/bit_tile_matrix.hpp>
#include <bitgraph/formats/bit_vector.hpp>
#include <bitgraph/formats/csr_pattern.hpp>

#include <cstddef>
#include <cstdint>

namespace bitgraph {

/// The entries on diagonals lowest .. highest, or those that are not.
struct DiagonalRule {
  std::int64_t lowest = 0;
  std::int64_t highest = 0;
  bool inside = true;

  constexpr bool operator()(NodeId i, NodeId j) const noexcept {
    const std::int64_t diagonal = std::int64_t{j} - std::int64_t{i};
    return (lowest <= diagonal && diagonal <= highest) == inside;
  }
};

CsrPattern select_diagonals(const Cuda& backend, const CsrPattern& a, const DiagonalRule& rule);
BitTileMatrix select_diagonals(const Cuda& backend, const BitTileMatrix& a, const DiagonalRule& rule);

/// detail::entries_in and detail::tiles_with.
CsrPattern entries_in(const Cuda& backend, const CsrPattern& a, const BitVector& kept);
BitTileMatrix tiles_with(const Cuda& backend, const BitTileMatrix& a, const Buffer<std::byte>& bits);

}  // namespace bitgraph
