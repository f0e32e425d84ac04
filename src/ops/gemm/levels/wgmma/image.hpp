// SPDX-License-Identifier: Apache-2.0
// Rows of W as blocks of the kernels by wgmma have them in shared memory: made once, and copied as they lie.
#pragma once

#include "ops/gemm/levels/wgmma/image_order.hpp"

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/formats/quantized_matrix.hpp>

#include <cstddef>
#include <cstdint>

namespace bitgraph::level_image {

/// Bytes of an image, whole pairs of blocks of bytes for X of nibbles; 0 where there is none.
[[nodiscard]] std::size_t bytes(Order order, std::size_t nrows, std::size_t ncols) noexcept;

/// Of a W on the host. Columns and rows that are not there have zeros. O(nrows ncols).
[[nodiscard]] Buffer<std::uint8_t> make(const QuantizedMatrix& w, Order order);

}  // namespace bitgraph::level_image
