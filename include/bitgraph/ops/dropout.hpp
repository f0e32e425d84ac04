// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/random.hpp>
#include <bitgraph/formats/bit_matrix.hpp>
#include <bitgraph/formats/dense_matrix.hpp>

#include <span>

namespace bitgraph {

/// Fills `keep` with bits that are 1 with probability 1 - rate (to 1/65536): a pure function of key and position (row,
/// column), whatever the number of threads or the instruction set, and the same in every version. Padding bits are 0.
/// Bit (i, j) is 1 where its 16-bit number is below round((1 - rate) * 65536). The number is half h (low first) of word
/// n of random_words(key, (i * words_for_bits(ncols) + j / 64) * 8 + j % 64 / 8), with j % 8 = 2 n + h; so a row
/// depends on its own index and the width only. Allocates nothing. O(nrows * ncols). Throws usage unless 0 <= rate < 1.
void dropout_mask_into(BitMatrix<ZeroOne>& keep, float rate, RandomKey key);

/// x(i, j) = keep(i, j) ? x(i, j) * (1 / (1 - rate)) : 0, in place; what is dropped becomes 0 even if it is not a
/// number. Backward is the same on the gradient. O(nrows * ncols). Throws usage for a rate as above, or shapes that
/// differ.
void apply_dropout(DenseMatrix<float>& x, const BitMatrix<ZeroOne>& keep, float rate);

/// x(i, j) becomes -1 where `keep` has no bit, in place: features that a node has are forgotten, as dropout does with
/// the entries of a sparse matrix, and what it does not have stays so. O(nrows * ncols). Throws usage for shapes that
/// differ.
void drop_set_bits(BitMatrix<PlusMinusOne>& x, const BitMatrix<ZeroOne>& keep);

/// The same for the entries of a sparse matrix: out[e] = 0 where random_uniform(key, e) < rate, else values[e] *
/// (1 / (1 - rate)). On the host only. O(entries). Throws usage for a rate as above, or sizes that differ.
void drop_entries_into(std::span<float> out, std::span<const float> values, float rate, RandomKey key,
                       const Device& device = {});

}  // namespace bitgraph
