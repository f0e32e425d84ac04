// SPDX-License-Identifier: Apache-2.0
// Rows of bits are shifted into place a word at a time, those of floats copied. Nothing is computed, so nothing stands
// here for one instruction set.
#include "ops/concat/concat.hpp"

#include "core/threads/parallel.hpp"

#include <algorithm>

namespace bitgraph {

namespace {

/// Puts the bits of a row behind the first `place` columns of `to`, whose word of column `place` has zeros from there
/// on. Padding bits are zero, and stay so.
void place_bits(std::uint64_t* to, std::size_t place, const std::uint64_t* from, std::size_t ncols) {
  to += place / 64;
  const std::size_t words = words_for_bits(ncols);
  const std::size_t shift = place % 64;
  if (shift == 0) {
    std::copy_n(from, words, to);
    return;
  }
  if (words == 0) return;
  to[0] |= from[0] << shift;
  for (std::size_t word = 1; word < words; ++word) {
    to[word] = from[word] << shift | from[word - 1] >> (64 - shift);
  }
  if (words_for_bits(shift + ncols) > words) to[words] = from[words - 1] >> (64 - shift);
}

}  // namespace

void concat(const Cpu& backend, const ConcatBits& args) {
  parallel_for(backend.device, args.out.nrows, 1024, [&](std::size_t i) {
    for (std::size_t p = 0; p < args.num_parts; ++p) {
      place_bits(args.out.row(i), args.first_column[p], args.parts[p].row(i), args.parts[p].ncols);
    }
  });
}

void concat(const Cpu& backend, const ConcatFloats& args) {
  parallel_for(backend.device, args.out.nrows, 256, [&](std::size_t i) {
    for (std::size_t p = 0; p < args.num_parts; ++p) {
      std::copy_n(args.parts[p].row(i), args.parts[p].ncols, args.out.row(i) + args.first_column[p]);
    }
  });
}

}  // namespace bitgraph
