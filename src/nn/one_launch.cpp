// SPDX-License-Identifier: Apache-2.0
#include "nn/one_launch.hpp"

#include <bitgraph/core/error.hpp>

namespace bitgraph::nn {

namespace {

const void* output_of(const LaunchStep& s) {
  return s.bits_out != nullptr ? static_cast<void*>(s.bits_out) : s.floats_out;
}

/// What a step reads of rows other than its own.
const void* gathered_by(const LaunchStep& s) {
  switch (s.kind) {
    case LaunchStep::Kind::vote: return s.bits_in;
    case LaunchStep::Kind::sum: return s.floats_in;
    default: return nullptr;
  }
}

}  // namespace

void LaunchSteps::add(LaunchStep step) {
  require(count < steps.size(), "too many steps for one launch");
  for (std::size_t n = count; n-- > 0 && !step.waits;) {
    const LaunchStep& before = steps[n];
    const void* gathered = gathered_by(step);
    const bool reads_late = gathered != nullptr && output_of(before) == gathered;
    const bool writes_early = gathered_by(before) == output_of(step);
    step.waits = reads_late || writes_early;
    if (before.waits) break;
  }
  steps[count++] = step;
}

}  // namespace bitgraph::nn
