// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/views.hpp>

#include <cstddef>

namespace bitgraph::nn {

/// Of KeptRows::take().
struct KeptRowArgs {
  BitMatrixView<ZeroOne> present, keep;  ///< words of keep null: all
  const EdgeOffset* row_ptr = nullptr;   ///< of all features
  const float* values = nullptr;
  const NodeId* nodes = nullptr;
  float scale = 1;
};

/// Entries of row i of the sample.
[[nodiscard]] std::size_t count_kept(const KeptRowArgs& args, std::size_t i);
void fill_kept(const KeptRowArgs& args, std::size_t i, NodeId* columns, float* values);

}  // namespace bitgraph::nn
