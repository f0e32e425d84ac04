// SPDX-License-Identifier: Apache-2.0
// Stands in for one_launch.cu in a build without CUDA, where no CUDA device can be made.
#include <bitgraph/core/error.hpp>

#include "nn/one_launch.hpp"

namespace bitgraph::nn {

OneLaunch::OneLaunch(const LaunchSteps&, const Device& device) {
  fail(ErrorCode::not_possible, device.name() + ": this bitgraph was built without CUDA");
}

void OneLaunch::run() const {}

}  // namespace bitgraph::nn
