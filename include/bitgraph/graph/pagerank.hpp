// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/graph/packed_graph.hpp>

#include <cstddef>
#include <memory>

namespace bitgraph {

struct PageRankOptions {
  double damping = 0.85;     ///< share of the rank that follows edges; the rest is spread over all nodes. 0 to below 1
  double tolerance = 1e-6;   ///< stop where the ranks change by no more, added up over all nodes; 0: never stop early
  int max_iterations = 100;  ///< at least 0
};

struct PageRankResult {
  Buffer<double> rank;     ///< of each node, in the caller's numbering, on the graph's device; they add up to 1
  int iterations = 0;      ///< that were run
  double residual = 0;     ///< the change of the last one: the sum over all nodes of |after - before|
  bool converged = false;  ///< residual <= tolerance
};

class DevicePageRank;

/// PageRank by power iteration (Brin and Page 1998; Bit-GraphBLAS section V: mxv over plus-times), ranks pulled along
/// in-edges, from equal ranks. What nodes without out-edges hold is spread evenly over all nodes.
///
/// Iterations run in single precision, a row's sum in pieces that are added up in double, until the ranks change by
/// less than 1.5e-6 / (1 - damping), 1e-5 for 0.85, and from there, where the tolerance is smaller, in double. The
/// ranks of a fixed number of iterations (tolerance 0) are within that bound of exact ones; the limit is at most
/// residual * damping / (1 - damping) away. The same for any number of threads. O(n + m) an iteration.
///
/// On a CUDA device of compute capability 9.0 or later, a graph in pattern CSR with at least 2^20 entries, and with no
/// more nodes that have edges than there is room for in the shared memory of all multiprocessors, some three million on
/// an H200, is laid out anew here: 5 bytes an entry, 24 while it is made. Where there is no memory for that, iterations
/// are products.
class PageRank {
 public:
  /// `graph` must outlive this, and be packed with in-edges. Throws usage for options out of range.
  explicit PageRank(const PackedGraph& graph, const PageRankOptions& options = {});

  PageRank(PageRank&&) noexcept;
  ~PageRank();

  /// A repeated call allocates nothing.
  const PageRankResult& run();

  /// Hands the last run's result over; the next run makes room anew.
  [[nodiscard]] PageRankResult take() { return std::move(result_); }

 private:
  /// State of the iteration in one precision; values of rows, with room for whole tiles.
  template <class T>
  struct State {
    Buffer<T> rank, inverse_degree, share, next_share;
    void reserve(std::size_t size, const Device& device);
  };

  template <class T>
  void iterate(State<T>& state, double tolerance);
  template <class T>
  void store(const State<T>& state);
  void widen();

  const PackedGraph& graph_;
  PageRankOptions options_;
  std::unique_ptr<DevicePageRank> there_;  ///< what iterates on a CUDA device; then only the result is used besides
  State<float> single_;
  State<double> double_;
  Buffer<double> partial_;  // change and stranded rank of every block of rows
  double stranded_ = 0;     // rank of nodes without out-edges
  PageRankResult result_;
};

/// The same, once.
[[nodiscard]] PageRankResult pagerank(const PackedGraph& graph, const PageRankOptions& options = {});

}  // namespace bitgraph
