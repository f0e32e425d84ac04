// SPDX-License-Identifier: Apache-2.0
// Where an operator runs. Each operator has one overload a backend: op(Reference, args), op(Cpu, args).
#pragma once

#include <bitgraph/core/device.hpp>
#include <bitgraph/core/error.hpp>

#include <string_view>
#include <utility>

namespace bitgraph {

/// The obvious loops: the definition of right.
struct Reference {};

/// SIMD kernels with run-time dispatch, on the device's threads.
struct Cpu {
  Device device;
};

enum class BackendKind { reference, cpu };

/// BITGRAPH_BACKEND where it is set ("reference", "cpu"), else the one that fits the device. Throws usage,
/// not_possible.
[[nodiscard]] BackendKind backend_for(const Device& device);
[[nodiscard]] std::string_view to_string(BackendKind kind) noexcept;

/// Calls fn(backend) for the device: the one place where a backend is chosen.
template <class Fn>
decltype(auto) with_backend(const Device& device, Fn&& fn) {
  switch (backend_for(device)) {
    case BackendKind::reference: return fn(Reference{});
    case BackendKind::cpu: break;
  }
  return fn(Cpu{device});
}

}  // namespace bitgraph
