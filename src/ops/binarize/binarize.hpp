// SPDX-License-Identifier: Apache-2.0
// The kernels of binarize: signs and mean magnitudes of rows. See include/bitgraph/ops/binarize.hpp.
#pragma once

#include <bitgraph/formats/bit_matrix.hpp>
#include <bitgraph/formats/dense_matrix.hpp>

#include "core/devices/backend.hpp"

#include <array>
#include <cstddef>

namespace bitgraph {

/// A row's magnitudes are added in this many interleaved sums, then those pair by pair: an order that every vector
/// width can keep, so that alpha is the same to the last bit everywhere.
inline constexpr std::size_t binarize_sums = 16;

struct BinarizeArgs {
  DenseView<const float> x;
  const float* shift = nullptr;  ///< null: 0
  const float* scale = nullptr;  ///< null: 1
  BitMatrixView<PlusMinusOne, std::uint64_t> bits;
  float* alpha = nullptr;
};

/// The interleaved sums, pair by pair.
inline float add_pairwise(std::array<float, binarize_sums> sums) noexcept {
  for (std::size_t half = binarize_sums / 2; half != 0; half /= 2) {
    for (std::size_t n = 0; n < half; ++n) sums[n] += sums[n + half];
  }
  return sums[0];
}

void binarize(const Reference& backend, const BinarizeArgs& args);
void binarize(const Cpu& backend, const BinarizeArgs& args);
void binarize(const Cuda& backend, const BinarizeArgs& args);

}  // namespace bitgraph
