// SPDX-License-Identifier: Apache-2.0
// Operators say which kernel they run: on stderr with BITGRAPH_TRACE=1, or to a TraceScope.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bitgraph {

/// A kernel that ran.
struct TracedKernel {
  std::string kernel;
  double bytes = 0;
  double seconds = 0;  ///< predicted; 0: nothing is
};

/// Collects the kernels that operators run on this thread as long as it lives. Null: it does nothing.
class TraceScope {
 public:
  explicit TraceScope(std::vector<TracedKernel>* kernels) noexcept;
  ~TraceScope();
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

 private:
  std::vector<TracedKernel>* before_;
};

/// Whether the environment or a TraceScope of this thread asks for it.
[[nodiscard]] bool is_tracing() noexcept;

/// To the TraceScope; where the environment asks for it, prints a line on stderr. `place` is the device's name.
void trace(std::string_view place, TracedKernel kernel);

}  // namespace bitgraph
