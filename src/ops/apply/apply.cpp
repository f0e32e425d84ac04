// SPDX-License-Identifier: Apache-2.0
#include "ops/apply/apply.hpp"

#include <bitgraph/ops/apply.hpp>

namespace bitgraph {

void detail::assign_values(const Device& device, void* x, std::size_t n, const void* value, std::size_t value_size,
                           const Mask& mask) {
  if (mask.bits != nullptr) require_same_stream("assign", "x", device, "the mask", mask.bits->device());
  with_cuda(device, "assign", [&](const auto& cuda) { bitgraph::assign_values(cuda, x, n, value, value_size, mask); });
}

}  // namespace bitgraph
