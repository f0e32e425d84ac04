// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/core/error.hpp>
#include <bitgraph/nn/sampling.hpp>

#include "nn/sampling/draws.hpp"
#include "nn/sampling/node_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace bitgraph::nn {

namespace {

constexpr NodeId none = std::numeric_limits<NodeId>::max();
constexpr std::size_t row_grain = 64;

constexpr std::size_t few = 64;              ///< draws of a row that are made at once
constexpr std::size_t few_neighbors = 4096;  ///< of a node: as many bits are quicker than a list

/// out.size() different numbers below `degree`, rising: every set of them is equally likely. `marks` has a bit for each
/// of few_neighbors, none of them set before or after.
void choose(std::span<NodeId> out, std::size_t degree, NodeDraws draws,
            std::array<std::uint64_t, few_neighbors / 64>& marks) {
  if (out.size() > few) {
    // One by one along all of them (Knuth, The Art of Computer Programming 2, algorithm 3.4.2 S).
    std::size_t chosen = 0;
    for (std::size_t n = 0; chosen < out.size(); ++n) {
      if (draws.below(degree - n) < out.size() - chosen) out[chosen++] = static_cast<NodeId>(n);
    }
    return;
  }
  // Floyd's way (Bentley and Floyd, "A sample of brilliance", CACM 1987): one draw a number, none thrown away.
  std::array<std::uint32_t, few> words;
  draws.first_words(words, out.size());
  const std::size_t first = degree - out.size() + 1;
  if (degree <= few_neighbors) {
    for (std::size_t chosen = 0; chosen < out.size(); ++chosen) {
      const std::size_t drawn = words[chosen] * std::uint64_t{first + chosen} >> 32;
      const bool again = (marks[drawn / 64] >> (drawn % 64) & 1U) != 0;
      const std::size_t taken = again ? first + chosen - 1 : drawn;
      marks[taken / 64] |= std::uint64_t{1} << (taken % 64);
    }
    NodeId* to = out.data();
    for (std::size_t w = 0; w * 64 < degree; ++w) {
      for (std::uint64_t left = std::exchange(marks[w], 0); left != 0; left &= left - 1)
        *to++ = static_cast<NodeId>(w * 64 + static_cast<std::size_t>(std::countr_zero(left)));
    }
    return;
  }
  for (std::size_t chosen = 0; chosen < out.size(); ++chosen) {
    const auto drawn = static_cast<NodeId>(words[chosen] * std::uint64_t{first + chosen} >> 32);
    NodeId* const end = out.data() + chosen;
    NodeId* const place = std::lower_bound(out.data(), end, drawn);
    if (place != end && *place == drawn) {
      *end = static_cast<NodeId>(first + chosen - 1);  // larger than all before
    } else {
      std::copy_backward(place, end, end + 1);
      *place = drawn;
    }
  }
}

/// Renumbers a row of rising nodes and sorts it. Those numbered from `first_rising` on rise with the nodes.
void renumber(std::span<NodeId> row, const std::vector<NodeId>& place, NodeId first_rising) {
  if (row.size() > few) {
    for (NodeId& j : row) j = place[j];
    return std::sort(row.begin(), row.end());
  }
  std::array<NodeId, few> rising;
  std::size_t num_rising = 0, num_before = 0;
  for (const NodeId j : row) {
    const NodeId at = place[j];
    const bool rises = at >= first_rising;
    row[num_before] = rising[num_rising] = at;
    num_rising += rises ? 1U : 0U;
    num_before += rises ? 0U : 1U;
  }
  std::sort(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(num_before));
  std::copy_n(rising.begin(), num_rising, row.begin() + static_cast<std::ptrdiff_t>(num_before));
}

}  // namespace

struct NeighborSampler::State {
  State(const CsrPattern& the_graph, std::vector<std::size_t> the_fan_outs, std::uint64_t the_seed, Device on)
      : graph(the_graph),
        fan_outs(std::move(the_fan_outs)),
        seed(the_seed),
        device(std::move(on)),
        place(the_graph.nrows(), none),
        fresh(the_graph.nrows()) {}

  const CsrPattern& graph;
  std::vector<std::size_t> fan_outs;
  std::uint64_t seed;
  Device device;
  std::vector<NodeId> place;  ///< of a node among the sample's; `none` between calls
  NodeSet fresh;              ///< what a hop adds; empty between hops

