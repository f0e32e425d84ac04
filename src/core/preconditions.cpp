// SPDX-License-Identifier: Apache-2.0
#include "core/preconditions.hpp"

#include <bitgraph/core/error.hpp>

#include "core/cuda/runtime.hpp"
#include "core/memory/host_memory.hpp"

#include <fmt/format.h>

namespace bitgraph {

void require_memory(std::string_view what, std::size_t bytes, std::size_t there) {
  if (bytes <= there) return;
  fail(ErrorCode::not_possible,
       fmt::format("{}: not enough memory: {} bytes are needed and {} are free; {} are missing", what, bytes, there,
                   bytes - there));
}

void require_memory(const Device& device, std::string_view what, std::size_t bytes) {
  constexpr std::size_t harmless = std::size_t{64} << 20;  // asking what is free takes longer than these
  if (bytes <= harmless) return;
  require_memory(fmt::format("{}: {}", device.name(), what), bytes,
                 device.is_host() ? available_memory() : cuda_runtime::available(device.index(), bytes));
}

void require_host(const Device& device, std::string_view what) {
  if (!device.is_host()) {
    fail(ErrorCode::not_possible,
         fmt::format("{}: {} has no kernel for this device; use the host, and bring values there with to()",
                     device.name(), what));
  }
}

}  // namespace bitgraph
