// SPDX-License-Identifier: Apache-2.0
// The kernels of products of bit planes. See include/bitgraph/ops/plane_gemm.hpp.
#pragma once

#include <bitgraph/formats/level_view.hpp>
#include <bitgraph/formats/views.hpp>

#include "core/devices/backend.hpp"
#include "ops/level_views.hpp"

#include <cstddef>
#include <cstdint>

namespace bitgraph {

/// Of values and levels A is a graph: one plane, or tiles.
struct PlaneGemmArgs : LevelSumEnd {
  BitPlanesView<> a;      ///< packed by rows; of tiles the shape alone
  BitTileView<64> tiles;  ///< without row pointers: A is planes
  BitPlanesView<> x;      ///< packed by columns
  bool wide = false;      ///< sums may pass 31 bits

  [[nodiscard]] bool has_tiles() const noexcept { return tiles.tile_row_ptr != nullptr; }
};

void plane_gemm(const Reference& backend, const PlaneGemmArgs& args);
void plane_gemm(const Cpu& backend, const PlaneGemmArgs& args);
void plane_gemm(const Cuda& backend, const PlaneGemmArgs& args);

/// Levels to planes that are packed by columns, of the same shape and bits.
struct PackPlanesArgs {
  QuantizedView<> x;
  BitPlanesView<std::uint64_t> out;
};

void pack_planes(const Reference& backend, const PackPlanesArgs& args);
void pack_planes(const Cpu& backend, const PackPlanesArgs& args);
void pack_planes(const Cuda& backend, const PackPlanesArgs& args);

/// Whether a product has a kernel of wgmma: sums of 32 bits as they are, on a device of compute capability 9.0, of
/// planes of an A whose rows begin at multiples of 16 bytes, or of tiles by an X of 1, 2, 4 or 8 bits.
[[nodiscard]] bool plane_gemm_by_wgmma(const Cuda& backend, const PlaneGemmArgs& args);

}  // namespace bitgraph
