// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/io/dataset.hpp>

#include <cstddef>

namespace bitgraph::nn {

/// What a recipe is chosen by: measured on the training and validation nodes alone.
struct DataFacts {
  bool dense = false;     ///< features are stored as a dense matrix
  bool negative = false;  ///< some feature is below 0
  bool uneven = false;    ///< in units of their own, dense and far from 0, or long-tailed: some drown what tells nodes
                          ///< apart
  bool long_tails = false;  ///< dense, and a few values of training nodes lie so far off that they make up deviations
  double row_length = 0;    ///< root mean square of rows as a float model takes them; 0: there are none
  std::size_t classes = 0;  ///< that these nodes have
  std::size_t graphs = 0;   ///< for training, of a data set of many
};

[[nodiscard]] DataFacts measure_facts(const Dataset& dataset);

}  // namespace bitgraph::nn
