// SPDX-License-Identifier: Apache-2.0
#include "nn/training/recipe/sample_from.hpp"

#include "core/names.hpp"
#include "nn/model/architectures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace bitgraph::nn {

namespace {

constexpr Names<SampleFrom, 3> sample_names{
    {{SampleFrom::automatic, "auto"}, {SampleFrom::training, "training"}, {SampleFrom::all, "all"}}};

/// Training nodes have neighbours, and hardly any among themselves: samples of them alone teach nothing of edges.
bool few_training_neighbors(const DataSize& size) { return size.training_neighbors < 1 && size.neighbors >= 1; }

}  // namespace

std::string_view to_string(SampleFrom from) noexcept { return name_of(sample_names, from); }

SampleFrom sample_from_string(std::string_view name) { return value_of(sample_names, "choice of samples", name); }

void count_neighbors(DataSize& size, const Dataset& dataset) {
  std::vector<bool> trains(dataset.graph.nrows());
  for (const NodeId node : dataset.train) trains[node] = true;
  std::size_t all = 0, training = 0;
  for (const NodeId node : dataset.train) {
    for (const NodeId other : dataset.graph.row(node)) {
      if (other != node) ++all, training += trains[other] ? 1 : 0;
    }
  }
  const auto nodes = static_cast<double>(std::max<std::size_t>(dataset.train.size(), 1));
  size.neighbors = static_cast<double>(all) / nodes;
  size.training_neighbors = static_cast<double>(training) / nodes;
}

SampleFrom choose_samples(const TrainOptions& options, const DataSize& size) {
  const ArchitectureTraits& traits = traits_of(options.architecture);
  if (!traits.sampled() || options.sample_from != SampleFrom::automatic) return options.sample_from;
  const bool may_see_all = !traits.inductive && options.partition == nullptr;
  return may_see_all && few_training_neighbors(size) ? SampleFrom::all : SampleFrom::training;
}

std::string describe_samples(const TrainOptions& options, const DataSize& size) {
  if (!traits_of(options.architecture).sampled()) return {};
  const bool all = options.sample_from == SampleFrom::all;
  std::string text = all ? "samples of all nodes" : "samples of the training nodes";
  if (!few_training_neighbors(size)) return text;
  if (all) {
    return text + fmt::format(": of the {:.2g} neighbours of a training node {:.2g} are training nodes", size.neighbors,
                              size.training_neighbors);
  }
  return text + fmt::format(": a training node has {:.2g} of its {:.2g} neighbours there, --sample-from all sees all",
                            size.training_neighbors, size.neighbors);
}

}  // namespace bitgraph::nn
