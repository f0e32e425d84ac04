// SPDX-License-Identifier: Apache-2.0
#include "core/backend.hpp"

#include "core/isa.hpp"

#include <cstdlib>
#include <string>

namespace bitgraph {

BackendKind backend_for(const Device& device) {
  if (!device.is_host()) fail(ErrorCode::not_possible, device.name() + ": no operator for this device in this build");
  // Named here, the file that applies BITGRAPH_ISA is linked into every program that calls an operator.
  [[maybe_unused]] static const bool isa_checked = (check_isa_environment(), true);
  const char* name = std::getenv("BITGRAPH_BACKEND");
  if (name == nullptr || *name == '\0') return BackendKind::cpu;
  const std::string_view text(name);
  if (text == "reference") return BackendKind::reference;
  if (text == "cpu") return BackendKind::cpu;
  if (text == "cuda") fail(ErrorCode::not_possible, "BITGRAPH_BACKEND=cuda: this bitgraph was built without CUDA");
  fail(ErrorCode::usage, "BITGRAPH_BACKEND: unknown backend '" + std::string(text) + "': use reference or cpu");
}

std::string_view to_string(BackendKind kind) noexcept { return kind == BackendKind::reference ? "reference" : "cpu"; }

}  // namespace bitgraph
