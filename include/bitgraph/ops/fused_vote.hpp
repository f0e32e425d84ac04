// SPDX-License-Identifier: Apache-2.0
// An aggregation of bits and what is done with its result, in one kernel: the high-level pairs of BitGNN (section 3.3),
// with the ADD and the product of the next layer behind them. What stands between the two never leaves the chip. On
// CUDA devices, over pattern CSR and the order of its rows; each gives the bits, and the whole numbers behind its
// floats, of the calls that it replaces (ops/spmm.hpp, ops/gemm.hpp, ops/add.hpp).
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/core/device.hpp>
#include <bitgraph/formats/bit_matrix.hpp>
#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/formats/dense_matrix.hpp>
#include <bitgraph/formats/row_order.hpp>
#include <bitgraph/ops/kernel_choice.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bitgraph {

/// Of each row of a bit matrix and each of up to 16 weights, how many of `ncols` signs agree: a product of signs is
/// 2 agreeing - ncols. Rows of 8 or 16 numbers of 16 bits, as many as the weights need. With a scale for each row: rows
/// of as many parts of 16 bytes, each with eight numbers of 10 bits, three a word of 32, and the scale as a float.
struct RowScores {
  Buffer<std::uint16_t> values;
  std::size_t nrows = 0;
  std::size_t count = 0;  ///< weights
  std::size_t ncols = 0;  ///< bits of a row
  bool scaled = false;    ///< rows have scales: vote_into() says so

  RowScores() = default;
  RowScores(std::size_t rows, std::size_t weights, std::size_t bits, const Device& device);

  /// Numbers of a row.
  [[nodiscard]] static constexpr std::size_t row_size(std::size_t weights) noexcept { return weights <= 8 ? 8 : 16; }
  static constexpr std::size_t most = 16;
};

/// The same as bytes, with a scale for each row: of up to 60 weights and an even number of up to 254 bits. A row is the
/// counts, zeros, and the scale as a float in the last four bytes. A neighbour is one gather.
struct ScaledScores {
  Buffer<std::uint8_t> values;
  std::size_t nrows = 0;
  std::size_t count = 0;  ///< weights
  std::size_t ncols = 0;  ///< bits of a row

  ScaledScores() = default;
  ScaledScores(std::size_t rows, std::size_t weights, std::size_t bits, const Device& device);

  /// 16, 32 or 64: a row does not cross lines of memory.
  [[nodiscard]] static constexpr std::size_t row_bytes(std::size_t weights) noexcept {
    return std::max<std::size_t>(16, std::bit_ceil(weights + sizeof(float)));
  }
  [[nodiscard]] static constexpr bool can_hold(std::size_t weights, std::size_t bits) noexcept {
    return weights > 0 && weights <= most && bits > 0 && bits % 2 == 0 && bits <= 254;
  }
  static constexpr std::size_t most = 60;
};

/// Whether there are kernels for bits of this width over a graph whose longest row has so many entries: 64, 128, 256 or
/// 512 bits, or fewer that take as many words, and rows of up to 130,000, 130,000, 65,000 or 32,500 entries.
[[nodiscard]] bool can_fuse(std::size_t ncols, EdgeOffset longest_row) noexcept;

/// The same for counts times `weights` rows of weights: 63 at most, and sums below 2^31.
[[nodiscard]] bool can_fuse_counts(std::size_t ncols, EdgeOffset longest_row, std::size_t weights) noexcept;

/// What becomes of a vote; null is nothing. Each product is signs as whole numbers times .col_scale, plus .bias.
struct VoteUse {
  const BitMatrix<PlusMinusOne>* own = nullptr;  ///< v = the vote or this; may be `votes`
  bool own_beside = false;  ///< own bits are the second half of the rows of X, from a whole word on; X's are the first
  BitMatrix<PlusMinusOne>* votes = nullptr;  ///< = v

