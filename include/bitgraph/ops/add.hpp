// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/bit_matrix.hpp>
#include <bitgraph/formats/dense_matrix.hpp>
#include <bitgraph/ops/activation.hpp>

#include <span>

namespace bitgraph {

/// What an operand of an addition is multiplied by: what scales a binary matrix to the values that it stands for. Empty
/// spans mean ones.
struct AddScales {
  std::span<const float> row;  ///< one a row
  std::span<const float> col;  ///< one a column
};

/// What stands around the sum; values where the matrices are.
///     y(i, f) = a_scales.row[i] * (a_scales.col[f] * a(i, f)) + b_scales.row[i] * (b_scales.col[f] * b(i, f)) +
///     bias[f]
/// and of that the activation. A binary output stores y >= 0.
struct AddOptions {
  AddScales a_scales;
  AddScales b_scales;
  std::span<const float> bias;               ///< one a column; empty: zeros
  Activation activation = Activation::none;  ///< of a DenseMatrix only: the sign behind a tanh is that before it
};

/// out = a + b, of one shape: a node's own part and that of its neighbours (SAGE).
///
/// The types choose among the ADD of BitGNN (section 3.1.2, Figure 2), named a, b, out:
///     BitMatrix,   BitMatrix,   DenseMatrix    ADD.BBF
///     DenseMatrix, DenseMatrix, DenseMatrix    ADD.FFF
///     DenseMatrix, DenseMatrix, BitMatrix      ADD.FFF and the sign behind it, in one pass
///     BitMatrix,   BitMatrix,   BitMatrix      the sign of the sum, a tie being +1: without scales a | b
/// As in the paper, a and b have one type. `out` may be a or b where it has their type. Throws usage naming the shapes,
/// lengths or devices that do not fit. Each product and sum is rounded: the same result on every device. O(nrows
/// ncols), or O(nrows ncols / 64) for bits without col scales and bias; allocates nothing.
template <class In, class Out>
void add_into(Out& out, const In& a, const In& b, const AddOptions& options = {});

/// The same with a new output.
template <class Out, class In>
[[nodiscard]] Out add(const In& a, const In& b, const AddOptions& options = {}) {
  Out out(a.nrows(), a.ncols(), a.device());
  add_into(out, a, b, options);
  return out;
}

}  // namespace bitgraph
