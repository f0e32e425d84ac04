// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/core/error.hpp>
#include <bitgraph/nn/model.hpp>

#include "core/fingerprint.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace bitgraph::nn {

namespace {

std::string fingerprint_of(std::vector<NodeId> nodes) {
  std::sort(nodes.begin(), nodes.end());
  Fingerprint print;
  print.add(std::span<const NodeId>(nodes));
  return print.text();
}

}  // namespace

TrainingRecord TrainingRecord::of(const Dataset& dataset) {
  return {dataset.split, dataset.fingerprint(), fingerprint_of(dataset.train)};
}

bool TrainingRecord::restore(Dataset& dataset) const {
  std::vector<NodeId> train = dataset.train;
  std::vector<NodeId> validation = dataset.validation;
  std::vector<NodeId> test = dataset.test;
  const Split before = dataset.split;
  bool same = false;
  try {
    redraw_split(dataset, split);
    same = fingerprint_of(dataset.train) == training_nodes;
  } catch (const Error&) {
    same = false;  // this set has too few nodes for such a split
  }
  if (same) return true;
  dataset.train = std::move(train);
  dataset.validation = std::move(validation);
  dataset.test = std::move(test);
  dataset.split = before;
  return false;
}

}  // namespace bitgraph::nn
