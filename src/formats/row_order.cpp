// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/formats/row_order.hpp>

#include "formats/cuda_formats.hpp"

namespace bitgraph {

RowOrder::RowOrder(const CsrPattern& a) {
  if (a.device().is_host() || a.nrows() == 0) return;
  rows_ = cuda_formats::rows_by_length(a, at_least_);
}

}  // namespace bitgraph
