// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/core/types.hpp>
#include <bitgraph/formats/csr_pattern.hpp>

#include <array>
#include <cstddef>

namespace bitgraph {

/// What a kernel sees of a RowOrder.
struct RowOrderView {
  const NodeId* row = nullptr;           ///< from the longest to the shortest; null where there is no order
  std::array<NodeId, 15> at_least = {};  ///< at_least[p]: how many rows have 2^p entries or more
};

/// The rows of a pattern on a CUDA device by falling length, made once where many products go over the pattern: see
/// SpmmOptions and ops/fused.hpp. Rows of 64 entries or more are in order but for a thirty-second of their length; rows
/// alike keep their order.
class RowOrder {
 public:
  RowOrder() = default;

  /// Empty for a pattern on the host, where it would be of no use. Waits for the device. O(nrows), and 2 bytes a row of
  /// working memory.
  explicit RowOrder(const CsrPattern& a);

  [[nodiscard]] bool empty() const noexcept { return rows_.empty(); }
  [[nodiscard]] NodeId nrows() const noexcept { return static_cast<NodeId>(rows_.size()); }
  [[nodiscard]] const Device& device() const noexcept { return rows_.device(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return rows_.bytes(); }  ///< 4 a row
  [[nodiscard]] RowOrderView view() const noexcept { return {rows_.data(), at_least_}; }

 private:
  Buffer<NodeId> rows_;
  std::array<NodeId, 15> at_least_ = {};
};

}  // namespace bitgraph
