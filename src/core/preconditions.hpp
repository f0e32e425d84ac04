// SPDX-License-Identifier: Apache-2.0
// Refusing in time: what does not fit, before anything is allocated, and what is not where it is needed.
#pragma once

#include <bitgraph/core/device.hpp>

#include <cstddef>
#include <string_view>

namespace bitgraph {

/// Throws not_possible, naming the bytes that are missing, where `bytes` of them are needed and `there` are free.
void require_memory(std::string_view what, std::size_t bytes, std::size_t there);

/// The same for what is free on the device: before the first of several allocations.
void require_memory(const Device& device, std::string_view what, std::size_t bytes);

/// Throws not_possible unless the device is the host: `what` has no kernel elsewhere.
void require_host(const Device& device, std::string_view what);

}  // namespace bitgraph
