// SPDX-License-Identifier: Apache-2.0
#include "ops/dense/dense.hpp"

#include <array>

namespace bitgraph {

void transpose(const Reference&, const TransposeArgs& args) {
  for (std::size_t i = 0; i < args.x.nrows; ++i) {
    for (std::size_t j = 0; j < args.x.ncols; ++j) args.out(j, i) = args.x(i, j);
  }
}

void expand_transposed(const Reference&, const ExpandTransposedArgs& args) {
  for (std::size_t i = 0; i < args.x.nrows; ++i) {
    for (std::size_t j = 0; j < args.x.ncols; ++j) args.out(j, i) = args.x.bit(i, j) ? args.scale[i] : -args.scale[i];
  }
}

void signed_sums(const Reference&, const SignedSumsArgs& args) {
  for (std::size_t i = 0; i < args.x.nrows; ++i) {
    std::array<double, interleaved_sums> sums{};
    for (std::size_t j = 0; j < args.x.ncols; ++j)
      sums[j % interleaved_sums] += args.x.bit(i, j) ? args.values[j] : -args.values[j];
    for (std::size_t half = interleaved_sums / 2; half != 0; half /= 2) {
      for (std::size_t n = 0; n < half; ++n) sums[n] += sums[n + half];
    }
    args.out[i] = sums[0];
  }
}

void add_rows(const Reference&, double* sums, DenseView<const float> x, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    for (std::size_t f = 0; f < x.ncols; ++f) sums[f] += static_cast<double>(x(i, f));
  }
}

}  // namespace bitgraph
