// SPDX-License-Identifier: Apache-2.0
// The orders in which an image of W may have its levels.
#pragma once

#include <cstdint>

namespace bitgraph::level_image {

/// The order of the columns, which follows from how X is multiplied.
enum class Order : std::uint8_t {
  none,             ///< there is no image
  planes,           ///< a plane of 256 columns after the other, as planes of X's nibbles come
  nibbles,          ///< bytes: of 32 columns the even ones, then the odd ones, as nibbles of X are widened
  bytes,            ///< bytes as they are
  packed,           ///< a plane of 256 columns after the other, as an X in planes has them
  packed_to_planes  ///< the same, and rows in the order in which levels out become planes: output_of_row()
};

[[nodiscard]] constexpr bool is_packed(Order order) noexcept {
  return order == Order::packed || order == Order::packed_to_planes;
}
[[nodiscard]] constexpr bool has_planes(Order order) noexcept { return order == Order::planes || is_packed(order); }

}  // namespace bitgraph::level_image
