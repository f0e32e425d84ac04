// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/io/dataset.hpp>

#include <cstddef>
#include <vector>

namespace bitgraph::nn {

/// What a recipe is chosen by: measured on the training and validation nodes alone.
struct DataFacts {
  bool dense = false;     ///< features are stored as a dense matrix
  bool negative = false;  ///< some feature is below 0
  /// In units of their own, dense and far from 0, or with long tails: some numbers drown what tells nodes apart.
  bool uneven = false;
  /// Dense, and a few values of training nodes lie so far off that they make up the deviations.
  bool long_tails = false;
  double row_length = 0;    ///< root mean square of rows as a float model takes them; 0: there are none
  std::size_t classes = 0;  ///< that these nodes have
  std::size_t graphs = 0;   ///< for training, of a data set of many
};

/// The nodes of the samples for training, then those for validation: all that a recipe looks at.
[[nodiscard]] std::vector<NodeId> known_nodes(const Dataset& dataset);

[[nodiscard]] DataFacts measure_facts(const Dataset& dataset);

}  // namespace bitgraph::nn
