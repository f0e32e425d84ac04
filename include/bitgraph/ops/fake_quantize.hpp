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

// Steps can be learned as weights are (Esser et al. 2020, "Learned Step Size Quantization"), offsets too (Bhalgat et
// al. 2020, "LSQ+"). What is learned is the logarithm of a step and where the first level lies, counted in steps: a
// step stays positive, and one learning rate suits values of any size.

/// scale, 2 x n: steps and below them offsets, of 2 x n learned numbers: exp(a), and exp(a) times the number below a.
/// Throws usage naming the shapes. O(n).
void learned_scale_into(DenseMatrix<float>& scale, const DenseMatrix<float>& learned);

/// The gradient of the learned numbers, 2 x n, where `gradient` is that of fake_quantize_into(x): n is 1, nrows or
/// ncols as the grid's extent says. Sums in double over fixed parts of the rows, joined in their order. On the host and
/// on a CUDA device, where it allocates nothing. Throws usage naming the shapes. O(nrows * ncols).
void learned_scale_backward_into(DenseMatrix<float>& sums, const DenseMatrix<float>& gradient,
                                 const DenseMatrix<float>& x, const LevelGrid& grid);

}  // namespace bitgraph
