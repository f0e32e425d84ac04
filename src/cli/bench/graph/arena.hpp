// SPDX-License-Identifier: Apache-2.0
// Where ours and a rival meet: one graph, both measured on the same jobs, and their results compared.
#pragma once

#include <bitgraph/core/error.hpp>
#include <bitgraph/graph/packed_graph.hpp>

#include "cli/bench/timing.hpp"
#include "cli/peers/peers.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bitgraph::cli {

struct BenchSetting {
  Device device;
  Device host;             ///< the same threads
  std::vector<int> tiles;  ///< formats of ours: sides, csr_tile, auto_tile
  Timing timing;
  std::uint64_t seed = 0;
  FoundPeer peer;
};

/// One line of the table.
struct BenchRow {
  std::string algorithm, variant;
  int tile_dim = csr_tile;
  double pack_seconds = 0;
  std::optional<Spread> ours, theirs;
  std::string peer, calls;  ///< who the rival is, and what it called
  bool compared = false;    ///< the results were, and are the same
  std::string note;         ///< why something is missing
};

/// Our way of a job: run, and the last run's result, numbers as peer.hpp says.
struct OurWay {
  std::function<void(NodeId source)> run;
  std::function<std::vector<double>()> result;
};

/// Our way, in one format.
struct Prepared {
  int tile_dim = csr_tile;
  double pack_seconds = 0;
  OurWay way;
  std::shared_ptr<const void> keeps;  ///< what `way` refers to
};

/// A job: its name, how the rival does it, and how far its numbers may be from ours, relative to the larger of `floor`
/// and their size. 0: not at all.
struct Job {
  std::string algorithm, variant;
  std::vector<PeerWay> ways;
  double tolerance = 0;
  double floor = 1;
  std::string peer = {};  ///< instead of the library's name
  std::string note = {};  ///< why there are no ways, instead of "has none"
};

class Arena {
 public:
  /// The pattern as the file has it.
  Arena(const BenchSetting& setting, std::string name, CsrPattern pattern);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const BenchSetting& setting() const { return setting_; }
  [[nodiscard]] const CsrPattern& pattern() const { return pattern_; }
  [[nodiscard]] bool is_square() const { return pattern_.nrows() == pattern_.ncols(); }
  /// Both directions of every edge, without loops. Throws bad_input unless it is square and has an edge.
  [[nodiscard]] const CsrPattern& undirected();

  /// The rival's, of pattern() and of undirected(); where there is no rival, one without ways.
  [[nodiscard]] PeerGraph& peer_of_pattern();
  [[nodiscard]] PeerGraph& peer();

  /// Random nodes with edges, of undirected().
  [[nodiscard]] std::vector<NodeId> sources(std::size_t count, std::uint32_t stream = 0);

  /// Measures the rival, then ours in each format, and compares. `make` prepares our way in one packed graph.
  void compete(Job job, Workload workload, const std::function<OurWay(const PackedGraph&)>& make);

  // The same in steps, for operands other than packed graphs. Where preparing or running is not_possible, the row says
  // so.
  void measure_rival(Job job);
  void measure_ours(int tile_dim, const std::function<Prepared()>& prepare);

  [[nodiscard]] const std::vector<BenchRow>& rows() const { return rows_; }

 private:
  void pick_way(std::vector<PeerWay>& ways);
  void run_rival(const PeerWay& way, bool is_library);
  void compare(const std::vector<double>& ours) const;

  const BenchSetting& setting_;
  std::string name_;
  CsrPattern pattern_;
  std::optional<CsrPattern> undirected_;
  bool is_undirected_ = false;  ///< pattern_ is both
  PeerGraph nobody_;
  std::unique_ptr<PeerGraph> peer_of_pattern_, peer_;
  std::vector<NodeId> sources_;  ///< of the samples
  // The job that is under way.
  Job job_;
  BenchRow rival_;
  std::vector<double> their_result_;
  NodeId their_source_ = 0;
  std::vector<BenchRow> rows_;
};

/// The pattern in a format, and what `make` does with it.
[[nodiscard]] Prepared prepare_matrix(const BenchSetting& setting, const CsrPattern& pattern, int tile_dim,
                                      Workload workload, const std::function<OurWay(const PackedGraph::Matrix&)>& make);

// The algorithms. Each adds rows.
void bench_bfs(Arena& arena);
void bench_sssp(Arena& arena);
void bench_many_sources(Arena& arena);
void bench_pagerank(Arena& arena);
void bench_components(Arena& arena);
void bench_triangles(Arena& arena);
void bench_mxv(Arena& arena);
void bench_mxm(Arena& arena);

}  // namespace bitgraph::cli
