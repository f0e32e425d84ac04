// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/ops/select.hpp>

#include "core/backend.hpp"
#include "core/parallel.hpp"

namespace bitgraph {

namespace {

/// Of each row the entries for which keep(i, j) holds: counted, then written.
template <class Keep>
CsrPattern kept_entries(const CsrPattern& a, const Keep& keep) {
  constexpr std::size_t chunk = 1024;
  const Device& device = a.device();
  with_host_backend(device, "select", [](const auto&) {});
  Buffer<EdgeOffset> row_ptr(std::size_t{a.nrows()} + 1, EdgeOffset{0}, device);
  parallel_chunks(device, a.nrows(), chunk, [&](Range rows) {
    for (auto i = static_cast<NodeId>(rows.begin); i < rows.end; ++i) {
      for (const NodeId j : a.row(i)) row_ptr[i] += keep(i, j) ? 1U : 0U;
    }
  });
  Buffer<NodeId> col_ind(static_cast<std::size_t>(exclusive_scan(device, row_ptr.span())), device);
  parallel_chunks(device, a.nrows(), chunk, [&](Range rows) {
    for (auto i = static_cast<NodeId>(rows.begin); i < rows.end; ++i) {
      EdgeOffset to = row_ptr[i];
      for (const NodeId j : a.row(i)) {
        if (keep(i, j)) col_ind[to++] = j;
      }
    }
  });
  return {a.nrows(), a.ncols(), std::move(row_ptr), std::move(col_ind)};
}

template <class Keep>
BitTileMatrix kept_entries(const BitTileMatrix& a, const Keep& keep) {
  return pack(kept_entries(unpack(a), keep), {.tile_dim = a.tile_dim()}, a.device());
}

std::int64_t diagonal_of(NodeId i, NodeId j) { return std::int64_t{j} - std::int64_t{i}; }

}  // namespace

template <class Graph>
Graph select(const Graph& a, const std::function<bool(NodeId i, NodeId j)>& keep) {
  return kept_entries(a, keep);
}

template <class Graph>
Graph tril(const Graph& a, std::int64_t diagonal) {
  return kept_entries(a, [=](NodeId i, NodeId j) { return diagonal_of(i, j) <= diagonal; });
}

template <class Graph>
Graph triu(const Graph& a, std::int64_t diagonal) {
  return kept_entries(a, [=](NodeId i, NodeId j) { return diagonal_of(i, j) >= diagonal; });
}

template <class Graph>
Graph on_diagonal(const Graph& a, std::int64_t diagonal) {
  return kept_entries(a, [=](NodeId i, NodeId j) { return diagonal_of(i, j) == diagonal; });
}

template <class Graph>
Graph off_diagonal(const Graph& a, std::int64_t diagonal) {
  return kept_entries(a, [=](NodeId i, NodeId j) { return diagonal_of(i, j) != diagonal; });
}

template CsrPattern select(const CsrPattern&, const std::function<bool(NodeId, NodeId)>&);
template BitTileMatrix select(const BitTileMatrix&, const std::function<bool(NodeId, NodeId)>&);
template CsrPattern tril(const CsrPattern&, std::int64_t);
template BitTileMatrix tril(const BitTileMatrix&, std::int64_t);
template CsrPattern triu(const CsrPattern&, std::int64_t);
template BitTileMatrix triu(const BitTileMatrix&, std::int64_t);
template CsrPattern on_diagonal(const CsrPattern&, std::int64_t);
template BitTileMatrix on_diagonal(const BitTileMatrix&, std::int64_t);
template CsrPattern off_diagonal(const CsrPattern&, std::int64_t);
template BitTileMatrix off_diagonal(const BitTileMatrix&, std::int64_t);

}  // namespace bitgraph
