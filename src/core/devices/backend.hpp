// SPDX-License-Identifier: Apache-2.0
// Where an operator runs. Each operator has one overload a backend: op(Reference, args), op(Cpu, args), op(Cuda, args).
#pragma once

#include <bitgraph/core/device.hpp>
#include <bitgraph/core/error.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace bitgraph {

/// The obvious loops: the definition of right.
struct Reference {};

/// SIMD kernels with run-time dispatch, on the device's threads.
struct Cpu {
  Device device;
};

/// Kernels on the device's stream. The operator returns before they are done.
struct Cuda {
  Device device;
};

enum class BackendKind { reference, cpu, cuda };

/// The backend of a device; for the host, the one that BITGRAPH_BACKEND names ("reference", "cpu") where it is set.
/// Throws usage for an unknown name; not_possible where the name and the device do not go together.
[[nodiscard]] BackendKind backend_for(const Device& device);
[[nodiscard]] std::string_view to_string(BackendKind kind) noexcept;

/// Calls fn(backend) for a device of the host. Throws not_possible for another: `op` has no kernel there.
template <class Fn>
decltype(auto) with_host_backend(const Device& device, const char* op, Fn&& fn) {
  switch (backend_for(device)) {
    case BackendKind::reference: return fn(Reference{});
    case BackendKind::cpu: break;
    case BackendKind::cuda: fail(ErrorCode::not_possible, device.name() + ": " + op + " has no kernel for this device");
  }
  return fn(Cpu{device});
}

/// Whether the library has CUDA kernels. A build without them has no overloads for Cuda, and nothing below asks for
/// one.
#ifdef BITGRAPH_WITH_CUDA
inline constexpr bool has_cuda_kernels = true;
#else
inline constexpr bool has_cuda_kernels = false;
#endif

/// Calls fn(backend) for the device: with with_host_backend and with_cuda, the one place where a backend is chosen.
template <class Fn>
decltype(auto) with_backend(const Device& device, const char* op, Fn&& fn) {
  if constexpr (has_cuda_kernels) {
    if (!device.is_host()) {
      static_cast<void>(backend_for(device));
      return fn(Cuda{device});
    }
  }
  return with_host_backend(device, op, fn);
}

/// Calls fn(Cuda), a generic lambda, for a CUDA device. Throws not_possible for the host: `op` has no kernel there.
template <class Result = void, class Fn>
Result with_cuda(const Device& device, const char* op, [[maybe_unused]] Fn&& fn) {
  if constexpr (has_cuda_kernels) {
    if (!device.is_host()) return fn(Cuda{device});
  }
  fail(ErrorCode::not_possible, device.name() + ": " + op + " has no kernel for this device");
}

}  // namespace bitgraph
