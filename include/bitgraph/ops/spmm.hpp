// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/bit_matrix.hpp>
#include <bitgraph/formats/bit_tile_matrix.hpp>
#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/formats/dense_matrix.hpp>
#include <bitgraph/formats/row_order.hpp>
#include <bitgraph/formats/sell_pattern.hpp>
#include <bitgraph/ops/kernel_choice.hpp>
#include <bitgraph/ops/spmm_strategy.hpp>

#include <span>

namespace bitgraph {

/// What stands around the product, in values where the matrices are. Empty spans mean ones (scales) or zeros.
///
/// With v(i, f) = sum over the neighbours j of row i of col_scale[j] * x(j, f):
///     y(i, f) = row_scale[i] * (feature_scale[f] * v(i, f) + feature_offset[f]) + bias[f]
/// A binary output stores y >= 0. If there is no offset and no bias, positive scales do not change that, and they are
/// not multiplied in (BitGNN, section 3.1.2). The host checks that scales are positive; for a CUDA device the caller
/// promises it with positive_scales. D^-1/2 (A + I) D^-1/2 is row_scale and col_scale around the pattern of A + I; mean
/// aggregation is a row_scale; factor_weights finds those of saved weights.
struct SpmmOptions {
  std::span<const float> row_scale;       ///< one a row of A
  std::span<const float> col_scale;       ///< one a column of A
  std::span<const float> feature_scale;   ///< one a column of X
  std::span<const float> feature_offset;  ///< one a column of X
  std::span<const float> bias;            ///< one a column of X
  /// How a vote, or its counts, are made: for a BitMatrix X without col_scale. Other products take automatic only; any
  /// other value throws usage.
  SpmmStrategy strategy = SpmmStrategy::automatic;
  bool positive_scales = false;  ///< a promise: row_scale and feature_scale are positive (see above)
  /// Rows of A sorted by length. Build it once if you multiply by the same CsrPattern repeatedly: it speeds up skewed
  /// graphs on CUDA up to three times. Votes are the same; float sums may be taken in another order. The order of a
  /// copy of A will do. The host does not look at it.
  const RowOrder* row_order = nullptr;
};

/// out = A X, A an n x m 0/1 matrix, X m x w, out n x w: the aggregation of a graph neural network.
///
/// The types choose among the eight BSpMM of BitGNN (section 3.1.2, Figure 2). Three letters name input, graph and
/// output; the graph counts as F if col_scale or row_scale is given:
///     X BitMatrix,   out BitMatrix    BSpMM.BBB, BFB: the vote of each row's neighbours; a tie is +1
///     X BitMatrix,   out DenseMatrix  BSpMM.BBF, BFF
///     X DenseMatrix, out BitMatrix    BSpMM.FBB, FFB
///     X DenseMatrix, out DenseMatrix  BSpMM.FBF, FFF
/// A DenseMatrix is of float. X may also be of Bfloat16, with an output of Bfloat16 or float: sums are float then, and
/// an output of Bfloat16 is rounded once, to nearest. On the host such a sum equals that of the same numbers in float.
/// `out` must have its final shape and be where A and X are: a repeated call allocates nothing. Throws usage naming
/// what does not fit. O(nvals * w), or O(nvals * w / 64) word operations for an unscaled vote. On CUDA CSR is fastest.
///
/// Votes are exact, the same on every device. Float sums are taken in the order of each row's columns on the host; on a
/// CUDA device in an order that is always the same but another one: v(i, f) of n terms is within n 2^-23 S of the
/// host's, S(i, f) the sum of the terms' magnitudes, and y is worked out from that. A sign is that of such a sum.
template <class X, class Out>
void spmm_into(Out& out, const CsrPattern& a, const X& x, const SpmmOptions& options = {});
template <class X, class Out>
void spmm_into(Out& out, const BitTileMatrix& a, const X& x, const SpmmOptions& options = {});

/// The kernel that spmm_into would run with these operands, which are not changed. Throws as it does.
template <class X, class Out>
[[nodiscard]] KernelChoice spmm_explain(Out& out, const CsrPattern& a, const X& x, const SpmmOptions& options = {});
template <class X, class Out>
[[nodiscard]] KernelChoice spmm_explain(Out& out, const BitTileMatrix& a, const X& x, const SpmmOptions& options = {});
template <class Out>
[[nodiscard]] KernelChoice spmm_explain(Out& out, const SellPattern& a, const BitMatrix<PlusMinusOne>& x,
                                        const SpmmOptions& options = {});

/// Whether SpmmOptions::row_order makes a product of so many float features faster on a CUDA device.
[[nodiscard]] bool spmm_sums_by_order(std::size_t ncols) noexcept;

/// Bytes of a CUDA device's workspace that a product of so many entries takes for a copy of float X, nrows x ncols; 0
/// if it makes none. A copy is made of X of up to 64 features, and of wider X that has col_scale if the graph has very
/// many entries: its rows are padded to a multiple of four floats and multiplied by col_scale. to_bits stands for signs
/// that are taken with a row_order: then X of 64 features and more is copied to 16-bit numbers if there are very many
/// entries.
[[nodiscard]] std::size_t spmm_copy_bytes(std::size_t nrows, std::size_t ncols, EdgeOffset entries, bool has_col_scale,
                                          bool to_bits = false) noexcept;

/// The vote over a graph that to_sell() has prepared; the fastest vote on a CPU. BSpMM.BBB and BBF only; throws usage
/// for col_scale. Throws not_possible on a CUDA device, where CsrPattern is the fastest.
template <class Out>
void spmm_into(Out& out, const SellPattern& a, const BitMatrix<PlusMinusOne>& x, const SpmmOptions& options = {});

/// The same with a new output, where X is.
template <class Out, class Graph, class X>
[[nodiscard]] Out spmm(const Graph& a, const X& x, const SpmmOptions& options = {}) {
  Out out(a.nrows(), x.ncols(), x.device());
  spmm_into(out, a, x, options);
  return out;
}

/// spmm<BitMatrix>(a, x): a vote; spmm<DenseMatrix>(a, x): a sum.
template <template <class> class Out, class Graph, class X>
[[nodiscard]] auto spmm(const Graph& a, const X& x, const SpmmOptions& options = {}) {
  if constexpr (requires { typename Out<PlusMinusOne>::domain; }) {
    return spmm<Out<PlusMinusOne>>(a, x, options);
  } else {
    return spmm<Out<float>>(a, x, options);
  }
}

}  // namespace bitgraph
