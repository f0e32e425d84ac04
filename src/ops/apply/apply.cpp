// SPDX-License-Identifier: Apache-2.0
#include "ops/apply/apply.hpp"

#include <bitgraph/ops/apply.hpp>

namespace bitgraph {

void detail::assign_values(const Device& device, [[maybe_unused]] void* x, [[maybe_unused]] std::size_t n,
                           [[maybe_unused]] const void* value, [[maybe_unused]] std::size_t value_size,
                           const Mask& mask) {
  if (mask.bits != nullptr && !(mask.bits->device() == device)) {
    fail(ErrorCode::usage, "assign: values on " + device.name() + ", the mask on " + mask.bits->device().name());
  }
#ifdef BITGRAPH_WITH_CUDA
  bitgraph::assign_values(Cuda{device}, x, n, value, value_size, mask);
#else
  fail(ErrorCode::not_possible, "assign: this bitgraph was built without CUDA");
#endif
}

}  // namespace bitgraph
