// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/formats/dense_matrix.hpp>
#include <bitgraph/formats/quantized_matrix.hpp>
#include <bitgraph/formats/row_order.hpp>
#include <bitgraph/ops/activation.hpp>
#include <bitgraph/ops/kernel_choice.hpp>
#include <bitgraph/ops/quantize.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace bitgraph {

// Aggregation of values of few bits (QGTC, section 3.2): A is an n x m 0/1 matrix, X m x w with one scale for all or
// one for each column, out n x w. Only whole numbers are added, so all sums of levels are exact.

/// Sums of the levels of each row's neighbours; scales do not count. Throws usage, naming the shapes, or where a sum
/// could pass the type: the bits of X and log2 of the longest row more than 31, or 63. Allocates nothing. O(nvals w).
void level_spmm_into(DenseMatrix<std::int32_t>& out, const CsrPattern& a, const QuantizedMatrix& x);
void level_spmm_into(DenseMatrix<std::int64_t>& out, const CsrPattern& a, const QuantizedMatrix& x);

/// The epilogue. With s the sum of the levels of a column over the d neighbours of a row, and u = 1, a value is
///     fma(x_step u row_scale, s, fma(x_offset u, row_scale d, (bias - out_offset) u))
/// where fma(a, b, c) is a b + c rounded once, and each other operation is rounded to float32: the same bits on every
/// backend.
struct LevelSpmmOptions {
  std::span<const float> row_scale = {};     ///< one a row of A; empty: ones
  std::span<const float> bias = {};          ///< one a column of X; empty: zeros
  Activation activation = Activation::none;  ///< behind the bias
  Rounding rounding = Rounding::nearest;     ///< of levels out
  /// Of A, where many products go over one pattern: rows of one length are added side by side. Null: none. The host
  /// looks at it for an X in planes alone.
  const RowOrder* row_order = nullptr;
  /// Of levels out, on a CUDA device and with a row order: level_spmm_plane_words() words of memory there, or more,
  /// whose contents are lost. Levels of up to 2 bits, in and out, are then added as planes of bits, which is faster
  /// over large graphs, where the columns are a multiple of 64 and there is no tanh: level_spmm_has_planes(). An X in
  /// planes (LevelPacking) needs level_spmm_prepared_words(), on the host, too. Empty: none. Others do not look at it.
  std::span<std::uint64_t> planes = {};
  /// Of an X in planes: `planes` have what level_spmm_prepare() with the same operands and options has left there.
  bool prepared = false;
  /// Of floats out: row i of the result is stored as row out_rows[i], each row once. On the device of the output, where
  /// the rows are not checked; empty: each row has its own place.
  std::span<const NodeId> out_rows = {};
};
void level_spmm_into(DenseMatrix<float>& out, const CsrPattern& a, const QuantizedMatrix& x,
                     const LevelSpmmOptions& options = {});

/// The same as levels, with the bits and the scale that `out` has: of the tensor, by columns or by rows. With
/// u = 1 / out_step the formula gives the level, which is then rounded and brought into range. Where the scale is by
/// rows, and behind a tanh, the level is that of the float v that the formula above gives: fma(v, u, -(out_offset u)).
/// Fastest where X and `out` have levels of up to 4 bits both, or of 5 to 8, and the scale is not by rows. X and `out`
/// may be in planes, both, with LevelSpmmOptions::planes. Throws usage for an `out` without a scale, and for planes
/// otherwise.
void level_spmm_into(QuantizedMatrix& out, const CsrPattern& a, const QuantizedMatrix& x,
                     const LevelSpmmOptions& options = {});

/// Finds what level_spmm_into() with these operands and options needs of their scales, and leaves it in
/// LevelSpmmOptions::planes: the least sums that reach each level, for rows of each length. Levels are in planes, and
/// do not count. Throws as level_spmm_into() does. O(ncols), on the host O(nrows + ncols).
void level_spmm_prepare(QuantizedMatrix& out, const CsrPattern& a, const QuantizedMatrix& x,
                        const LevelSpmmOptions& options);

/// Whether sums of levels of x_bits to levels of out_bits are added as planes where LevelSpmmOptions::planes are there.
[[nodiscard]] bool level_spmm_has_planes(int x_bits, int out_bits, std::size_t ncols, Activation activation) noexcept;
/// Words of LevelSpmmOptions::planes for an X of that shape in places, on a CUDA device.
[[nodiscard]] std::size_t level_spmm_plane_words(std::size_t nrows, std::size_t ncols) noexcept;

/// Words of LevelSpmmOptions::planes for levels in planes of so many columns: what level_spmm_prepare() finds.
[[nodiscard]] std::size_t level_spmm_prepared_words(std::size_t ncols, bool on_host) noexcept;

/// The kernel that these would run.
[[nodiscard]] KernelChoice level_spmm_explain(const CsrPattern& a, const QuantizedMatrix& x);

}  // namespace bitgraph
