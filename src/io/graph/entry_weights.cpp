// SPDX-License-Identifier: Apache-2.0
#include "io/graph/entry_weights.hpp"

#include "core/threads/parallel.hpp"
#include "formats/pattern/sorted_row.hpp"

#include <atomic>
#include <cmath>
#include <limits>

namespace bitgraph {

namespace {

void take_smaller(float& target, float weight) {
  const std::atomic_ref<float> shared(target);
  float before = shared.load(std::memory_order_relaxed);
  while (!std::isnan(before) && !(weight >= before)) {
    if (shared.compare_exchange_weak(before, weight, std::memory_order_relaxed)) return;
  }
}

}  // namespace

Buffer<float> weights_of_entries(const CsrPattern& a, std::span<const NodeId> rows, std::span<const NodeId> cols,
                                 std::span<const float> weights, Mirror mirror, const Device& device) {
  Buffer<float> result(a.nvals(), std::numeric_limits<float>::infinity(), device);
  const auto put = [&](NodeId i, NodeId j, float weight) {
    take_smaller(result[a.row_ptr()[i] + columns_below(a.row(i), j)], weight);
  };
  parallel_for(device, weights.size(), std::size_t{1} << 14, [&](std::size_t e) {
    put(rows[e], cols[e], weights[e]);
    if (mirror != Mirror::none) put(cols[e], rows[e], mirror == Mirror::negative ? -weights[e] : weights[e]);
  });
  return result;
}

}  // namespace bitgraph
