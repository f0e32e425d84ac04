// SPDX-License-Identifier: Apache-2.0
// The table of architectures: all that is known of one stands in its row. A new architecture is a value of
// Architecture and a row; where its layers are of a new kind, program/layers.cpp builds their operators.
#pragma once

#include <bitgraph/nn/model.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bitgraph::nn {

/// Where the batches of training come from. TrainOptions::sample_from says what samples are taken from.
enum class BatchKind {
  whole_graph,  ///< all nodes and edges, with the labels of the training nodes
  neighbors,    ///< samples: some training nodes, with neighbours drawn for each
  walks         ///< samples: subgraphs that random walks from training nodes come through
};

struct ArchitectureTraits {
  Architecture architecture;
  std::string_view name;

  /// Appends the layers of one convolution from `inputs` to `outputs`; the first of them aggregates.
  void (*convolution)(std::vector<LayerShape>& layers, std::size_t inputs, std::size_t hidden, std::size_t outputs);

  bool concatenates;  ///< the outputs of all convolutions, side by side, go through a linear layer
  BatchKind batches;
  bool inductive;               ///< by its name: it sees training nodes alone unless it is told otherwise
  std::size_t hidden;           ///< preset width
  std::size_t hidden_of_large;  ///< the same of large graphs

  std::string_view
      torch_neighbor;           ///< what PyTorch Geometric's convolution calls the map of the neighbours, or its MLP
  std::string_view torch_root;  ///< and that of the node itself; empty: it has none

  [[nodiscard]] constexpr bool sampled() const noexcept { return batches != BatchKind::whole_graph; }
};

[[nodiscard]] std::span<const ArchitectureTraits> architecture_table() noexcept;
[[nodiscard]] std::vector<Architecture> all_architectures();
[[nodiscard]] std::vector<std::string> architecture_names();
[[nodiscard]] const ArchitectureTraits& traits_of(Architecture architecture) noexcept;

/// Whether its layers are trained with batch norms.
[[nodiscard]] bool is_normalized(const ArchitectureTraits& traits);

/// How many layers a convolution has.
[[nodiscard]] std::size_t layers_of_convolution(const ArchitectureTraits& traits);

}  // namespace bitgraph::nn
