// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/bit_tile_matrix.hpp>
#include <bitgraph/formats/csr_matrix.hpp>
#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/ops/kernel_choice.hpp>
#include <bitgraph/ops/semiring.hpp>

#include <cstdint>
#include <type_traits>

namespace bitgraph {

/// Which entries of a product are computed: those where the matrix has an entry, or with ~ those where it has none.
/// Empty: all. It refers to the matrix, which must outlive it.
template <class Graph>
struct MatrixMask {
  MatrixMask() = default;
  MatrixMask(const Graph& matrix) : entries(&matrix) {}  // NOLINT(google-explicit-constructor): a matrix is a mask

  const Graph* entries = nullptr;
  bool complement = false;
};

[[nodiscard]] inline MatrixMask<CsrPattern> operator~(const CsrPattern& matrix) {
  MatrixMask<CsrPattern> mask(matrix);
  mask.complement = true;
  return mask;
}
[[nodiscard]] inline MatrixMask<BitTileMatrix> operator~(const BitTileMatrix& matrix) {
  MatrixMask<BitTileMatrix> mask(matrix);
  mask.complement = true;
  return mask;
}

// Products of two 0/1 matrices. Graph is CsrPattern or BitTileMatrix; all operands of a call have one format, tiles one
// side, and live on one device, where the product runs with that device's threads. All throw usage naming the shapes.
// Results are integers and bits: the same on every backend, instruction set and number of threads.
// On a CUDA device a call waits for its sum, or for the size of its result, which stays on the device; products of
// tiles whose result has none unpack them there.

/// The sum of all entries of A B: bmm_bin_bin_sum of Bit-GraphBLAS (section IV), which computes the product in full.
/// The sum over i and j of sum_k A(i, k) B(k, j) is the sum over k of column k's entries in A times row k's in B: no
/// product is needed, O(nvals of A + nvals of B).
template <class Graph>
[[nodiscard]] std::uint64_t mxm_sum(const Graph& a, const Graph& b);

struct MxmSumOptions {
  bool transpose_b = false;  ///< A B^T instead of A B, without transposing
};

/// The sum of the entries of A B, or A B^T, where the mask has one: bmm_bin_bin_sum_masked (Bit-GraphBLAS, section IV),
/// which counts triangles as A = B = mask = the lower triangle, with transpose_b. No product is stored: common entries
/// of pairs of rows are counted, tile rows by AND and popcount. For A B^T, O(sum over the mask's entries (i, j) of the
/// entries of row j of B), or of the tiles of both rows; for A B, over the entries (i, k) of A. Workspace: a bit a
/// column and thread, and bit rows of long rows of B: 64 MiB at most on the host, 256 MiB on a CUDA device. A
/// complemented mask is an error: take the difference of two sums.
template <class Graph>
[[nodiscard]] std::uint64_t mxm_sum(const Graph& a, const Graph& b, const std::type_identity_t<MatrixMask<Graph>>& mask,
                                    const MxmSumOptions& options = {});

/// A B over or_and: entry (i, j) where a k has both A(i, k) and B(k, j). The result has the operands' format, and its
/// arrays exactly their size: the rows are counted first, then written (Gustavson's algorithm, twice). A row of bits
/// gathers a thread's results: workspace a little over a bit a column and thread, for tiles tile_dim bits.
/// O(sum over the entries (i, k) of A of the entries of row k of B), or of tiles. Within a mask rows of A and of B^T,
/// made for that, are compared where that is less: memory 4 bytes an entry of the mask, and those of B^T.
/// On a CUDA device short rows are sorted, with room for their products of at most 1 GiB, and long ones are bits: 1 GiB
/// at most, or one row; of tiles also those tiles that turn out empty.
template <class Graph>
[[nodiscard]] Graph mxm(OrAnd semiring, const Graph& a, const Graph& b,
                        const std::type_identity_t<MatrixMask<Graph>>& mask = {});

/// A B over plus_pair: how many k have both A(i, k) and B(k, j), for those (i, j) where there is one. Counts have no
/// tile format: pattern CSR with values, also of tiles. The rest as over or_and; in addition to the bits a counter a
/// column and thread, or, where there are more than 2^22 columns, a hash table as large as the largest row of the
/// result asks.
template <class Graph>
[[nodiscard]] CsrMatrix<std::uint32_t> mxm(PlusPair semiring, const Graph& a, const Graph& b,
                                           const std::type_identity_t<MatrixMask<Graph>>& mask = {});

/// The kernels that mxm and mxm_sum would run. Bytes are those of the operands, and on a CUDA device those of products,
/// as if all rows were as long as the mean. They throw as mxm and mxm_sum do. Within a mask, on the host, the choice
/// takes O(entries), and B^T where comparing may pay.
template <class Graph>
[[nodiscard]] KernelChoice mxm_explain(OrAnd semiring, const Graph& a, const Graph& b,
                                       const std::type_identity_t<MatrixMask<Graph>>& mask = {});
template <class Graph>
[[nodiscard]] KernelChoice mxm_explain(PlusPair semiring, const Graph& a, const Graph& b,
                                       const std::type_identity_t<MatrixMask<Graph>>& mask = {});
template <class Graph>
[[nodiscard]] KernelChoice mxm_sum_explain(const Graph& a, const Graph& b,
                                           const std::type_identity_t<MatrixMask<Graph>>& mask = {},
                                           const MxmSumOptions& options = {});

}  // namespace bitgraph
