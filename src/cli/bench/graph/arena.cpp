// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/graph/arena.hpp"

#include <bitgraph/core/random.hpp>

#include "graph/packed_graph/choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <new>

namespace bitgraph::cli {

namespace {

PeerMatrix peer_matrix(const CsrPattern& a) { return {a.nrows(), a.ncols(), a.row_ptr(), a.col_ind()}; }

}  // namespace

Arena::Arena(const BenchSetting& setting, std::string name, CsrPattern pattern)
    : setting_(setting), name_(std::move(name)), pattern_(std::move(pattern)) {
  is_undirected_ = is_square() && is_symmetric(pattern_) && num_self_loops(pattern_) == 0;
}

const CsrPattern& Arena::undirected() {
  if (!is_square()) {
    fail(ErrorCode::bad_input,
         fmt::format("{}: the matrix is {} x {}, a graph needs a square one; only mxv can do without", name_,
                     pattern_.nrows(), pattern_.ncols()));
  }
  if (!is_undirected_ && !undirected_) undirected_ = without_self_loops(symmetrized(pattern_));
  const CsrPattern& graph = is_undirected_ ? pattern_ : *undirected_;
  if (graph.nvals() == 0) fail(ErrorCode::bad_input, name_ + ": the graph has no edges: there is nothing to measure");
  return graph;
}

PeerGraph& Arena::peer_of_pattern() {
  if (is_undirected_) return peer();
  PeerLibrary* library = setting_.peer.library.get();
  if (library == nullptr) return nobody_;
  if (peer_of_pattern_ == nullptr) peer_of_pattern_ = library->open(peer_matrix(pattern_));
  return *peer_of_pattern_;
}

PeerGraph& Arena::peer() {
  PeerLibrary* library = setting_.peer.library.get();
  if (library == nullptr) return nobody_;
  if (peer_ == nullptr) peer_ = library->open(peer_matrix(undirected()));
  return *peer_;
}

std::vector<NodeId> Arena::sources(std::size_t count, std::uint32_t stream) {
  const CsrPattern& graph = undirected();
  std::vector<NodeId> sources;
  for (std::size_t k = 0; sources.size() < count; ++k) {
    const auto node = static_cast<NodeId>(random_below({setting_.seed, 5, stream}, k, graph.nrows()));
    if (!graph.row(node).empty()) sources.push_back(node);
  }
  return sources;
}

void Arena::pick_way(std::vector<PeerWay>& ways) {
  double best_time = 0;
  double spent = 0;
  std::size_t best = 0;
  for (std::size_t k = 0; ways.size() > 1 && k < ways.size() && spent < setting_.timing.limit; ++k) {
    if (ways[k].prepare) ways[k].prepare();
    double time = 0;
    for (int trial = 0; trial < 2; ++trial) {  // the first one warms up
      time = seconds_of([&] {
        ways[k].run(sources_[0]);
        setting_.peer.library->finish();
      });
      spent += time;
    }
    if (k == 0 || time < best_time) {
      best_time = time;
      best = k;
    }
  }
  PeerWay chosen = std::move(ways[best]);
  ways.clear();
  ways.push_back(std::move(chosen));
  if (ways[0].prepare) ways[0].prepare();
}

void Arena::measure_rival(Job job) {
  job_ = std::move(job);
  const bool is_library = job_.peer.empty();
  PeerLibrary* library = setting_.peer.library.get();
  rival_ = {.algorithm = job_.algorithm, .variant = job_.variant};
  rival_.peer = is_library ? setting_.peer.name : job_.peer;
  their_result_.clear();
  sources_ = is_square() ? sources(static_cast<std::size_t>(setting_.timing.repeats)) : std::vector<NodeId>{0};
  their_source_ = sources_[0];
  if (is_library && library == nullptr) {
    rival_.note = setting_.peer.absent;
  } else if (job_.ways.empty()) {
    rival_.note = job_.note.empty() ? rival_.peer + " has nothing for this" : job_.note;
  } else {
    try {
      if (is_library) pick_way(job_.ways);
      run_rival(job_.ways[0], is_library);
    } catch (const std::bad_alloc&) {
      rival_.note = rival_.peer + " has not enough memory for this";
    } catch (const Error& error) {
      if (error.code() != ErrorCode::not_possible) throw;
      rival_.note = error.what();
    }
  }
}

void Arena::run_rival(const PeerWay& way, bool is_library) {
  const auto call = [&](int k) {
    their_source_ = sources_[static_cast<std::size_t>(k) % sources_.size()];
    way.run(their_source_);
  };
  const auto finish = [&] {
    if (is_library) setting_.peer.library->finish();
  };
  rival_.calls = way.calls;
  rival_.theirs = measure(setting_.timing, call, finish);
  if (way.result) their_result_ = way.result();
}

void Arena::measure_ours(int tile_dim, const std::function<Prepared()>& prepare) {
  BenchRow row = rival_;
  row.tile_dim = std::max(tile_dim, csr_tile);
  try {
    const Prepared prepared = prepare();
    row.tile_dim = prepared.tile_dim;
    row.pack_seconds = prepared.pack_seconds;
    const auto call = [&](int k) { prepared.way.run(sources_[static_cast<std::size_t>(k) % sources_.size()]); };
    row.ours = measure(setting_.timing, call, [&] { setting_.device.synchronize(); });
    if (!their_result_.empty()) {
      prepared.way.run(their_source_);
      compare(prepared.way.result());
      row.compared = true;
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_possible) throw;
    row.ours.reset();
    row.note = error.what();
  }
  rows_.push_back(std::move(row));
}

void Arena::compare(const std::vector<double>& ours) const {
  const std::vector<double>& theirs = their_result_;
  const std::string what = name_ + ": " + job_.algorithm + (job_.variant.empty() ? "" : ", " + job_.variant);
  if (ours.size() != theirs.size()) {
    fail(ErrorCode::internal,
         fmt::format("{}: {} numbers here, {} by {}", what, ours.size(), theirs.size(), rival_.peer));
  }
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const double scale = std::max({job_.floor, std::abs(ours[i]), std::abs(theirs[i])});
    if (ours[i] == theirs[i] || std::abs(ours[i] - theirs[i]) <= job_.tolerance * scale) continue;
    fail(ErrorCode::internal, fmt::format("{}: the results differ: element {} is {} here, {} by {}", what, i, ours[i],
                                          theirs[i], rival_.peer));
  }
}

