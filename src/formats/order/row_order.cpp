// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/formats/row_order.hpp>

#include "core/devices/backend.hpp"
#include "formats/cuda/formats.hpp"

namespace bitgraph {

RowOrder::RowOrder(const CsrPattern& a) : RowOrder(compact(a)) {
  if (empty()) return;
  places_ = with_cuda<Buffer<RowPlace>>(a.device(), "places_of_rows", [&](const auto& cuda) {
    return cuda_formats::places_of_rows(cuda, a, rows_.span());
  });
  pattern_id_ = a.id();
}

RowOrder RowOrder::compact(const CsrPattern& a) {
  RowOrder order;
  if (!a.device().is_host() && a.nrows() != 0)
    order.rows_ = with_cuda<Buffer<NodeId>>(a.device(), "rows_by_length", [&](const auto& cuda) {
      return cuda_formats::rows_by_length(cuda, a, order.at_least_, order.at_least_of_few_);
    });
  return order;
}

}  // namespace bitgraph
