// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/float_sums.hpp"

#include <bitgraph/ops/spmm.hpp>

#include <vector>

namespace bitgraph::cli {

FloatSums::FloatSums(const CsrPattern& graph, const Device& device) : graph_(graph) {
  if (device.is_host()) return;
  const std::vector<float> ones(graph.nvals(), 1.0F);
  rival_ = make_spmm_rival({graph.nrows(), graph.ncols(), graph.row_ptr(), graph.col_ind()}, ones, device, absent_);
}

void FloatSums::prepare(DenseMatrix<float>& out, const DenseMatrix<float>& x) {
  if (rival_ != nullptr) rival_->prepare(out, x);
}

void FloatSums::multiply(DenseMatrix<float>& out, const DenseMatrix<float>& x) {
  if (rival_ != nullptr) return rival_->multiply(out, x);
  spmm_into(out, graph_, x);
}

}  // namespace bitgraph::cli