  const BitMatrix<PlusMinusOne>* scored = nullptr;  ///< weights, one a row
  RowScores* scores = nullptr;                      ///< of v with them
  std::span<const float> score_scale;               ///< of each row of scores; none: they have none

  /// products = v w^T, or [before v] w^T: `before` is as wide as v, a multiple of 64 bits, and w as both.
  const BitMatrix<PlusMinusOne>* multiplied = nullptr;  ///< w; up to 16 rows
  const BitMatrix<PlusMinusOne>* before = nullptr;
  std::span<const float> col_scale;
  std::span<const float> bias;
  DenseMatrix<float>* products = nullptr;
};

/// BSpMM.BBB, then ADD.BBB, BMM.BBF. Nothing is allocated. Throws usage for shapes that do
/// not fit; not_possible on the host and where can_fuse is false. O(entries * ncols / 64).
void vote_into(const VoteUse& use, const CsrPattern& a, const RowOrder& order, const BitMatrix<PlusMinusOne>& x);

/// The kernel that vote_into would run; nothing is checked, and nothing changed.
[[nodiscard]] KernelChoice vote_explain(const VoteUse& use, const CsrPattern& a, const BitMatrix<PlusMinusOne>& x);

/// Null spans are ones and zeros.
struct AggregateScales {
  std::span<const float> row_scale;
  std::span<const float> col_scale;
  std::span<const float> bias;
  bool add = false;  ///< to what is there
};

/// out = row_scale (sum over a row's entries of scale (col_scale (2 score - ncols) + bias)), scale being that of the
/// neighbour's row of scores, or 1: BSpMM.FBF of the products that the scores stand for. Without scales they are whole
/// numbers until the last step. With scales `ncols` is even, and sums are of floats, which do not depend on timing.
/// O(entries * weights).
void add_scores_into(DenseMatrix<float>& out, const CsrPattern& a, const RowOrder& order, const RowScores& scores,
                     const AggregateScales& scales);

/// The kernel that add_scores_into would run.
[[nodiscard]] KernelChoice add_scores_explain(const CsrPattern& a, const RowScores& scores);

/// The scores of the rows of x with those of w, and the rows' scales; none: ones. Nothing is allocated. Throws usage
/// for shapes that do not fit; not_possible on the host, and where can_hold is false. O(rows * ncols / 32 * weights).
void score_rows_into(ScaledScores& scores, const BitMatrix<PlusMinusOne>& x, const BitMatrix<PlusMinusOne>& w,
                     std::span<const float> scale = {});

/// The kernel that score_rows_into would run.
[[nodiscard]] KernelChoice score_rows_explain(const ScaledScores& scores);

/// The same over scaled scores; `scales.add` is not looked at.
void add_scores_into(DenseMatrix<float>& out, const CsrPattern& a, const RowOrder& order, const ScaledScores& scores,
                     const AggregateScales& scales);

/// The kernel that it would run.
[[nodiscard]] KernelChoice add_scores_explain(const CsrPattern& a, const ScaledScores& scores);

/// A row's own bits in X times weights of their own.
struct OwnProduct {
  const BitMatrix<PlusMinusOne>* weights = nullptr;
  std::span<const float> col_scale;
  std::span<const float> bias;
};

/// out = row_scale (col_scale A x w^T + bias, once for each entry) + own's product: BSpMM.BBF with the product of its
/// counts, BMM.BBF and ADD.FFF. `scales.add` is not looked at. O(entries * ncols / 64 + rows * ncols * weights / 64).
void multiply_counts_into(DenseMatrix<float>& out, const CsrPattern& a, const RowOrder& order,
                          const BitMatrix<PlusMinusOne>& x, const BitMatrix<PlusMinusOne>& w,
                          const AggregateScales& scales, const OwnProduct& own);

/// The kernel that multiply_counts_into would run.
[[nodiscard]] KernelChoice multiply_counts_explain(const CsrPattern& a, const BitMatrix<PlusMinusOne>& x,
                                                   const BitMatrix<PlusMinusOne>& w);

}  // namespace bitgraph
