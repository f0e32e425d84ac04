// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/bit_planes.hpp>
#include <bitgraph/formats/dense_matrix.hpp>
#include <bitgraph/formats/level_view.hpp>
#include <bitgraph/formats/quantized_matrix.hpp>

#include <cstdint>
#include <optional>
#include <span>

namespace bitgraph {

/// Where the least and the greatest value that levels stand for come from. Values beyond them become the first or the
/// last level.
enum class BoundsOf : std::uint8_t {
  range,        ///< the least and the greatest value
  percentile,   ///< the values that a share of all lie below, or above
  least_error,  ///< the range made smaller about its middle, as far as that makes the mean squared error smaller
  clipped       ///< the same, about 0, as far as a hundredth; of more than 4 bits, errors of what is cut off count more
};

struct Bounds {
  float least = 0;
  float greatest = 0;
};

struct QuantizeOptions {
  int bits = 8;
  ScaleExtent extent = ScaleExtent::tensor;  ///< not none
  Rounding rounding = Rounding::nearest;
  BoundsOf bounds = BoundsOf::range;
  double percentile = 99.9;     ///< of BoundsOf::percentile: above 50, up to 100
  std::optional<Bounds> given;  ///< the same for all extents, instead of `bounds`
  bool keeps_zero = false;      ///< bounds are moved so that 0 is a level's value
};

/// Steps and offsets for the values of x. A constant extent has step 1 and its value as the offset, so nothing is lost.
/// Throws usage for options that do not fit; bad_input, naming the place, for a value that is not finite, or for given
/// bounds that are not finite or not in order. O(nrows * ncols) per look at the values; least_error looks 33 times,
/// clipped 40 times. On the host.
[[nodiscard]] LevelScale choose_scale(const DenseMatrix<float>& x, const QuantizeOptions& options = {});

/// Levels of x, 1 to 16 bits: level = (x - offset) / step, rounded and brought into 0 .. 2^bits - 1, all in float32.
/// The same levels on every backend. Throws as choose_scale().
[[nodiscard]] QuantizedMatrix quantize(const DenseMatrix<float>& x, const QuantizeOptions& options = {});

/// The same with the bits and the scale that `out` has; allocates nothing. Row i of x is multiplied by row_scale[i]
/// before, where there are row scales. What is not a number becomes level 0. Throws usage naming the shapes, or for an
/// `out` without a scale.
void quantize_into(QuantizedMatrix& out, const DenseMatrix<float>& x, Rounding rounding = Rounding::nearest,
                   std::span<const float> row_scale = {});

/// Levels as planes, 1 to 32 bits; above 16 bits they are computed in double. On the host.
[[nodiscard]] BitPlanes quantize_to_planes(const DenseMatrix<float>& x, const QuantizeOptions& options = {},
                                           PlanePacking packing = PlanePacking::rows);

}  // namespace bitgraph
