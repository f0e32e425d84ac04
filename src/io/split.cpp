// SPDX-License-Identifier: Apache-2.0
// Splits of a data set into training, validation and test nodes.
#include <bitgraph/core/error.hpp>
#include <bitgraph/core/random.hpp>
#include <bitgraph/io/dataset.hpp>

#include "io/dataset.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace bitgraph {

void draw_split(Dataset& dataset, const SplitOptions& options) {
  dataset.validate();
  std::map<std::int32_t, std::vector<NodeId>> of_class;
  for (NodeId i = 0; i < dataset.labels.size(); ++i) {
    if (dataset.labels[i] != unlabelled) of_class[dataset.labels[i]].push_back(i);
  }
  dataset.train.clear();
  dataset.validation.clear();
  dataset.test.clear();
  for (auto& [label, nodes] : of_class) {
    const RandomKey key{options.seed, static_cast<std::uint32_t>(label), 0x5911};
    for (std::size_t n = nodes.size(); n > 1; --n) std::swap(nodes[n - 1], nodes[random_below(key, n, n)]);
    const std::size_t train = std::min(options.train_per_class, nodes.size() / 2);
    const std::size_t validation = std::min(options.validation_per_class, (nodes.size() - train) / 2);
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      (n < train ? dataset.train : n < train + validation ? dataset.validation : dataset.test).push_back(nodes[n]);
    }
  }
  for (auto* part : {&dataset.train, &dataset.validation, &dataset.test}) std::sort(part->begin(), part->end());
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
  std::vector<NodeId> nodes;
  for (NodeId i = 0; i < dataset.labels.size(); ++i) {
    if (dataset.labels[i] != unlabelled) nodes.push_back(i);
  }
  const RandomKey key{seed, 0, 0x1D0C};
  for (std::size_t n = nodes.size(); n > 1; --n) std::swap(nodes[n - 1], nodes[random_below(key, n, n)]);
  double end_share = 0;
  std::size_t begin = 0;
  const auto take = [&](std::vector<NodeId>& part, double share, const char* what) {
    end_share += share;
    const auto end =
        std::min(nodes.size(), static_cast<std::size_t>(std::llround(end_share * static_cast<double>(nodes.size()))));
    part.assign(nodes.begin() + static_cast<std::ptrdiff_t>(begin), nodes.begin() + static_cast<std::ptrdiff_t>(end));
    std::sort(part.begin(), part.end());
    if (share > 0 && part.empty()) {
      fail(ErrorCode::bad_input, fmt::format("split: {} of the {} nodes with a label in {} is none for {}", share,
                                             nodes.size(), dataset.name, what));
    }
    begin = end;
  };
  take(dataset.train, shares.train, "training");
  take(dataset.validation, shares.validation, "validation");
  take(dataset.test, shares.test, "the test");
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
