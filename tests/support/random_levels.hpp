// SPDX-License-Identifier: Apache-2.0
// Seeded matrices of levels, and scales.
#pragma once

#include <bitgraph/core/random.hpp>
#include <bitgraph/formats/quantized_matrix.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bitgraph::test {

/// Every fifth level is the greatest.
inline DenseMatrix<std::uint32_t> random_numbers(std::size_t nrows, std::size_t ncols, int bits, std::uint64_t seed) {
  DenseMatrix<std::uint32_t> numbers(nrows, ncols);
  const auto most = static_cast<std::uint32_t>((std::uint64_t{1} << bits) - 1);
  for (std::size_t n = 0; n < numbers.values().size(); ++n) {
    const double drawn = random_uniform_double({seed, 4, 0}, n) * (static_cast<double>(most) + 1);
    numbers.values()[n] = n % 5 == 0 ? most : static_cast<std::uint32_t>(drawn);
  }
  return numbers;
}

inline QuantizedMatrix random_levels(std::size_t nrows, std::size_t ncols, int bits, std::uint64_t seed) {
  return quantized_from_levels(random_numbers(nrows, ncols, bits, seed), bits);
}

/// So many steps, of 0.01 to 1.01, and offsets of -1 to 1; without a scale nothing.
inline LevelScale random_scale(ScaleExtent extent, std::size_t count, bool offsets, std::uint64_t seed) {
  LevelScale scale{extent, Buffer<float>(count), Buffer<float>(offsets ? count : 0)};
  for (std::size_t s = 0; s < count; ++s) {
    scale.steps[s] = 0.01F + random_uniform({seed, 1, 0}, s);
    if (offsets) scale.offsets[s] = 2 * random_uniform({seed, 2, 0}, s) - 1;
  }
  return scale;
}

/// Scales of rows 3, 5 and 7 and biases of columns 8, 9 and 64 that are no numbers.
inline void spoil(std::vector<float>& row_scale, std::vector<float>& bias) {
  row_scale[3] = NAN;
  row_scale[5] = INFINITY;
  row_scale[7] = -INFINITY;
  bias[8] = NAN;
  bias[9] = INFINITY;
  bias[64] = -INFINITY;
}

}  // namespace bitgraph::test
