// SPDX-License-Identifier: Apache-2.0
// Splits of a data set into training, validation and test nodes or graphs.
#include <bitgraph/core/error.hpp>
#include <bitgraph/core/random.hpp>
#include <bitgraph/io/dataset.hpp>

#include "io/dataset/dataset.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace bitgraph {

namespace {

void shuffle(std::vector<NodeId>& samples, const RandomKey& key) {
  for (std::size_t n = samples.size(); n > 1; --n) std::swap(samples[n - 1], samples[random_below(key, n, n)]);
}

/// Samples with a label, by class; all in one where not `by_class`.
std::map<std::int32_t, std::vector<NodeId>> labelled(const Dataset& dataset, bool by_class) {
  std::map<std::int32_t, std::vector<NodeId>> groups;
  for (NodeId i = 0; i < dataset.labels.size(); ++i) {
    if (dataset.labels[i] != unlabelled) groups[by_class ? dataset.labels[i] : 0].push_back(i);
  }
  return groups;
}

void clear_split(Dataset& dataset) {
  for (auto* part : {&dataset.train, &dataset.validation, &dataset.test}) part->clear();
}

void sort_split(Dataset& dataset) {
  for (auto* part : {&dataset.train, &dataset.validation, &dataset.test}) std::sort(part->begin(), part->end());
}

}  // namespace

void draw_split(Dataset& dataset, const SplitOptions& options) {
  dataset.validate();
  clear_split(dataset);
  for (auto& [label, nodes] : labelled(dataset, true)) {
    shuffle(nodes, {options.seed, static_cast<std::uint32_t>(label), 0x5911});
    const std::size_t train = std::min(options.train_per_class, nodes.size() / 2);
    const std::size_t validation = std::min(options.validation_per_class, (nodes.size() - train) / 2);
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      (n < train ? dataset.train : n < train + validation ? dataset.validation : dataset.test).push_back(nodes[n]);
    }
  }
  sort_split(dataset);
  dataset.split = {.kind = SplitKind::per_class,
                   .seed = options.seed,
                   .train_per_class = options.train_per_class,
                   .validation_per_class = options.validation_per_class};
}

void inductive_split(Dataset& dataset, const SplitShares& shares, std::uint64_t seed) {
  dataset.validate();
  constexpr double rounding = 1e-9;
  for (const double share : {shares.train, shares.validation, shares.test})
    require(share >= 0 && share <= 1, "split: a share lies between 0 and 1");
  require(shares.train + shares.validation + shares.test <= 1 + rounding, "split: the shares add up to more than 1");
  clear_split(dataset);
  const bool of_graphs = dataset.num_graphs() != 0;
  std::size_t count = 0;
  for (auto& group : labelled(dataset, of_graphs)) {
    std::vector<NodeId>& samples = group.second;
    shuffle(samples, {seed, static_cast<std::uint32_t>(group.first), 0x1D0C});
    count += samples.size();
    double end_share = 0;
    auto begin = samples.begin();
    const auto take = [&](std::vector<NodeId>& part, double share) {
      end_share += share;
      const auto size = static_cast<double>(samples.size());
      const auto end = samples.begin() + std::min(std::ssize(samples), std::ptrdiff_t{std::llround(end_share * size)});
      part.insert(part.end(), begin, end);
      begin = end;
    };
    take(dataset.train, shares.train);
    take(dataset.validation, shares.validation);
    take(dataset.test, shares.test);
  }
  sort_split(dataset);
  const auto require_some = [&](const std::vector<NodeId>& part, double share, const char* what) {
    if (share == 0 || !part.empty()) return;
    fail(ErrorCode::bad_input, fmt::format("split: {} of the {} {} with a label in {} is none for {}", share, count,
                                           of_graphs ? "graphs" : "nodes", dataset.name, what));
  };
  require_some(dataset.train, shares.train, "training");
  require_some(dataset.validation, shares.validation, "validation");
  require_some(dataset.test, shares.test, "the test");
  dataset.split = {.kind = SplitKind::shares, .seed = seed, .shares = shares};
}

void redraw_split(Dataset& dataset, const Split& split) {
  switch (split.kind) {
    case SplitKind::file: return;
    case SplitKind::per_class:
      return draw_split(dataset, {split.train_per_class, split.validation_per_class, split.seed});
    case SplitKind::shares: return inductive_split(dataset, split.shares, split.seed);
  }
}

std::string Split::describe() const {
  switch (kind) {
    case SplitKind::file: break;
    case SplitKind::per_class:
      return fmt::format("{} and {} nodes of each class, seed {}", train_per_class, validation_per_class, seed);
    case SplitKind::shares:
      return fmt::format("shares {}, {}, {}, seed {}", shares.train, shares.validation, shares.test, seed);
  }
  return "as the data set has it";
}

}  // namespace bitgraph
