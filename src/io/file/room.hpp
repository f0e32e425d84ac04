// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>

#include <cstddef>
#include <string>

namespace bitgraph {

/// A buffer for what a file unpacks to. Throws not_possible naming the file where the machine has no room for it.
inline Buffer<std::byte> room_to_unpack(std::size_t size, const std::string& name, const Device& device = {}) {
  try {
    return Buffer<std::byte>(size, device);
  } catch (const Error&) {
    fail(ErrorCode::not_possible,
         name + ": unpacks to more than the memory that is free: " + std::to_string(size) + " bytes were tried");
  }
}

}  // namespace bitgraph
