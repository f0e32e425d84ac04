// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/csr_pattern.hpp>

#include <cstddef>
#include <span>
#include <utility>

namespace bitgraph {

/// A sparse matrix with a value an entry: a pattern, and the values in the order of its column indices. What products
/// over plus_pair give.
template <class T>
class CsrMatrix {
 public:
  CsrMatrix() = default;

  /// Throws usage unless there is one value an entry.
  CsrMatrix(CsrPattern pattern, Buffer<T> values) : pattern_(std::move(pattern)), values_(std::move(values)) {
    require(values_.size() == pattern_.nvals(), "a CSR matrix needs one value an entry");
  }

  [[nodiscard]] NodeId nrows() const noexcept { return pattern_.nrows(); }
  [[nodiscard]] NodeId ncols() const noexcept { return pattern_.ncols(); }
  [[nodiscard]] EdgeOffset nvals() const noexcept { return pattern_.nvals(); }
  [[nodiscard]] const CsrPattern& pattern() const noexcept { return pattern_; }
  [[nodiscard]] std::span<const T> values() const noexcept { return values_.span(); }
  [[nodiscard]] std::span<T> values() noexcept { return values_.span(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return pattern_.bytes() + values_.bytes(); }
  [[nodiscard]] const Device& device() const noexcept { return pattern_.device(); }

  /// The values of row i, beside pattern().row(i). Throws usage where the arrays are not on the host.
  [[nodiscard]] std::span<const T> row_values(NodeId i) const {
    require_on_host("reading a row of a matrix", device());
    const auto row_ptr = pattern_.row_ptr();
    return values_.span().subspan(row_ptr[i], static_cast<std::size_t>(row_ptr[i + 1] - row_ptr[i]));
  }

  [[nodiscard]] CsrMatrix clone() const { return {pattern_.clone(), values_.clone()}; }
  [[nodiscard]] CsrMatrix to(const Device& device) const { return {pattern_.to(device), values_.to(device)}; }

  /// The same storage, not copied, under a handle of the same place: see Buffer::share.
  [[nodiscard]] CsrMatrix share(const Device& device) const { return {pattern_.share(device), values_.share(device)}; }
  [[nodiscard]] CsrMatrix share() const { return share(device()); }

 private:
  CsrPattern pattern_;
  Buffer<T> values_;
};

}  // namespace bitgraph
