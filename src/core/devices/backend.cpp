// SPDX-License-Identifier: Apache-2.0
#include "core/devices/backend.hpp"

#include "core/devices/isa.hpp"

#include <cstdlib>

namespace bitgraph {

namespace {

BackendKind named_backend(std::string_view name) {
  if (name == "reference") return BackendKind::reference;
  if (name == "cpu") return BackendKind::cpu;
  if (name == "cuda") return BackendKind::cuda;
  fail(ErrorCode::usage, "BITGRAPH_BACKEND: unknown backend '" + std::string(name) + "': use reference, cpu or cuda");
}

}  // namespace

BackendKind backend_for(const Device& device) {
  // Named here, the file that applies BITGRAPH_ISA is linked into every program that calls an operator.
  [[maybe_unused]] static const bool isa_checked = (check_isa_environment(), true);
  const BackendKind natural = device.is_host() ? BackendKind::cpu : BackendKind::cuda;
  const char* name = std::getenv("BITGRAPH_BACKEND");
  if (name == nullptr || *name == '\0') return natural;
  const BackendKind named = named_backend(name);
  if ((named == BackendKind::cuda) != (natural == BackendKind::cuda)) {
    fail(ErrorCode::not_possible, "BITGRAPH_BACKEND=" + std::string(name) + ": these values are on " + device.name() +
                                      (Device::cuda_built() ? "" : ", and this bitgraph was built without CUDA"));
  }
  return named;
}

std::string_view to_string(BackendKind kind) noexcept {
  switch (kind) {
    case BackendKind::reference: return "reference";
    case BackendKind::cpu: break;
    case BackendKind::cuda: return "cuda";
  }
  return "cpu";
}

}  // namespace bitgraph
