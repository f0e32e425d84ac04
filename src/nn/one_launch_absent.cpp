// SPDX-License-Identifier: Apache-2.0
// Stands in for one_launch.cu in a build without CUDA, where no CUDA device can be made.
#include "nn/one_launch.hpp"

namespace bitgraph::nn {

std::unique_ptr<OneLaunch> OneLaunch::make(const LaunchSteps&, const Device&, const std::function<void()>&) {
  return nullptr;
}

void OneLaunch::run() const {}

}  // namespace bitgraph::nn
