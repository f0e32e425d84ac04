// SPDX-License-Identifier: Apache-2.0
// Edge lists to pattern CSR: two passes of a counting sort by row, cut into ranges of rows, then each row is sorted and
// its duplicates dropped in place.
#include <bitgraph/formats/csr_pattern.hpp>

#include "core/parallel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <vector>

namespace bitgraph {

namespace {

struct Edges {
  std::span<const NodeId> rows;
  std::span<const NodeId> cols;
  EdgeListOptions options;

  /// fn(row, column) for every entry that edges [range) stand for.
  template <class Fn>
  void for_each(Range range, Fn&& fn) const {
    for (std::size_t e = range.begin; e < range.end; ++e) {
      const NodeId i = rows[e];
      const NodeId j = cols[e];
      if (i == j) {
        if (!options.drop_loops) fn(i, j);
        continue;
      }
      fn(i, j);
      if (options.symmetrize) fn(j, i);
    }
  }
};

void check(NodeId nrows, NodeId ncols, const Edges& edges, const Device& device) {
  if (edges.rows.size() != edges.cols.size()) {
    fail(ErrorCode::usage, fmt::format("edge list: {} rows but {} columns", edges.rows.size(), edges.cols.size()));
  }
  if (edges.options.symmetrize) require(nrows == ncols, "edge list: only a square matrix can be made symmetric");
  std::atomic<bool> out_of_range{false};
  parallel_ranges(device, edges.rows.size(), std::size_t{1} << 16, [&](Range range) {
    bool bad = false;
    for (std::size_t e = range.begin; e < range.end; ++e) bad |= edges.rows[e] >= nrows || edges.cols[e] >= ncols;
    if (bad) out_of_range = true;
  });
  if (out_of_range) fail(ErrorCode::usage, fmt::format("edge list: an index is outside {} x {}", nrows, ncols));
}

/// Sorts a row and drops what occurs twice; returns what is left.
std::size_t sort_unique(NodeId* row, std::size_t size) {
  if (!std::is_sorted(row, row + size)) std::sort(row, row + size);
  return static_cast<std::size_t>(std::unique(row, row + size) - row);
}

}  // namespace

CsrPattern csr_from_edges(NodeId nrows, NodeId ncols, std::span<const NodeId> rows, std::span<const NodeId> cols,
                          const EdgeListOptions& options, const Device& device) {
  const Edges edges{rows, cols, options};
  check(nrows, ncols, edges, device);
  const std::size_t n = nrows;

  // Counting by atomics: with many rows two threads rarely meet, and the order of arrival does not matter: rows are
  // sorted.
  Buffer<EdgeOffset> row_ptr(n + 1, EdgeOffset{0}, device);
  constexpr std::size_t grain = std::size_t{1} << 14;
  const bool serial = device.threads() == 1 || rows.size() <= grain;
  const auto claim = [&](NodeId i) {
    return serial ? row_ptr[i]++ : std::atomic_ref<EdgeOffset>(row_ptr[i]).fetch_add(1, std::memory_order_relaxed);
  };
  parallel_ranges(device, rows.size(), grain,
                  [&](Range range) { edges.for_each(range, [&](NodeId i, NodeId) { claim(i); }); });
  const EdgeOffset total = exclusive_scan(device, row_ptr.span());
  Buffer<NodeId> slots(total, device);
  parallel_ranges(device, rows.size(), grain,
                  [&](Range range) { edges.for_each(range, [&](NodeId i, NodeId j) { slots[claim(i)] = j; }); });
  // row_ptr[i] is now the end of row i: the begin of row i is the end of row i - 1.
  const auto begin_of = [&](std::size_t i) { return i == 0 ? EdgeOffset{0} : row_ptr[i - 1]; };

  Buffer<NodeId> lengths(n, device);
  std::atomic<EdgeOffset> kept{0};
  parallel_chunks(device, n, 4096, [&](Range range) {
    EdgeOffset sum = 0;
    for (std::size_t i = range.begin; i < range.end; ++i) {
      lengths[i] = static_cast<NodeId>(sort_unique(slots.data() + begin_of(i), row_ptr[i] - begin_of(i)));
      sum += lengths[i];
    }
    kept += sum;
  });
  std::copy_backward(row_ptr.begin(), row_ptr.end() - 1, row_ptr.end());
  row_ptr[0] = 0;
  if (kept == total) return {nrows, ncols, std::move(row_ptr), std::move(slots)};

  Buffer<NodeId> col_ind(kept, device);
  Buffer<EdgeOffset> compact(n + 1, device);
  parallel_for(device, n, 4096, [&](std::size_t i) { compact[i] = lengths[i]; });
  compact[n] = 0;
  exclusive_scan(device, compact.span());
  parallel_for(device, n, 4096,
               [&](std::size_t i) { std::copy_n(slots.data() + row_ptr[i], lengths[i], col_ind.data() + compact[i]); });
  return {nrows, ncols, std::move(compact), std::move(col_ind)};
}

}  // namespace bitgraph
