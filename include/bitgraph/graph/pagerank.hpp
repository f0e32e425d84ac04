// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/graph/packed_graph.hpp>

#include <memory>
#include <utility>

namespace bitgraph {

struct PageRankOptions {
  double damping = 0.85;     ///< share of the rank that follows edges, at least 0 and below 1; all nodes get the rest
  double tolerance = 1e-6;   ///< stop where the sum of all changes is at most this; 0: never stop early
  int max_iterations = 100;  ///< at least 0
};

struct PageRankResult {
  Buffer<double> rank;     ///< n, in the caller's numbering, on the graph's device; the ranks add up to 1
  int iterations = 0;      ///< iterations that ran
  double residual = 0;     ///< the sum over all nodes of |after - before| in the last iteration
  bool converged = false;  ///< residual <= tolerance
};

class PageRankEngine;

/// PageRank by power iteration (Brin and Page 1998; Bit-GraphBLAS, section V: mxv over plus-times). All nodes start
/// with equal ranks, and every node pulls rank along its in-edges. The rank of nodes without out-edges goes to all
/// nodes evenly.
///
/// Iterations run in single precision until the ranks change by less than 1.5e-6 / (1 - damping), which is 1e-5 for
/// 0.85. Parts of a row's sum are added up in double precision. Where the tolerance is smaller, the iterations go on in
/// double precision from there. With a fixed number of iterations (tolerance 0) the ranks are within that bound of
/// exact ones. The limit is at most residual * damping / (1 - damping) away. The result is the same for any number of
/// threads. O(n + m) an iteration.
///
/// On a CUDA device of compute capability 9.0 or later the constructor lays out a large graph anew, which makes
/// iterations faster. It does so for pattern CSR with at least 2^20 entries, where the ranks of all nodes with edges
/// fit the shared memory of all multiprocessors (about three million nodes on an H200). The layout takes 5 bytes an
/// entry, and 24 bytes an entry while it is made. Where that memory is not free, iterations are products.
class PageRank {
 public:
  /// `graph` must outlive this object. Throws usage for a directed graph that was packed without in-edges, and for
  /// options out of range. O(n + m).
  explicit PageRank(const PackedGraph& graph, const PageRankOptions& options = {});
  PageRank(PageRank&&) noexcept;
  PageRank& operator=(PageRank&&) noexcept;
  ~PageRank();

  /// Iterates from equal ranks. A repeated call allocates nothing and overwrites the result.
  const PageRankResult& run();

  /// Moves the result of the last run out. The next run() allocates it anew.
  [[nodiscard]] PageRankResult take() { return std::exchange(result_, {}); }

 private:
  const PackedGraph* graph_;
  PageRankOptions options_;
  std::unique_ptr<PageRankEngine> engine_;
  PageRankResult result_;
};

/// One run of PageRank.
[[nodiscard]] PageRankResult pagerank(const PackedGraph& graph, const PageRankOptions& options = {});

}  // namespace bitgraph
