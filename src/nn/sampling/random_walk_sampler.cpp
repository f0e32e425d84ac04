// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/core/error.hpp>
#include <bitgraph/nn/sampling.hpp>

#include "nn/sampling/draws.hpp"
#include "nn/sampling/node_set.hpp"
#include "nn/sampling/subgraph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace bitgraph::nn {

namespace {

using Count = std::uint16_t;
constexpr std::size_t most_subgraphs = std::numeric_limits<Count>::max();
constexpr std::size_t walk_grain = 64;

}  // namespace

struct RandomWalkSampler::State {
  State(const CsrPattern& the_graph, std::span<const NodeId> the_roots, const RandomWalkOptions& the_options, Device on)
      : graph(the_graph),
        roots(the_roots.begin(), the_roots.end()),
        options(the_options),
        device(std::move(on)),
        met(the_graph.nrows()) {}

  const CsrPattern& graph;
  std::vector<NodeId> roots;
  RandomWalkOptions options;
  Device device;
  NodeSet met;  ///< empty between samples
  struct Counts {
    std::size_t subgraphs = 0;
    std::vector<Count> of_node, of_entry;
  };
  std::shared_ptr<const Counts> counts;  ///< null: estimate() was not called
  SubgraphSample counted;

  /// Fills `met`, numbers it, and lists it in `nodes`.
  void walk(std::vector<NodeId>& nodes, Draw draw, std::uint32_t epoch, std::uint32_t batch) {
    const std::uint64_t seed = seed_of_batch(options.seed, draw, epoch, batch);
    const std::size_t num_starts = roots.empty() ? graph.nrows() : roots.size();
    parallel_chunks(device, options.num_roots, walk_grain, [&](Range range) {
      for (std::size_t r = range.begin; r < range.end; ++r) {
        NodeDraws draws(seed, 0, static_cast<NodeId>(r));
        const std::uint32_t start = draws.below(num_starts);
        NodeId at = roots.empty() ? start : roots[start];
        met.add(at);
        for (std::size_t step = 0; step < options.walk_length; ++step) {
          const auto row = graph.row(at);
          if (row.empty()) break;
          at = row[draws.below(row.size())];
          met.add(at);
        }
      }
    });
    nodes.resize(met.number(device));
    met.list(nodes.data(), device);
  }

  /// C_v and C_uv of what `nodes` induce.
  void count(const std::vector<NodeId>& nodes, Counts& into) {
    parallel_chunks(device, nodes.size(), subgraph_row_grain, [&](Range range) {
      for (std::size_t n = range.begin; n < range.end; ++n) {
        const NodeId i = nodes[n];
        ++into.of_node[i];
        for (EdgeOffset e = graph.row_ptr()[i]; e < graph.row_ptr()[i + std::size_t{1}]; ++e)
          into.of_entry[e] = static_cast<Count>(into.of_entry[e] + (met.has(graph.col_ind()[e]) ? 1 : 0));
      }
    });
  }
};

RandomWalkSampler::RandomWalkSampler(const CsrPattern& graph, std::span<const NodeId> roots,
                                     const RandomWalkOptions& options, const Device& device) {
  require(graph.nrows() == graph.ncols(), "random walks: the graph is not square");
  require(graph.device().is_host() && device.is_host(), "random walks: the graph has to be on the host");
  require(graph.nrows() > 0, "random walks: the graph has no nodes");
  require(options.num_roots > 0 && options.num_roots < std::numeric_limits<NodeId>::max(),
          "random walks: at least one root and fewer than 2^32 - 1");
  for (const NodeId root : roots) {
    if (root >= graph.nrows())
      fail(ErrorCode::usage, fmt::format("random walks: root {} is no node of a graph of {}", root, graph.nrows()));
  }
  state_ = std::make_unique<State>(graph, roots, options, device);
}

RandomWalkSampler::~RandomWalkSampler() = default;
RandomWalkSampler::RandomWalkSampler(RandomWalkSampler&&) noexcept = default;

void RandomWalkSampler::estimate(std::size_t num_subgraphs) {
  if (num_subgraphs == 0 || num_subgraphs > most_subgraphs)
    fail(ErrorCode::usage,
         fmt::format("random walks: {} subgraphs to count, expected 1 to {}", num_subgraphs, most_subgraphs));
  State& s = *state_;
  auto counts = std::make_shared<State::Counts>();
  counts->subgraphs = num_subgraphs;
  counts->of_node.assign(s.graph.nrows(), 0);
  counts->of_entry.assign(s.graph.nvals(), 0);
  for (std::size_t n = 0; n < num_subgraphs; ++n) {
    s.walk(s.counted.nodes, Draw::counted_walk, 0, static_cast<std::uint32_t>(n));
    s.count(s.counted.nodes, *counts);
    s.met.clear(s.device);
  }
  s.counts = std::move(counts);
}

RandomWalkSampler RandomWalkSampler::twin(const Device& device) const {
  RandomWalkSampler other(state_->graph, state_->roots, state_->options, device);
  other.state_->counts = state_->counts;
  return other;
}

std::size_t RandomWalkSampler::subgraphs_for_coverage(double coverage) {
  State& s = *state_;
  require(coverage > 0 && std::isfinite(coverage), "random walks: a coverage is positive");
  s.walk(s.counted.nodes, Draw::counted_walk, 0, 0);
  std::size_t starts = s.graph.nrows(), met = s.counted.nodes.size();
  if (!s.roots.empty()) {
    starts = s.roots.size();
    met = static_cast<std::size_t>(std::ranges::count_if(s.roots, [&](NodeId root) { return s.met.has(root); }));
  }
  s.met.clear(s.device);
  const double needed = coverage * static_cast<double>(starts) / static_cast<double>(met);
  return static_cast<std::size_t>(std::clamp(std::ceil(needed), 1.0, static_cast<double>(most_subgraphs)));
}

void RandomWalkSampler::sample_into(SubgraphSample& out, std::uint32_t epoch, std::uint32_t batch) {
  State& s = *state_;
  s.walk(out.nodes, Draw::walk, epoch, batch);
  const std::vector<NodeId>& nodes = out.nodes;
  if (!s.counts) {
    induce(out.pattern, s.graph, nodes, s.met, s.device, [](EdgeOffset, EdgeOffset) {});
    out.loss_weight.clear();
    out.entry_scale.clear();
    s.met.clear(s.device);
    return;
  }
  const auto at_least_one = [](Count count) { return static_cast<float>(std::max<Count>(count, 1)); };
  // Entries are counted first, for room to put their scales into; then rows are scaled by their nodes' counts.
  EdgeOffset most = 0;
  for (const NodeId i : nodes) most += s.graph.row(i).size();
  out.entry_scale.resize(most);
  induce(out.pattern, s.graph, nodes, s.met, s.device,
         [&](EdgeOffset e, EdgeOffset to) { out.entry_scale[to] = 1 / at_least_one(s.counts->of_entry[e]); });
  out.entry_scale.resize(out.pattern.get().nvals());
  out.loss_weight.resize(nodes.size());
  parallel_for(s.device, nodes.size(), 256, [&](std::size_t i) {
    const float count = at_least_one(s.counts->of_node[nodes[i]]);
    out.loss_weight[i] = static_cast<float>(s.counts->subgraphs) / count;
    const EdgeOffset begin = out.pattern.begin_of_row(i);
    for (EdgeOffset e = begin; e < out.pattern.begin_of_row(i + 1); ++e) out.entry_scale[e] *= count;
  });
  s.met.clear(s.device);
}

}  // namespace bitgraph::nn
