// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/core/types.hpp>
#include <bitgraph/formats/dense_matrix.hpp>
#include <bitgraph/formats/quantized_matrix.hpp>
#include <bitgraph/formats/sparse_levels.hpp>
#include <bitgraph/ops/activation.hpp>
#include <bitgraph/ops/kernel_choice.hpp>
#include <bitgraph/ops/level_strategy.hpp>
#include <bitgraph/ops/quantize.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace bitgraph {

// Products of matrices of few bits (QGTC, section 3): X is n x k, W is f x k, out(i, j) = sum over c of x(i, c) w(j,
// c). X has one scale for all or one for each row, W one for all or one for each row, which is an output. All sums of
// levels are exact.

/// W made ready for many products: levels as bytes, in the order in which kernels read them.
struct LevelWeights {
  std::size_t nrows = 0;  ///< outputs
  std::size_t ncols = 0;
  int bits = 1;
  /// For the lower byte of the levels, and for the upper one where they have more than 8 bits: panels of 16 outputs,
  /// [panel][4 columns][output][column], a level less shift_of(bits). Places without an output or a column have
  /// level 0.
  Buffer<std::int8_t> panels;
  /// For products with SparseLevels: row c has column c of all outputs, whole panels, a level less 2^(bits - 1). Empty:
  /// it is not made for them.
  Buffer<std::int16_t> table;
  // On a CUDA device, instead: levels as bytes, or as 16 bits where they have more than 8.
  Buffer<std::uint8_t> rows;   ///< of outputs, behind each zeros to 32 bytes
  Buffer<std::uint8_t> image;  ///< rows as the fastest kernel for `use` reads them; empty: none
  LevelWeightsUse use;
  Buffer<std::uint8_t> columns;  ///< the table: column c of all outputs, whole panels; what is no output has zeros
  Buffer<std::int64_t> sums;     ///< of an output's levels
  Buffer<float> steps;           ///< one an output
  Buffer<float> offsets;         ///< the same; empty: zeros

  static constexpr std::size_t panel_outputs = 16;
  static constexpr std::size_t group = 4;  ///< columns that are multiplied together

  [[nodiscard]] static constexpr int shift_of(int bits) noexcept { return bits < 8 ? 0 : 128; }
  [[nodiscard]] std::size_t num_panels() const noexcept { return (nrows + panel_outputs - 1) / panel_outputs; }
  [[nodiscard]] std::size_t num_groups() const noexcept { return (ncols + group - 1) / group; }
  [[nodiscard]] std::size_t panel_bytes() const noexcept { return num_groups() * group * panel_outputs; }
  [[nodiscard]] std::size_t level_bytes() const noexcept { return bits > 8 ? 2 : 1; }
  [[nodiscard]] std::size_t row_bytes() const noexcept { return (ncols * level_bytes() + 31) / 32 * 32; }
  [[nodiscard]] std::size_t column_bytes() const noexcept { return num_panels() * panel_outputs * level_bytes(); }
  [[nodiscard]] const Device& device() const noexcept { return steps.device(); }
  [[nodiscard]] std::size_t bytes() const noexcept {
    return panels.bytes() + table.bytes() + rows.bytes() + image.bytes() + columns.bytes() + sums.bytes() +
           steps.bytes() + offsets.bytes();
  }
};

/// Whether levels of so many bits and columns may be multiplied as planes on a CUDA device, where it has the
/// instructions.
[[nodiscard]] bool level_gemm_has_planes(int x_bits, int w_bits, std::size_t ncols) noexcept;
/// Whether products on this device take an X of so many columns in planes (LevelPacking), where W has so many bits: the
/// host, or a device of compute capability 9.0, of rows that fit its shared memory. Levels out may be in planes there,
/// too; on the device not with a scale by rows, and without a tanh.
[[nodiscard]] bool level_gemm_takes_planes(const Device& device, int w_bits, std::size_t ncols);

/// For products on `device`, of a W on the host. Throws usage for a scale by columns. O(nrows * ncols).
[[nodiscard]] LevelWeights prepare_level_weights(const QuantizedMatrix& w, const Device& device = {},
                                                 const LevelWeightsUse& use = {});

/// LevelWeights::bytes() of such weights, which are not made.
[[nodiscard]] std::size_t level_weights_bytes(const QuantizedMatrix& w, const Device& device,
                                              const LevelWeightsUse& use = {});

/// Sums of products of levels; scales do not count: QGTC's bitMM2Int. Throws usage, naming the shapes, or where a sum
/// could pass the type: that is, where the bits of X and W and log2 of k are more than 31, or 63. Allocates nothing.
/// O(n f k).
void level_gemm_into(DenseMatrix<std::int32_t>& out, const QuantizedMatrix& x, const LevelWeights& w);
void level_gemm_into(DenseMatrix<std::int64_t>& out, const QuantizedMatrix& x, const LevelWeights& w);

/// The epilogue: what is done to a product of values before it is stored.
struct LevelGemmOptions {
  std::span<const float> bias = {};  ///< one an output; empty: zeros
  /// n x f floats on the device of the output, which are added to the values behind the bias; null: none. Levels out
  /// are then those of the floats, as where their scale is by rows; their scale is not by columns.
  const DenseMatrix<float>* addend = nullptr;
  Activation activation = Activation::none;  ///< behind both
  /// Of levels out: how values become levels.
  Rounding rounding = Rounding::nearest;
  /// Of floats out: row i of the result is stored as row out_rows[i], each row once. On the device of the output, where
  /// the rows are not checked; empty: each row has its own place.
  std::span<const NodeId> out_rows = {};
};

/// Products of the values that levels mean, as floats. With s the sum of products of levels, r the sum of x's levels, t
/// that of w's, and u = 1:
///     fma(w_step u x_step, s, fma(w_offset u, x_step r, z)), z = fma(x_offset, (w_step t + w_offset k) u, b),
///     b = (bias - out_offset) u
/// where fma(a, b, c) is a b + c rounded once, and each other operation is rounded to float32, the whole numbers first:
/// the same bits on every backend.
void level_gemm_into(DenseMatrix<float>& out, const QuantizedMatrix& x, const LevelWeights& w,
                     const LevelGemmOptions& options = {});

/// The same as levels, with the bits and the scale that `out` has: of the tensor, by columns or by rows. With
/// u = 1 / out_step the formula gives the level, which is then rounded and brought into range. Where the scale is by
/// rows, behind a tanh, and with an addend, the level is that of the float v that the formula above and the addend
/// give: fma(v, u, -(out_offset u)). QGTC's bitMM2Bit. Throws usage for an `out` without a scale, and for levels in
/// planes that W is not ready for.
void level_gemm_into(QuantizedMatrix& out, const QuantizedMatrix& x, const LevelWeights& w,
                     const LevelGemmOptions& options = {});

/// The same results, bit for bit, of an X that is mostly zeros: products of the entries alone. W must have been made
/// ready for them. O(nvals f + n f).
void level_gemm_into(DenseMatrix<std::int64_t>& out, const SparseLevels& x, const LevelWeights& w);
void level_gemm_into(DenseMatrix<float>& out, const SparseLevels& x, const LevelWeights& w,
                     const LevelGemmOptions& options = {});
void level_gemm_into(QuantizedMatrix& out, const SparseLevels& x, const LevelWeights& w,
                     const LevelGemmOptions& options = {});

/// The kernel that these would run.
[[nodiscard]] KernelChoice level_gemm_explain(const QuantizedMatrix& x, const LevelWeights& w);
[[nodiscard]] KernelChoice level_gemm_explain(const SparseLevels& x, const LevelWeights& w);

}  // namespace bitgraph
