// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/bit_matrix.hpp>
#include <bitgraph/formats/bit_planes.hpp>
#include <bitgraph/formats/bit_tile_matrix.hpp>
#include <bitgraph/formats/dense_matrix.hpp>
#include <bitgraph/formats/quantized_matrix.hpp>
#include <bitgraph/ops/kernel_choice.hpp>
#include <bitgraph/ops/level_spmm.hpp>

#include <cstdint>

namespace bitgraph {

// Products of bit planes (QGTC, sections 3.1 and 4, Algorithm 1): out(i, j) = sum over c of a(i, c) x(c, j). A is n x k
// levels of s bits, packed by rows; X is k x d levels of t bits, packed by columns. Plane p of A and plane q of X meet
// in ANDs whose ones are counted, and a count weighs 2^(p + q). Sums are exact: QGTC's bitMM2Int; scales do not count.
// Where A is a graph, the sums over neighbours may become floats or levels: bitMM2Bit.
// The work is O(s t n k d / 64) words, so planes are for few bits and an A without many zeros. For other levels see
// level_gemm.hpp and level_spmm.hpp. On a CUDA device nothing is allocated.
//
// All calls throw usage, naming what does not fit: shapes, packings, places, or sums that could pass the type, which is
// where s + t + log2 k is more than 31, or 63.

void plane_gemm_into(DenseMatrix<std::int32_t>& out, const BitPlanes& a, const BitPlanes& x);
void plane_gemm_into(DenseMatrix<std::int64_t>& out, const BitPlanes& a, const BitPlanes& x);

/// The same of an A of one bit: sums over the neighbours in a dense batch.
void plane_gemm_into(DenseMatrix<std::int32_t>& out, const BitMatrix<ZeroOne>& a, const BitPlanes& x);
void plane_gemm_into(DenseMatrix<std::int64_t>& out, const BitMatrix<ZeroOne>& a, const BitPlanes& x);

/// The same of tiles of side 64. Tiles without an entry are not stored, so they cost nothing: what zero-tile jumping is
/// for (section 4.3). A tile meets all planes of X once it is loaded (section 4.4). O(tiles d t).
void plane_gemm_into(DenseMatrix<std::int32_t>& out, const BitTileMatrix& a, const BitPlanes& x);
void plane_gemm_into(DenseMatrix<std::int64_t>& out, const BitTileMatrix& a, const BitPlanes& x);

/// Sums over neighbours as floats or levels, by the formula of LevelSpmmOptions with the scale that X has: of the
/// tensor or by columns. The same bits as level_spmm_into() gives for the same graph and levels. `row_order` does not
/// count.
void plane_gemm_into(DenseMatrix<float>& out, const BitMatrix<ZeroOne>& a, const BitPlanes& x,
                     const LevelSpmmOptions& options = {});
void plane_gemm_into(DenseMatrix<float>& out, const BitTileMatrix& a, const BitPlanes& x,
                     const LevelSpmmOptions& options = {});
void plane_gemm_into(QuantizedMatrix& out, const BitMatrix<ZeroOne>& a, const BitPlanes& x,
                     const LevelSpmmOptions& options = {});
void plane_gemm_into(QuantizedMatrix& out, const BitTileMatrix& a, const BitPlanes& x,
                     const LevelSpmmOptions& options = {});

/// The levels of X as the planes that products read: to_planes(x, PlanePacking::columns) in memory that is there, of
/// the shape and the bits of X. The scale of `out` stays. Throws usage, naming what does not fit. O(nrows ncols bits).
void pack_planes_into(BitPlanes& out, const QuantizedMatrix& x);

/// The kernel that these would run for sums of 32 bits.
[[nodiscard]] KernelChoice plane_gemm_explain(const BitPlanes& a, const BitPlanes& x);
[[nodiscard]] KernelChoice plane_gemm_explain(const BitMatrix<ZeroOne>& a, const BitPlanes& x);
[[nodiscard]] KernelChoice plane_gemm_explain(const BitTileMatrix& a, const BitPlanes& x);

}  // namespace bitgraph
