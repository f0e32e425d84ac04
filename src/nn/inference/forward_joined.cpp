// SPDX-License-Identifier: Apache-2.0
// What saves the host memory: products of joined outputs of layers, and one matrix for the signs of all layers.
#include "nn/inference/forward.hpp"

#include <bitgraph/ops/concat.hpp>

#include "nn/updates/some_rows.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace bitgraph::nn {

static_assert(most_depth <= most_concat_parts);

Forward::Bits& Forward::signs_ahead_of_vote(std::size_t width) {
  if (!device_.is_host()) return bits(width);
  if (signs_ == nullptr || signs_->ncols() != width) signs_ = &bits(width);
  return *signs_;
}

Forward::Activation Forward::product_of_joined(std::size_t l, const std::vector<Activation>& parts) {
  const std::size_t n = num_nodes();
  const Linear& linear = weights_[l].neighbor;
  Bits& joined = bits_.emplace_back(std::min(n, joined_rows), linear.inputs(), device_);
  Floats& out = floats(linear.outputs());
  auto& blocks = joined_rows_.emplace_back();
  auto& results = float_rows_.emplace_back();
  for (std::size_t first = 0; first < n; first += joined_rows) {
    const std::size_t rows = std::min(joined_rows, n - first);
    std::vector<Bits>& block = blocks.emplace_back();
    block.push_back(some_rows(joined, 0, rows));
    // All of them are matrices of this object, and nobody writes to them through these.
    for (const Activation& part : parts) block.push_back(some_rows(const_cast<Bits&>(*part.bits), first, rows));
    results.push_back(some_rows(out, first, rows));
  }
  step("CONCAT + BMM.BBF by parts", [&blocks, &results, &linear] {
    std::array<const Bits*, most_concat_parts> side_by_side{};
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      std::vector<Bits>& block = blocks[b];
      const std::size_t count = block.size() - 1;
      for (std::size_t part = 0; part < count; ++part) side_by_side[part] = &block[part + 1];
      concat_into<Bits>(block.front(), std::span(side_by_side).first(count));
      gemm_into(results[b], block.front(), linear.signs().bits,
                {.col_scale = linear.signs().alpha.span(), .bias = linear.bias.span()});
    }
  });
  return {.floats = &out};
}

}  // namespace bitgraph::nn