  void take_targets(std::vector<NodeId>& nodes, std::span<const NodeId> targets) {
    for (const NodeId i : targets) {
      if (i < graph.nrows() && place[i] == none) {
        nodes.push_back(i);
        place[i] = static_cast<NodeId>(nodes.size() - 1);
        continue;
      }
      fail(ErrorCode::usage,
           i < graph.nrows()
               ? fmt::format("neighbour sampling: target {} stands twice", i)
               : fmt::format("neighbour sampling: target {} is no node of a graph of {}", i, graph.nrows()));
    }
  }

  /// Forgets a sample's nodes, also where it came to no end.
  struct Sample {
    State& state;
    std::vector<NodeId>& nodes;

    Sample(State& the_state, std::vector<NodeId>& the_nodes) : state(the_state), nodes(the_nodes) { nodes.clear(); }
    ~Sample() {
      for (const NodeId i : nodes) state.place[i] = none;
    }
    Sample(const Sample&) = delete;
    Sample& operator=(const Sample&) = delete;
  };

  void append_fresh(std::vector<NodeId>& nodes) {
    const std::size_t before = nodes.size();
    try {
      nodes.resize(before + fresh.number(device));
    } catch (...) {
      fresh.clear(device);
      throw;
    }
    fresh.list(nodes.data() + before, device);
    fresh.clear(device);
  }

  /// The layer whose targets are `nodes`; appends its other inputs to them.
  void sample_layer(ReusedPattern& layer, std::vector<NodeId>& nodes, std::size_t hop, std::uint64_t batch_seed) {
    const std::size_t num_targets = nodes.size();
    const std::size_t fan_out = fan_outs[hop];
    const auto lengths = layer.start(num_targets);
    parallel_for(device, num_targets, 1024,
                 [&](std::size_t i) { lengths[i] = std::min(fan_out, graph.row(nodes[i]).size()); });
    (void)layer.make_room(device);
    parallel_chunks(device, num_targets, row_grain, [&](Range range) {
      std::array<std::uint64_t, few_neighbors / 64> marks{};
      for (std::size_t i = range.begin; i < range.end; ++i) {
        const auto all = graph.row(nodes[i]);
        const auto taken = layer.row(i);
        if (taken.size() == all.size()) {
          std::copy(all.begin(), all.end(), taken.begin());
        } else {
          choose(taken, all.size(), {batch_seed, static_cast<std::uint32_t>(hop), nodes[i]}, marks);
          for (NodeId& n : taken) n = all[n];
        }
        for (const NodeId j : taken) {
          if (place[j] == none) fresh.add(j);
        }
      }
    });
    append_fresh(nodes);
    parallel_for(device, nodes.size() - num_targets, 1024,
                 [&](std::size_t n) { place[nodes[num_targets + n]] = static_cast<NodeId>(num_targets + n); });
    parallel_chunks(device, num_targets, row_grain, [&](Range range) {
      for (std::size_t i = range.begin; i < range.end; ++i)
        renumber(layer.row(i), place, static_cast<NodeId>(num_targets));
    });
    layer.finish(static_cast<NodeId>(nodes.size()), device);
  }
};

NeighborSampler::NeighborSampler(const CsrPattern& graph, std::vector<std::size_t> fan_outs, std::uint64_t seed,
                                 const Device& device) {
  require(graph.nrows() == graph.ncols(), "neighbour sampling: the graph is not square");
  require(graph.device().is_host() && device.is_host(), "neighbour sampling: the graph has to be on the host");
  require(!fan_outs.empty(), "neighbour sampling: at least one layer's fan-out is needed");
  for (const std::size_t fan_out : fan_outs) require(fan_out > 0, "neighbour sampling: a fan-out must be at least 1");
  state_ = std::make_unique<State>(graph, std::move(fan_outs), seed, device);
}

NeighborSampler::~NeighborSampler() = default;
NeighborSampler::NeighborSampler(NeighborSampler&&) noexcept = default;

void NeighborSampler::sample_into(NeighborSample& out, std::span<const NodeId> targets, std::uint32_t epoch,
                                  std::uint32_t batch) {
  State& s = *state_;
  out.layers.resize(s.fan_outs.size());
  const State::Sample sample(s, out.nodes);
  s.take_targets(out.nodes, targets);
  const std::uint64_t batch_seed = seed_of_batch(s.seed, Draw::neighbors, epoch, batch);
  for (std::size_t hop = 0; hop < s.fan_outs.size(); ++hop)
    s.sample_layer(out.layers[s.fan_outs.size() - 1 - hop], out.nodes, hop, batch_seed);
}

}  // namespace bitgraph::nn
