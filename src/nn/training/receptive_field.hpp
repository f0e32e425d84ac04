// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nn/model/normalization.hpp"

#include <vector>

namespace bitgraph::nn {

/// The part of a graph that two aggregations towards `outputs` touch, as two rectangular patterns between renumbered
/// nodes: second (outputs x middle) and first (middle x inputs), with the normalization of the whole graph.
struct ReceptiveField {
  std::vector<NodeId> outputs, middle, inputs;  ///< node ids, increasing but for outputs
  CsrPattern first, first_transposed, second, second_transposed;
  Buffer<float> output_scale, middle_scale, input_scale;  ///< D^-1/2
  Buffer<float> first_mean;                               ///< 1 / entries of a row of first

  ReceptiveField(const NormalizedGraph& graph, std::vector<NodeId> targets);
};

}  // namespace bitgraph::nn
