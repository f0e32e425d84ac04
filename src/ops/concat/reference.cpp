// SPDX-License-Identifier: Apache-2.0
#include "ops/concat/concat.hpp"

namespace bitgraph {

void concat(const Reference&, const ConcatBits& args) {
  for (std::size_t i = 0; i < args.out.nrows; ++i) {
    for (std::size_t word = 0; word < args.out.words_per_row; ++word) args.out.row(i)[word] = 0;
    for (std::size_t p = 0; p < args.num_parts; ++p) {
      for (std::size_t j = 0; j < args.parts[p].ncols; ++j) {
        const std::size_t f = args.first_column[p] + j;
        args.out.row(i)[f / 64] |= static_cast<std::uint64_t>(args.parts[p].bit(i, j)) << (f % 64);
      }
    }
  }
}

void concat(const Reference&, const ConcatFloats& args) {
  for (std::size_t i = 0; i < args.out.nrows; ++i) {
    for (std::size_t p = 0; p < args.num_parts; ++p) {
      for (std::size_t j = 0; j < args.parts[p].ncols; ++j) args.out(i, args.first_column[p] + j) = args.parts[p](i, j);
    }
  }
}

}  // namespace bitgraph
