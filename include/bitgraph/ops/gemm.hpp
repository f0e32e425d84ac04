// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/bit_matrix.hpp>
#include <bitgraph/formats/dense_matrix.hpp>
#include <bitgraph/formats/sparse_bit_matrix.hpp>
#include <bitgraph/ops/kernel_choice.hpp>

#include <span>
#include <string>

namespace bitgraph {

/// What stands around the product, in values where the matrices are. Empty spans mean ones (scales) or zeros (bias).
///     y(i, f) = row_scale[i] * (col_scale[f] * s(i, f)) + bias[f]
/// A binary output stores y >= 0. If there is no bias, positive scales do not change that, and they are not multiplied
/// in (BitGNN, section 3.1.2). The host checks that scales are positive; for a CUDA device the caller promises it with
/// positive_scales.
struct GemmOptions {
  std::span<const float> row_scale;  ///< one a row of X (alpha, the mean magnitude of a row)
  std::span<const float> col_scale;  ///< one a row of W (the mean magnitude of an output's weights)
  std::span<const float> bias;       ///< one a row of W
  /// The elements of X that count; the others are 0 (dropout on the input). null: all count. X must be a BitMatrix.
  const BitMatrix<ZeroOne>* keep = nullptr;
  bool positive_scales = false;  ///< a promise: row_scale and col_scale are positive
};

/// out = X W^T with X n x d, W c x d (one row an output), out n x c: the update of a graph neural network.
///
/// The types choose among the BMM of BitGNN (section 3.1.2, Figure 2), named input, weight, output:
///     X BitMatrix, W BitMatrix      BMM.BBB, BBF: s = d - 2 popcount(x xor w), exact
///     X DenseMatrix, W BitMatrix    BMM.FBB, FBF: X goes through binarize first; its row scales multiply row_scale
///     X either, W DenseMatrix       BMM.BFB, BFF, FFB: W goes through binarize first; its row scales multiply
///                                   col_scale
///     X SparseBitMatrix, W BitMatrix  BMM.BBB, BBF on features stored as differences from one row
///     X DenseMatrix, W DenseMatrix, out DenseMatrix: plain float (a library's sgemm); not a BMM
///     X and W DenseMatrix<Bfloat16>, out DenseMatrix of Bfloat16 or float: sums and scales are float, and an output of
///     Bfloat16 is rounded once, to nearest; not a BMM
/// Throws usage naming the shapes or devices; a CUDA device has no SparseBitMatrix. O(n c d / 64) word operations, of
/// floats O(n c d).
template <class X, class W, class Out>
void gemm_into(Out& out, const X& x, const W& w, const GemmOptions& options = {});

/// The kernel that gemm_into would run with these operands, which are not changed; of SparseBitMatrix there is no
/// choice. Throws as it does.
template <class X, class W, class Out>
[[nodiscard]] KernelChoice gemm_explain(Out& out, const X& x, const W& w, const GemmOptions& options = {});

template <class Out, class X, class W>
[[nodiscard]] Out gemm(const X& x, const W& w, const GemmOptions& options = {}) {
  Out out(x.nrows(), w.nrows(), w.device());
  gemm_into(out, x, w, options);
  return out;
}

/// out = X W^T with floats X as they are, added and subtracted by the signs of W: s = sum over j of +-x(i, j). For
/// aggregating first, then updating. On the host the sum is in the order of j. On a CUDA device it is within d 2^-23
/// times the sum of magnitudes; exact for whole numbers whose magnitudes add up to less than 2^24 in a row; unspecified
/// for infinities and NaN. Throws usage naming the shapes or devices, and for options.keep. O(n c d).
void binary_weight_gemm_into(DenseMatrix<float>& out, const DenseMatrix<float>& x, const BitMatrix<PlusMinusOne>& w,
                             const GemmOptions& options = {});
[[nodiscard]] inline DenseMatrix<float> binary_weight_gemm(const DenseMatrix<float>& x,
                                                           const BitMatrix<PlusMinusOne>& w,
                                                           const GemmOptions& options = {}) {
  DenseMatrix<float> out(x.nrows(), w.nrows(), x.device());
  binary_weight_gemm_into(out, x, w, options);
  return out;
}

/// The kernel that binary_weight_gemm_into would run. On the host it depends on the first row of X, too.
[[nodiscard]] KernelChoice binary_weight_gemm_explain(DenseMatrix<float>& out, const DenseMatrix<float>& x,
                                                      const BitMatrix<PlusMinusOne>& w,
                                                      const GemmOptions& options = {});

/// Weights made ready for SparseBitMatrix inputs, once for many products. With u(j, f) = base(j) w(f, j) the product is
/// s(i, f) = sum over j of u(j, f) - 2 sum over the flips j of row i of u(j, f): an aggregation of the rows of u along
/// the pattern of the flips, whose cost does not depend on the number of features.
struct SparseGemmWeights {
  BitMatrix<PlusMinusOne> u;     ///< d x c
  Buffer<float> feature_scale;   ///< -2 col_scale
  Buffer<float> feature_offset;  ///< col_scale times the column sums of u
};

/// On the host. Throws usage where base and w differ in width or col_scale does not have w's rows. O(c d / 64 * log).
[[nodiscard]] SparseGemmWeights prepare_sparse_gemm(const BitMatrix<PlusMinusOne>& base,
                                                    const BitMatrix<PlusMinusOne>& w, std::span<const float> col_scale);

/// Plain float product: out = alpha op(A) op(B) + beta out, op(M) = M or M^T; shapes after op: A m x k, B k x n.
/// The library's sgemm: OpenBLAS; on CUDA cuBLAS where it is found at run time, in float32 (not TF32), the same bits in
/// every call, or a kernel with sums in the order of k. Throws usage naming the shapes.
void float_gemm(const DenseSlice<float>& out, const DenseSlice<const float>& a, bool transpose_a,
                const DenseSlice<const float>& b, bool transpose_b, float alpha = 1.0F, float beta = 0.0F);

/// The gradient of weights whose inputs are signs: out = G^T S, where S(i, j) = row_scale[i] (empty: 1) times the sign
/// x(i, j), and 0 where `keep` (null: everything is kept) has no bit. G is n x f, out f x d, X at least n x d: its
/// first rows count. On the host four rows are added at a time, in their order; the sums of all choices of their signs
/// are made once and looked up: the same bits for any number of threads and every instruction set. A CUDA device adds
/// parts of the rows in their order: the same bits in every call. O(n f d). Throws usage naming the shapes.
struct SignGradientOptions {
  std::span<const float> row_scale = {};
  const BitMatrix<ZeroOne>* keep = nullptr;
};
void sign_gradient_into(DenseMatrix<float>& out, const DenseMatrix<float>& g, const BitMatrix<PlusMinusOne>& x,
                        const SignGradientOptions& options = {});

/// Which library's kernels float_gemm runs, and for which processors they were made or of which version they are:
/// "OpenBLAS SkylakeX", "cuBLAS 13.0.2".
[[nodiscard]] std::string float_gemm_kernels(const Device& device);

}  // namespace bitgraph
