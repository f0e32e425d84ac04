// SPDX-License-Identifier: Apache-2.0
// A sparse matrix on the host whose rows change in place.
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/formats/csr_pattern.hpp>

#include <span>

namespace bitgraph::nn {

/// A pattern, with a value for each entry or without values. Its arrays have spare room, so that new entries move
/// memory but allocate nothing until the room is used up.
class ChangingRows {
 public:
  /// The new content of a row: sorted columns, and a value for each where the matrix has values.
  struct Row {
    NodeId row = 0;
    std::span<const NodeId> columns;
    std::span<const float> values;
  };

  /// Copies a pattern on the host. Reserves room for `rows` rows and `entries` entries.
  ChangingRows(const CsrPattern& pattern, std::size_t rows, std::size_t entries, const Device& host);

  /// The same with a value for each entry.
  ChangingRows(const CsrPattern& pattern, std::span<const float> values, std::size_t rows, std::size_t entries,
               const Device& host);

  /// Makes the matrix nrows x ncols, then replaces some rows. `rows` ascends by row; rows that are new and not in it
  /// are empty. The spans must not point into this matrix. O(nrows), and moves at most every entry.
  void replace(std::span<const Row> rows, NodeId nrows, NodeId ncols);

  [[nodiscard]] const CsrPattern& pattern() const noexcept { return view_; }
  [[nodiscard]] std::span<const float> values() const noexcept { return {values_.data(), view_.nvals()}; }
  [[nodiscard]] std::size_t bytes() const noexcept { return row_ptr_.bytes() + col_ind_.bytes() + values_.bytes(); }

 private:
  void reserve(std::size_t rows, std::size_t entries);
  void move(EdgeOffset first, EdgeOffset last, EdgeOffset to);

  Buffer<EdgeOffset> row_ptr_;
  Buffer<NodeId> col_ind_;
  Buffer<float> values_;
  CsrPattern view_;  ///< over the arrays
};

}  // namespace bitgraph::nn
