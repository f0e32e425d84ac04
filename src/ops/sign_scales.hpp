// SPDX-License-Identifier: Apache-2.0
// The rule that a scale just ahead of a sign is dropped (BitGNN, section 3.1.2).
#pragma once

#include <bitgraph/core/device.hpp>

#include <algorithm>
#include <limits>
#include <span>

namespace bitgraph {

/// The scale that is still to be multiplied in where nothing but a sign follows: none where all of it is positive, as
/// was promised or is seen. A CUDA device's is not looked at. O(values) on the host.
inline std::span<const float> ahead_of_sign(std::span<const float> scale, bool promised, const Device& device) {
  const auto keeps_signs = [](float value) { return value > 0 && value < std::numeric_limits<float>::infinity(); };
  if (promised || (device.is_host() && std::all_of(scale.begin(), scale.end(), keeps_signs))) return {};
  return scale;
}

}  // namespace bitgraph
