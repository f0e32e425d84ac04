// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/dense_matrix.hpp>
#include <bitgraph/formats/level_view.hpp>

#include <span>

namespace bitgraph {

// Quantization-aware training works on floats that only have the values of levels (Jacob et al. 2018, "Quantization and
// Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference"); QGTC, Equation 2, to nearest.

/// The levels of a matrix: value = step * level + offset, level 0 .. 2^bits - 1.
struct LevelGrid {
  int bits = 8;                              ///< 1 to 16
  ScaleExtent extent = ScaleExtent::tensor;  ///< not none
  std::span<const float> steps = {};         ///< 1, nrows or ncols of them, positive
  std::span<const float> offsets = {};       ///< as many
  std::span<const float> row_scale = {};     ///< of a row before, and taken out again behind; empty: ones
};

/// out = the values that x has in levels. `out` may be x. On the host and on a CUDA device; allocates nothing. Throws
/// usage naming the shapes. O(nrows * ncols).
void fake_quantize_into(DenseMatrix<float>& out, const DenseMatrix<float>& x, const LevelGrid& grid);

/// Straight through where x lies between the first and the last level, or half a step beyond; else 0: changes
/// `gradient`, which is as large as x, in place.
void fake_quantize_backward(DenseMatrix<float>& gradient, const DenseMatrix<float>& x, const LevelGrid& grid);

}  // namespace bitgraph
