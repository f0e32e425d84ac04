// SPDX-License-Identifier: Apache-2.0
// What the rooms ask of their operands, in one wording.
#pragma once

#include <bitgraph/core/device.hpp>
#include <bitgraph/core/error.hpp>

#include "core/backend.hpp"

#include <fmt/format.h>

#include <span>
#include <type_traits>

namespace bitgraph {

/// Scales and biases may be left out.
inline void check_length(const char* op, std::span<const float> values, std::size_t expected, const char* name) {
  if (!values.empty() && values.size() != expected) {
    fail(ErrorCode::usage, fmt::format("{}: {} has {} values, expected {}", op, name, values.size(), expected));
  }
}

inline void check_device(const char* op, const Device& device, const Device& other, const char* name = "a matrix") {
  if (!(device == other)) {
    fail(ErrorCode::usage, fmt::format("{}: the device is {}, {} is on {}", op, device.name(), name, other.name()));
  }
}

/// How kernels are told of what was left out.
inline const float* or_null(std::span<const float> values) { return values.empty() ? nullptr : values.data(); }

/// Calls kernel(Cuda) for a CUDA device; false for the host, whose loops are the room's own.
template <class Kernel>
bool on_cuda(const char* op, const Device& device, const Kernel& kernel) {
  return with_backend(device, op, [&](const auto& backend) {
    constexpr bool is_cuda = std::is_same_v<std::remove_cvref_t<decltype(backend)>, Cuda>;
    if constexpr (is_cuda) kernel(backend);
    return is_cuda;
  });
}

}  // namespace bitgraph
