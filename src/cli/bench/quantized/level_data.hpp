// SPDX-License-Identifier: Apache-2.0
// Levels to measure products and sums with, and whether results are right.
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/core/device.hpp>
#include <bitgraph/core/random.hpp>
#include <bitgraph/formats/quantized_matrix.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace bitgraph::cli {

/// The level in the middle, which stands for 0 where scales are centred.
[[nodiscard]] constexpr int middle_level(int bits) { return 1 << (bits - 1); }

/// Levels of up to 8 bits, all alike likely, on the host with a centred scale: steps from 0.5 to 1.5 times `step`, and
/// offsets that make the middle level 0.
[[nodiscard]] QuantizedMatrix random_level_matrix(std::size_t nrows, std::size_t ncols, int bits, ScaleExtent extent,
                                                  float step, RandomKey key, const Device& host);

/// The same scale for a matrix without levels yet.
[[nodiscard]] LevelScale centred_scale(ScaleExtent extent, std::size_t count, int bits, float step, RandomKey key);

/// Levels less their middle, row by row without gaps: what a product of bytes takes.
[[nodiscard]] Buffer<std::int8_t> centred_bytes(const QuantizedMatrix& levels);

/// The values that the levels mean, as floats.
[[nodiscard]] DenseMatrix<float> values_of(const QuantizedMatrix& levels, const Device& host);

/// Some rows of a result, the first and the last among them.
[[nodiscard]] std::vector<std::size_t> rows_to_check(std::size_t nrows);

/// Throws internal, naming `what` and the place, where a level of these rows is not the one nearest to the value that
/// value_of(i, j) gives in double precision, but for the rounding of float32.
void check_levels(const std::string& what, const QuantizedMatrix& out, const std::vector<std::size_t>& rows,
                  const std::function<double(std::size_t, std::size_t)>& value_of);

}  // namespace bitgraph::cli