void Arena::compete(Job job, Workload workload, const std::function<OurWay(const PackedGraph&)>& make) {
  measure_rival(std::move(job));
  for (const int tile : setting_.tiles) {
    measure_ours(tile, [&]() -> Prepared {
      std::shared_ptr<PackedGraph> graph;
      const double seconds = seconds_of([&] {
        graph = std::make_shared<PackedGraph>(
            pack_graph(undirected(), {.tile_dim = tile, .workload = workload}, setting_.device));
        setting_.device.synchronize();
      });
      return {graph->tile_dim(), seconds, make(*graph), graph};
    });
  }
}

Prepared prepare_matrix(const BenchSetting& setting, const CsrPattern& pattern, int tile_dim, Workload workload,
                        const std::function<OurWay(const PackedGraph::Matrix&)>& make) {
  std::shared_ptr<PackedGraph::Matrix> matrix;
  int side = tile_dim;
  const double seconds = seconds_of([&] {
    // On a CUDA device what is packed is there first, and so is what the choice looks at.
    std::optional<CsrPattern> there;
    if (!setting.device.is_host()) there.emplace(pattern.to(setting.device));
    const CsrPattern& source = there ? *there : pattern;
    if (side == auto_tile) side = choose_format(source, workload, setting.device).tile_dim;
    if (side == csr_tile) {
      matrix = std::make_shared<PackedGraph::Matrix>(there ? std::move(*there) : pattern.to(setting.device));
    } else {
      matrix = std::make_shared<PackedGraph::Matrix>(pack(source, {.tile_dim = side}, setting.device));
    }
    setting.device.synchronize();
  });
  return {side, seconds, make(*matrix), matrix};
}

}  // namespace bitgraph::cli
