// SPDX-License-Identifier: Apache-2.0
// PageRank where all rows are short, as those of a grid: all iterations in one kernel. See cuda_short_rows.cu.
#pragma once

#include <bitgraph/formats/csr_pattern.hpp>

#include "graph/pagerank/cuda_sums.cuh"

namespace bitgraph::pagerank_cuda {

/// Blocks at most of a kernel that goes through the nodes.
inline constexpr unsigned most_blocks = 528;

template <class T>
struct ShortRows {
  const NodeId* columns = nullptr;  ///< `width` of each row; n for those that are not there
  unsigned width = 0;
  Nodes<T> nodes;           ///< before the first iteration; share has a 0 at n
  T* next_share = nullptr;  ///< the same
  double damping = 0;
  double tolerance = 0;  ///< below 0: never to stop early
  int most_iterations = 0;
  Totals* partial = nullptr;  ///< 2 most_blocks
  Totals* totals = nullptr;   ///< of what is there before; out, of the last iteration
  int* iterations = nullptr;  ///< out
};

/// The width of the table of short rows, if at least half of it is used; else 0.
[[nodiscard]] unsigned width_of_short_rows(const CsrPatternView& in);

/// Fills a table of `width` columns a row.
void pack_short_rows(const Device& device, const CsrPatternView& in, unsigned width, NodeId* columns);

/// Puts the iterations on the device's stream. Which of share and next_share is the last one is not said.
template <class T>
void launch_short_rows(const Device& device, const ShortRows<T>& args);

}  // namespace bitgraph::pagerank_cuda
