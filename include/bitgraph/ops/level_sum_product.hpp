// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/ops/level_gemm.hpp>
#include <bitgraph/ops/level_spmm.hpp>

#include <cstddef>

namespace bitgraph {

// A sum of levels over neighbours and the product of its levels with a W of few outputs, as the last layer of a network
// has, in one kernel of a CUDA device (QGTC, section 4.5): the levels between them are never stored.

/// The levels between the sum and the product: with one scale for all, and packed as X.
struct LevelsBetween {
  int bits = 8;
  const LevelScale* scale = nullptr;
};

/// What decides whether one kernel does both.
struct LevelSumProductShape {
  int x_bits = 8;
  LevelPacking packing = LevelPacking::places;  ///< of X
  int between_bits = 8;
  int w_bits = 8;
  int out_bits = 8;
  std::size_t columns = 0;
  std::size_t outputs = 0;
};

/// Whether CUDA devices have a kernel: for 64 to 256 columns and up to 8 outputs of 5 to 8 bits. In places, levels of X
/// and those between have up to 4 bits both, or 5 to 8; rows of X are whole pieces of 16 bytes, and W has at most 8
/// bits. In planes they have 2 bits both and 192 or 256 columns, and W has at most 2 bits.
[[nodiscard]] bool level_sum_product_can(const LevelSumProductShape& shape) noexcept;

/// The levels that level_spmm_into() with `sum` and level_gemm_into() with `product` make one after the other, bit for
/// bit. `sum` has a row order and no rows of floats, `product` neither addend nor rows of floats; nothing is behind a
/// tanh; the scale of `out` is not by rows. An X in planes needs level_sum_product_words() words of
/// LevelSpmmOptions::planes. Throws usage for operands that do not go together, not_possible on the host and where
/// level_sum_product_can() is false. Allocates nothing. O(nvals columns + rows columns outputs).
void level_sum_product_into(QuantizedMatrix& out, const CsrPattern& a, const QuantizedMatrix& x,
                            const LevelSpmmOptions& sum, const LevelsBetween& between, const LevelWeights& w,
                            const LevelGemmOptions& product = {});

/// As level_spmm_prepare(), for an X in planes: also brings W into the order in which it is read.
void level_sum_product_prepare(QuantizedMatrix& out, const CsrPattern& a, const QuantizedMatrix& x,
                               const LevelSpmmOptions& sum, const LevelsBetween& between, const LevelWeights& w,
                               const LevelGemmOptions& product = {});

/// Words of LevelSpmmOptions::planes for an X in planes of so many columns.
[[nodiscard]] std::size_t level_sum_product_words(std::size_t ncols) noexcept;

}  // namespace bitgraph
