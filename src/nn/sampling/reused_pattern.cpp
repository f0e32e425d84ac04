// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/nn/sampling.hpp>

#include "core/memory/lent.hpp"
#include "core/threads/parallel.hpp"

namespace bitgraph::nn {

std::span<EdgeOffset> ReusedPattern::start(std::size_t nrows) {
  row_ptr_.resize(nrows + 1);
  return std::span(row_ptr_).first(nrows);
}

std::span<NodeId> ReusedPattern::make_room(const Device& device) {
  row_ptr_.back() = 0;
  col_ind_.resize(exclusive_scan(device, std::span(row_ptr_)));
  return col_ind_;
}

void ReusedPattern::finish(NodeId ncols, const Device& device) {
  // The memory stays here.
  pattern_ = CsrPattern(static_cast<NodeId>(row_ptr_.size() - 1), ncols, lent(row_ptr_.data(), row_ptr_.size(), device),
                        lent(col_ind_.data(), col_ind_.size(), device), trusted);
}

}  // namespace bitgraph::nn
