// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nn/program/program.hpp"

#include <span>

namespace bitgraph::nn {

/// The network in floats. Where `concatenates`, the outputs of all layers before the last stand side by side as its
/// input. Throws usage where layers do not fit one another.
[[nodiscard]] Program program_of(std::span<const LayerShape> layers, bool concatenates);

/// The same of a model.
[[nodiscard]] Program program_of(const Model& model);

/// The shapes of a model's layers.
[[nodiscard]] std::vector<LayerShape> shapes_of(const Model& model);

}  // namespace bitgraph::nn
