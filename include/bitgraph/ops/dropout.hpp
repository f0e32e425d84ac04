// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/random.hpp>
#include <bitgraph/formats/bit_matrix.hpp>
#include <bitgraph/formats/dense_matrix.hpp>

namespace bitgraph {

/// Fills `keep` with bits that are 1 with probability 1 - rate (to 1/65536): a pure function of key and position (row,
/// column), whatever the number of threads or the instruction set. Throws usage unless 0 <= rate < 1.
void dropout_mask_into(BitMatrix<ZeroOne>& keep, float rate, RandomKey key, const Device& device = {});

/// x(i, j) = keep(i, j) ? x(i, j) / (1 - rate) : 0, in place. Backward is the same on the gradient.
void apply_dropout(DenseMatrix<float>& x, const BitMatrix<ZeroOne>& keep, float rate, const Device& device = {});

}  // namespace bitgraph
