// SPDX-License-Identifier: Apache-2.0
// How operators say which kernel they run: BITGRAPH_TRACE=1.
#pragma once

#include <bitgraph/core/device.hpp>
#include <bitgraph/ops/kernel_choice.hpp>

#include "core/devices/backend.hpp"
#include "core/devices/isa.hpp"
#include "core/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace bitgraph {

/// A kernel of the host, which is one for each instruction set: "gemm_bits (avx512)"; or "reference", where
/// BITGRAPH_BACKEND asks for that.
/// `best` is the best instruction set that the kernel is compiled for.
inline std::string host_kernel(const Device& device, std::string_view name, Isa best = Isa::avx512_popcnt) {
  if (backend_for(device) == BackendKind::reference) return std::string(to_string(BackendKind::reference));
  return fmt::format("{} ({})", name, to_string(std::min(active_isa(), best)));
}

/// Where somebody asks for it (core/trace.hpp), tells the choice that explain() makes.
template <class Explain>
void trace_choice(const Device& device, const Explain& explain) {
  if (!is_tracing()) return;
  KernelChoice choice = explain();
  trace(device.name(), {std::move(choice.kernel), choice.bytes, choice.seconds});
}

}  // namespace bitgraph
