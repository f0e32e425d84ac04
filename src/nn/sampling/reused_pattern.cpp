// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/nn/sampling.hpp>

#include "core/parallel.hpp"

namespace bitgraph::nn {

namespace {

/// The memory is the ReusedPattern's, not the pattern's.
template <class T>
Buffer<T> lent(std::vector<T>& values, const Device& device) {
  static const auto nobody = std::make_shared<int>(0);
  return Buffer<T>::borrow(values.data(), values.size(), nobody, device);
}

}  // namespace

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
  pattern_ = CsrPattern(static_cast<NodeId>(row_ptr_.size() - 1), ncols, lent(row_ptr_, device), lent(col_ind_, device),
                        trusted);
}

}  // namespace bitgraph::nn
