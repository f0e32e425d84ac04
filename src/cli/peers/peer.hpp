// SPDX-License-Identifier: Apache-2.0
// A rival library, as the benchmarks see it: one graph in its own form, and the ways it has of doing each job. It knows
// nothing of this project's library but types of numbers, so that a rival can be a module loaded at run time.
#pragma once

#include <bitgraph/core/types.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace bitgraph::cli {

/// A 0/1 matrix in CSR, on the host; columns rise within a row.
struct PeerMatrix {
  NodeId nrows = 0, ncols = 0;
  std::span<const EdgeOffset> row_ptr;
  std::span<const NodeId> col_ind;
  [[nodiscard]] std::span<const NodeId> row(NodeId i) const {
    return col_ind.subspan(row_ptr[i], static_cast<std::size_t>(row_ptr[i + 1] - row_ptr[i]));
  }
};

/// One way of doing a job. It refers to the graph that gave it.
struct PeerWay {
  std::string calls;                ///< what it calls, in a few words
  std::function<void()> prepare;    ///< before any run; not timed. May be empty
  std::function<void(NodeId)> run;  ///< the job, from this source where there is one; PeerLibrary::finish() ends it
  std::function<std::vector<double>()> result;  ///< of the last run. Empty: it does the work, but not this job
};

enum class MxvKind { bits_to_bits, bits_to_counts, plus_times, min_plus, min_first, max_times };

struct MxvJob {
  MxvKind kind = MxvKind::plus_times;
  std::span<const float> x;              ///< 0 and 1 where it is bits; else not negative
  std::span<const std::uint8_t> hidden;  ///< rows that a mask leaves out have 1; empty: no mask
};

/// What of A, which is symmetric.
enum class MxmKind {
  sum,            ///< the sum of all entries of A A over plus_pair
  masked_sum,     ///< of L L^T where L, the strict lower triangle, has an entry
  reach,          ///< A A over or_and
  masked_reach,   ///< the same where A has an entry
  outside_reach,  ///< where it has none
  counts,         ///< A A over plus_pair
  masked_counts,  ///< where A has an entry
};

/// The result of a job is a vector of numbers:
///
///     bfs         the level of every node, -1 where unreached
///     sssp        its distance, 2^31 - 1 where unreached
///     pagerank    its rank after so many iterations from equal ranks, damping 0.85, stranded rank spread evenly
///     components  the smallest node of its component
///     triangles   one number
///     mxv         every element of the output, absent ones the identity: 0, or infinity for minima
///     mxm         one number for sums; else the sum of each row of the product
///
/// A job that the library has no way of doing has no ways.
class PeerGraph {
 public:
  PeerGraph() = default;
  virtual ~PeerGraph() = default;
  PeerGraph(const PeerGraph&) = delete;
  PeerGraph& operator=(const PeerGraph&) = delete;

  virtual std::vector<PeerWay> bfs() { return {}; }
  /// Weights in the order of the entries; empty: all 1.
  virtual std::vector<PeerWay> sssp(std::span<const std::int32_t> /*weights*/) { return {}; }
  virtual std::vector<PeerWay> pagerank(int /*iterations*/) { return {}; }
  virtual std::vector<PeerWay> components() { return {}; }
  virtual std::vector<PeerWay> triangles() { return {}; }
  virtual std::vector<PeerWay> mxv(const MxvJob& /*job*/) { return {}; }
  virtual std::vector<PeerWay> mxm(MxmKind /*kind*/) { return {}; }
};

class PeerLibrary {
 public:
  PeerLibrary() = default;
  virtual ~PeerLibrary() = default;
  PeerLibrary(const PeerLibrary&) = delete;
  PeerLibrary& operator=(const PeerLibrary&) = delete;

  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual std::string version() const = 0;
  /// Refers to `graph`, which must outlive it.
  [[nodiscard]] virtual std::unique_ptr<PeerGraph> open(const PeerMatrix& graph) = 0;
  /// Waits for all that runs were asked to do.
  virtual void finish() {}
};

}  // namespace bitgraph::cli
