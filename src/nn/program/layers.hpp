// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/nn/program.hpp>

#include <span>

namespace bitgraph::nn {

/// The network in floats. Where `concatenates`, the outputs of all convolutions stand side by side as the last layer's
/// input. Of so many `graphs`, not 0, the logits of each are the sum over its nodes, and then the last layer's bias,
/// once. Throws usage where layers do not fit one another.
[[nodiscard]] Program program_of(std::span<const LayerShape> layers, bool concatenates, std::size_t graphs = 0);

/// The same of a model, or its own network. Throws usage where a product is not as wide as the weights of its layer.
[[nodiscard]] Program program_of(const Model& model, std::size_t graphs = 0);

/// All that aggregate but the first are built by a layer of your own; null: nothing changes. The first one's input is
/// the features, which training scales or takes by their signs.
void build_with(LayerBuilder layer, std::span<LayerShape> shapes);

/// The shapes of a model's layers.
[[nodiscard]] std::vector<LayerShape> shapes_of(const Model& model);

}  // namespace bitgraph::nn
