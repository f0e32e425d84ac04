// SPDX-License-Identifier: Apache-2.0
// Programs and graphs that the tests of the passes share.
#pragma once

#include "nn/program/layers.hpp"
#include "nn/program/passes/passes.hpp"

#include <vector>

namespace bitgraph::nn::test {

/// 100 features, 64 hidden columns, 7 classes.
inline Program two_layers(Aggregation aggregation, bool root, bool concatenates = false) {
  const LayerShape shapes[] = {{aggregation, root, 100, 64}, {aggregation, root, 64, 7}};
  if (!concatenates) return program_of(shapes, false);
  const LayerShape with_last[] = {shapes[0], {aggregation, root, 64, 64}, {Aggregation::none, false, 128, 7}};
  return program_of(with_last, true);
}

/// As compile() brings a program to the passes of levels.
inline Program in_forms(Program program, const std::vector<Precision>& of_layers) {
  apply_precision(program, of_layers);
  share(program);
  fold_activations(program);
  remove_dead(program);
  return program;
}

inline InferenceOptions forms(std::vector<Precision> of_layers) {
  InferenceOptions options;
  options.forms = std::move(of_layers);
  return options;
}

/// Large enough for kernels over a whole graph.
inline GraphFacts large_graph() { return {.nodes = 100000, .entries = 1000000, .longest_row = 500}; }

}  // namespace bitgraph::nn::test
