// SPDX-License-Identifier: Apache-2.0
// The kernels of products of bit planes. See include/bitgraph/ops/plane_gemm.hpp.
#pragma once

#include <bitgraph/formats/level_view.hpp>
#include <bitgraph/formats/views.hpp>

#include "core/devices/backend.hpp"

#include <cstddef>
#include <cstdint>

namespace bitgraph {

struct PlaneGemmArgs {
  BitPlanesView<> a;      ///< packed by rows; of tiles the shape alone
  BitTileView<64> tiles;  ///< without row pointers: A is planes
  BitPlanesView<> x;      ///< packed by columns
  /// One of the two has data.
  DenseView<std::int32_t> sums;
  DenseView<std::int64_t> wide_sums;

  [[nodiscard]] bool has_tiles() const noexcept { return tiles.tile_row_ptr != nullptr; }
};

void plane_gemm(const Reference& backend, const PlaneGemmArgs& args);
void plane_gemm(const Cpu& backend, const PlaneGemmArgs& args);
void plane_gemm(const Cuda& backend, const PlaneGemmArgs& args);

/// Whether a product has the kernel of wgmma: sums of 32 bits, planes of an A whose rows begin at multiples of 16
/// bytes, on a device of compute capability 9.0.
[[nodiscard]] bool plane_gemm_by_wgmma(const Cuda& backend, const PlaneGemmArgs& args);

}  // namespace bitgraph
