// SPDX-License-Identifier: Apache-2.0
#include "core/trace.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace bitgraph {

namespace {

thread_local std::vector<TracedKernel>* collected = nullptr;

bool environment_asks() noexcept {
  static const bool asked = [] {
    const char* const value = std::getenv("BITGRAPH_TRACE");
    return value != nullptr && std::string_view(value) == "1";
  }();
  return asked;
}

}  // namespace

TraceScope::TraceScope(std::vector<TracedKernel>* kernels) noexcept : before_(collected) {
  if (kernels != nullptr) collected = kernels;
}
TraceScope::~TraceScope() { collected = before_; }

bool is_tracing() noexcept { return collected != nullptr || environment_asks(); }

void trace(std::string_view place, TracedKernel kernel) {
  if (environment_asks()) {
    std::string line = fmt::format("bitgraph: {} on {}: {:.1f} MB", kernel.kernel, place, kernel.bytes / 1e6);
    if (kernel.seconds > 0) line += fmt::format(", {:.1f} us predicted", kernel.seconds * 1e6);
    line += "\n";
    std::fputs(line.c_str(), stderr);
  }
  if (collected != nullptr) collected->push_back(std::move(kernel));
}

}  // namespace bitgraph
