// SPDX-License-Identifier: Apache-2.0
// Dense features for code that takes sparse ones.
#pragma once

#include <bitgraph/io/dataset.hpp>

#include <optional>

namespace bitgraph::nn {

/// A data set with its features as CSR: the given one where they are sparse already, else a view of it, its graph
/// borrowed, with sparse features of its own. The given data set must outlive it.
class SparseForm {
 public:
  explicit SparseForm(const Dataset& dataset);
  [[nodiscard]] const Dataset& get() const noexcept { return made_ ? *made_ : given_; }

 private:
  const Dataset& given_;
  std::optional<Dataset> made_;
};

}  // namespace bitgraph::nn
