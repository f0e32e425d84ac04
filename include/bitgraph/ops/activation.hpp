// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace bitgraph {

/// What is done to each value of a sum or a product before it is stored. tanh has the bits of tanh() in gradient.hpp.
enum class Activation : std::uint8_t { none, relu, tanh };

}  // namespace bitgraph
