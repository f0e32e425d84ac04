// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/nn/model.hpp>

namespace bitgraph::nn {

/// The two maps of a binary layer as one: the outputs of `neighbor` first, then those of `root`. On the device of both.
[[nodiscard]] Linear side_by_side(const Layer& layer);

}  // namespace bitgraph::nn
