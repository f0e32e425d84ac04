// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/core/types.hpp>
#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/formats/views.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bitgraph {

/// The rows of a pattern by falling length, made once where many products go over the pattern: see SpmmOptions,
/// LevelSpmmOptions and fused_vote.hpp. On a CUDA device rows of 64 entries or more are in order but for a
/// thirty-second of their length; rows alike keep their order.
class RowOrder {
 public:
  RowOrder() = default;

  /// Waits for a CUDA device, with 2 bytes a row of working memory there. O(nrows), on the host also n log n for the n
  /// rows of 4,096 entries or more.
  explicit RowOrder(const CsrPattern& a);

  /// The same in a fifth of the memory of a CUDA device: products look up where each row begins and are some 3 to 5 %
  /// slower. On the host both are alike.
  [[nodiscard]] static RowOrder compact(const CsrPattern& a);

  [[nodiscard]] bool empty() const noexcept { return rows_.empty(); }
  [[nodiscard]] NodeId nrows() const noexcept { return static_cast<NodeId>(rows_.size()); }
  [[nodiscard]] const Device& device() const noexcept { return rows_.device(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return rows_.bytes() + places_.bytes(); }  ///< 20 a row, or 4
  /// Without places: it may be of a copy of the pattern.
  [[nodiscard]] RowOrderView view() const noexcept { return {rows_.data(), nullptr, at_least_}; }
  /// With places where the order was made of this very pattern.
  [[nodiscard]] RowOrderView view_over(const CsrPattern& a) const noexcept {
    return {rows_.data(), a.id() == pattern_id_ ? places_.data() : nullptr, at_least_};
  }
  /// [d]: how many rows have d entries or more, for d up to 64.
  [[nodiscard]] std::span<const NodeId> at_least_of_few() const noexcept { return at_least_of_few_; }

 private:
  Buffer<NodeId> rows_;
  Buffer<RowPlace> places_;
  std::uint64_t pattern_id_ = 0;
  std::array<NodeId, 15> at_least_ = {};
  std::array<NodeId, 65> at_least_of_few_ = {};
};

}  // namespace bitgraph
