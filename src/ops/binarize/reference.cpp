// SPDX-License-Identifier: Apache-2.0
#include "ops/binarize/binarize.hpp"

#include <cmath>

namespace bitgraph {

void binarize(const Reference&, const BinarizeArgs& args) {
  for (std::size_t i = 0; i < args.x.nrows; ++i) {
    std::array<float, binarize_sums> sums{};
    for (std::size_t word = 0; word < args.bits.words_per_row; ++word) args.bits.row(i)[word] = 0;
    for (std::size_t j = 0; j < args.x.ncols; ++j) {
      float z = args.x(i, j);
      if (args.shift != nullptr) z -= args.shift[j];
      if (args.scale != nullptr) z *= args.scale[j];
      args.bits.row(i)[j / 64] |= static_cast<std::uint64_t>(z >= 0) << (j % 64);
      sums[j % binarize_sums] += std::fabs(z);
    }
    args.alpha[i] = args.x.ncols == 0 ? 0.0F : add_pairwise(sums) / static_cast<float>(args.x.ncols);
  }
}

}  // namespace bitgraph
