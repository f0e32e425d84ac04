// SPDX-License-Identifier: Apache-2.0
// Tensor maps: what bulk_copy::bring_box() needs to know of a matrix, from compute capability 9.0 on.
#pragma once

#include <cuda.h>

#include <cstddef>

namespace bitgraph {

/// Rows of some planes of bytes each: plane p of row i begins at data + (i * planes + p) * plane_bytes. `data` and
/// `plane_bytes` are multiples of 16.
struct PlaneRows {
  const void* data = nullptr;
  std::size_t plane_bytes = 0, planes = 1, rows = 0;
};

/// What comes at a time: 128 bytes of so many planes and rows, whose pieces of 16 bytes change places by the row's
/// number, and zeros behind the last byte and row.
struct PlaneBox {
  unsigned bytes = 128, planes = 1, rows = 1;
};

/// Throws internal where the driver has no such maps, or refuses this one.
[[nodiscard]] CUtensorMap tensor_map(const PlaneRows& rows, const PlaneBox& box);

}  // namespace bitgraph
