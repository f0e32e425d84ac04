// SPDX-License-Identifier: Apache-2.0
#include "ops/sparse_product/sparse_product.hpp"

namespace bitgraph {

void sparse_product(const Reference&, const SparseProductArgs& args) {
  for (std::size_t i = 0; i < args.out.nrows; ++i) {
    for (std::size_t f = 0; f < args.out.ncols; ++f) {
      float sum = 0;
      for (EdgeOffset e = args.x.row_ptr[i]; e < args.x.row_ptr[i + 1]; ++e)
        sum += args.value(e) * args.w(args.x.col_ind[e], f);
      if (args.col_offset != nullptr) sum += args.col_offset[f];
      if (args.row_scale != nullptr) sum *= args.row_scale[i];
      if (args.bias != nullptr) sum += args.bias[f];
      args.out(i, f) = sum;
    }
  }
}

void sparse_gradient(const Reference&, const SparseGradientArgs& args) {
  for (std::size_t j = 0; j < args.out.nrows; ++j) {
    for (std::size_t f = 0; f < args.out.ncols; ++f) args.out(j, f) = 0;
  }
  for (std::size_t i = 0; i < args.g.nrows; ++i) {
    for (EdgeOffset e = args.x.row_ptr[i]; e < args.x.row_ptr[i + 1]; ++e) {
      for (std::size_t f = 0; f < args.out.ncols; ++f) args.out(args.x.col_ind[e], f) += args.values[e] * args.g(i, f);
    }
  }
}

}  // namespace bitgraph
