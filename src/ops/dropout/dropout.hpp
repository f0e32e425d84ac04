// SPDX-License-Identifier: Apache-2.0
// The kernels of the dropout mask. Word w of row r takes its 64 numbers of 16 bits from the eight draws at positions
// (r * words_per_row + w) * 8 .. + 8 of the stream: draw d gives columns 8 d .. 8 d + 8, column 8 d + 2 n + h being
// half h (low first) of word n of the draw.
#pragma once

#include <bitgraph/core/random.hpp>
#include <bitgraph/formats/bit_matrix.hpp>

#include "core/backend.hpp"

namespace bitgraph {

struct DropoutArgs {
  BitMatrixView<ZeroOne, std::uint64_t> keep;
  std::uint32_t threshold = 65536;  ///< a column is kept where its number is below this
  RandomKey key;
};

void dropout_mask(const Reference& backend, const DropoutArgs& args);
void dropout_mask(const Cpu& backend, const DropoutArgs& args);

}  // namespace bitgraph
