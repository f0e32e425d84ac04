// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/core/parallel_loop.hpp>

#include "core/threads/parallel.hpp"

#include <bitgraph/core/error.hpp>

namespace bitgraph {

void parallel_loop(const Device& device, std::size_t n, std::size_t grain,
                   const std::function<void(std::size_t begin, std::size_t end)>& body) {
  require(grain != 0, "parallel_loop: the grain is 0");
  if (!device.is_host())
    fail(ErrorCode::not_possible,
         device.name() + ": a function of the host runs on the host only, unless nvcc compiles the call");
  parallel_chunks(device, n, grain, [&](Range piece) { body(piece.begin, piece.end); });
}

}  // namespace bitgraph
