// SPDX-License-Identifier: Apache-2.0
// What independent sets and colouring share on a CUDA device: rows that are decided in the order of their priorities,
// in rounds over those that are open. Device code: for .cu files only.
#pragma once

#include <bitgraph/formats/csr_pattern.hpp>

#include <bitgraph/core/kernel.cuh>

namespace bitgraph {

/// Edges of a row that a lane takes on itself, before the warp does.
inline constexpr EdgeOffset lane_edges = 8;

inline constexpr unsigned tries_of_a_round = 16;

/// A graph read as undirected: the entries of a row, those of the other direction behind them.
struct CudaUndirectedView {
  CsrPatternView out;
  CsrPatternView in;
  bool symmetric = false;  ///< in is out

  [[nodiscard]] __device__ NodeId nrows() const { return out.nrows; }

  /// One row of it.
  struct Row {
    const NodeId* out = nullptr;
    const NodeId* in = nullptr;
    EdgeOffset num_out = 0;
    EdgeOffset length = 0;

    __device__ NodeId operator[](EdgeOffset at) const { return __ldg(at < num_out ? out + at : in + (at - num_out)); }
  };

  [[nodiscard]] __device__ Row row(NodeId v) const {
    const EdgeOffset begin = out.row_ptr[v];
    const EdgeOffset num_out = out.row_ptr[v + 1] - begin;
    Row row{out.col_ind + begin, nullptr, num_out, num_out};
    if (symmetric) return row;
    const EdgeOffset begin_in = in.row_ptr[v];
    row.in = in.col_ind + begin_in;
    row.length += in.row_ptr[v + 1] - begin_in;
    return row;
  }

  /// Entries but for loops; those of both directions count twice.
  [[nodiscard]] __device__ std::uint32_t degree(NodeId v) const {
    const EdgeOffset loops = has_loop(out, v) ? (symmetric ? 1 : 2) : 0;  // a loop is in both directions
    return static_cast<std::uint32_t>(row(v).length - loops);
  }

 private:
  __device__ static bool has_loop(const CsrPatternView& a, NodeId v) {
    EdgeOffset low = a.row_ptr[v];
    for (EdgeOffset size = a.row_ptr[v + 1] - low; size != 0;) {
      const EdgeOffset half = size / 2;
      const NodeId there = __ldg(a.col_ind + low + half);
      if (there == v) return true;
      low += there < v ? half + 1 : 0;
      size = there < v ? size - half - 1 : half;
    }
    return false;
  }
};

/// State that all blocks share. A round writes the entry of its number modulo 3.
struct OpenRowsControl {
  unsigned open[3];  ///< rows that a round leaves
  unsigned result;   ///< what the search counts
};

/// The rows that are open, in two lists that take turns.
struct OpenRows {
  NodeId* list[2];  ///< n
  OpenRowsControl* control;
};

/// Calls decide(v, takes_part) in rounds, for every row until it is true: by whole warps, a row a lane. A row's
/// decision may wait for rows of higher priority only, so that every round makes one at least. What other rows have
/// decided is seen at once or in the next round, which changes nothing but the number of rounds. control->open is zeros
/// before.
template <class Grid, class Decide>
__device__ void decide_in_rounds(const Grid& grid, NodeId n, const OpenRows& rows, Decide&& decide) {
  const auto thread = static_cast<NodeId>(grid.thread_rank());
  const auto num_threads = static_cast<NodeId>(grid.num_threads());
  const unsigned lane = threadIdx.x % 32;
  NodeId left = n;
  for (unsigned round = 0; left != 0; ++round) {
    const NodeId* from = rows.list[round % 2];
    NodeId* to = rows.list[(round + 1) % 2];
    unsigned* num_kept = &rows.control->open[(round + 1) % 3];
    if (thread == 0) rows.control->open[(round + 2) % 3] = 0;
    const unsigned most_tries = left <= num_threads ? tries_of_a_round : 1;
    for (NodeId first = thread - lane; first < left; first += num_threads) {
      const bool takes_part = first + lane < left;
      NodeId v = 0;
      if (takes_part) v = round == 0 ? first + lane : __ldcg(from + first + lane);
      bool is_kept = takes_part;
      unsigned kept = full_warp;
      for (unsigned tries = 0; kept != 0 && tries < most_tries; ++tries) {
        is_kept = !decide(v, is_kept) && is_kept;
        kept = __ballot_sync(full_warp, is_kept);
      }
      if (kept == 0) continue;
      unsigned at = 0;
      if (lane == 0) at = atomicAdd(num_kept, static_cast<unsigned>(__popc(kept)));
      at = __shfl_sync(full_warp, at, 0) + static_cast<unsigned>(__popc(kept & ((1U << lane) - 1)));
      if (is_kept) to[at] = v;
    }
    grid.sync();
    left = __ldcg(num_kept);
  }
}

}  // namespace bitgraph
