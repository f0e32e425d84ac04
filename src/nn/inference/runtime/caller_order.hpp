// SPDX-License-Identifier: Apache-2.0
// From the order in which a plan has its nodes to the caller's.
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/formats/csr_pattern.hpp>

#include <cstddef>
#include <numeric>
#include <span>
#include <utility>

namespace bitgraph::nn {

/// How the rows of logits come to the places of their nodes. What a program needs of it is made on the device when it
/// is first asked for.
class CallerOrder {
 public:
  /// Rows are in their places.
  CallerOrder() = default;

  /// Row i is that of node nodes[i], each node once.
  CallerOrder(std::span<const NodeId> nodes, Device device)
      : nodes_(Buffer<NodeId>::copy_of(nodes)), device_(std::move(device)) {}

  [[nodiscard]] bool changes_rows() const noexcept { return !nodes_.empty(); }

  /// Where each row goes.
  [[nodiscard]] const Buffer<NodeId>& nodes() {
    if (nodes_there_.empty()) nodes_there_ = nodes_.to(device_);
    return nodes_there_;
  }

  /// The other way round: which row each node has.
  [[nodiscard]] const Buffer<NodeId>& rows() {
    if (!rows_there_.empty()) return rows_there_;
    Buffer<NodeId> rows(nodes_.size());
    for (std::size_t i = 0; i < nodes_.size(); ++i) rows[nodes_[i]] = static_cast<NodeId>(i);
    rows_there_ = rows.to(device_);
    return rows_there_;
  }

  /// The same as a pattern: node i takes the one row of row i.
  [[nodiscard]] const CsrPattern& rows_pattern() {
    if (pattern_.nrows() != 0) return pattern_;
    const auto n = static_cast<NodeId>(nodes_.size());
    Buffer<EdgeOffset> row_ptr(std::size_t{n} + 1);
    std::iota(row_ptr.begin(), row_ptr.end(), EdgeOffset{0});
    pattern_ = CsrPattern(n, n, row_ptr.to(device_), rows().share(), trusted);
    return pattern_;
  }

 private:
  Buffer<NodeId> nodes_;  ///< on the host
  Buffer<NodeId> nodes_there_, rows_there_;
  CsrPattern pattern_;
  Device device_;
};

}  // namespace bitgraph::nn
