// SPDX-License-Identifier: Apache-2.0
#include "ops/dropout/dropout.hpp"

namespace bitgraph {

void dropout_mask(const Reference&, const DropoutArgs& args) {
  for (std::size_t i = 0; i < args.keep.nrows; ++i) {
    for (std::size_t word = 0; word < args.keep.words_per_row; ++word) args.keep.row(i)[word] = 0;
    for (std::size_t j = 0; j < args.keep.ncols; ++j) {
      const std::uint64_t word = i * args.keep.words_per_row + j / 64;
      const auto draw = random_words(args.key, word * 8 + j % 64 / 8);
      const std::uint32_t number = (draw[j % 8 / 2] >> (16 * (j % 2))) & 0xFFFFU;
      args.keep.row(i)[j / 64] |= static_cast<std::uint64_t>(number < args.threshold) << (j % 64);
    }
  }
}

void apply_dropout(const Reference&, const ApplyDropoutArgs& args) {
  for (std::size_t i = 0; i < args.x.nrows; ++i) {
    for (std::size_t j = 0; j < args.x.ncols; ++j) {
      args.x(i, j) = args.keep.bit(i, j) ? args.x(i, j) * args.scale : 0.0F;
    }
  }
}

void drop_set_bits(const Reference&, const DropSetBitsArgs& args) {
  for (std::size_t i = 0; i < args.x.nrows; ++i) {
    for (std::size_t j = 0; j < args.x.ncols; ++j) {
      if (!args.keep.bit(i, j)) args.x.row(i)[j / 64] &= ~(std::uint64_t{1} << (j % 64));
    }
  }
}

void drop_entries(const Reference&, const DropEntriesArgs& args) {
  for (std::size_t e = 0; e < args.size; ++e) {
    const std::uint32_t word = random_words(args.key, e / 4)[e % 4];
    args.out[e] = word >> 8 < args.threshold ? 0.0F : args.values[e] * args.scale;
  }
}

}  // namespace bitgraph
