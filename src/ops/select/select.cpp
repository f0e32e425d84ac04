// SPDX-License-Identifier: Apache-2.0
#include "ops/select/select.hpp"

#include "core/threads/parallel.hpp"

#include <bitgraph/ops/select.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace bitgraph {

namespace {

/// Of each row the entries for which keep(i, j) holds: counted, then written.
template <class Keep>
CsrPattern kept_entries(const CsrPattern& a, const Keep& keep) {
  constexpr std::size_t chunk = 1024;
  const Device& device = a.device();
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
  return {a.nrows(), a.ncols(), std::move(row_ptr), std::move(col_ind), trusted};
}

template <class Keep>
BitTileMatrix kept_entries(const BitTileMatrix& a, const Keep& keep) {
  return pack(kept_entries(unpack(a), keep), {.tile_dim = a.tile_dim()}, a.device());
}

template <class Host, class Graph>
Graph select_diagonals(const Host&, const Graph& a, const DiagonalRule& rule) {
  return kept_entries(a, rule);
}

template <class Graph>
Graph on_diagonals(const Graph& a, const DiagonalRule& rule) {
  return with_backend(a.device(), "select", [&](const auto& backend) { return select_diagonals(backend, a, rule); });
}

constexpr std::int64_t first_diagonal = std::numeric_limits<NodeId>::max() * std::int64_t{-2};
constexpr std::int64_t last_diagonal = std::numeric_limits<NodeId>::max() * std::int64_t{2};

/// So that nothing overflows.
DiagonalRule rule_of(std::int64_t lowest, std::int64_t highest, bool inside = true) {
  return {std::clamp(lowest, first_diagonal, last_diagonal), std::clamp(highest, first_diagonal, last_diagonal),
          inside};
}

}  // namespace

CsrPattern detail::entries_in(const CsrPattern& a, const BitVector& kept) {
  return with_cuda<CsrPattern>(a.device(), "select",
                               [&](const auto& cuda) { return bitgraph::entries_in(cuda, a, kept); });
}

BitTileMatrix detail::tiles_with(const BitTileMatrix& a, const Buffer<std::byte>& bits) {
  return with_cuda<BitTileMatrix>(a.device(), "select",
                                  [&](const auto& cuda) { return bitgraph::tiles_with(cuda, a, bits); });
}

template <class Graph>
Graph select(const Graph& a, const std::function<bool(NodeId i, NodeId j)>& keep) {
  if (!a.device().is_host()) {
    fail(ErrorCode::not_possible, fmt::format("{}: select: a function of the host runs on the host only, unless nvcc "
                                              "compiles the call",
                                              a.device().name()));
  }
  return kept_entries(a, keep);
}

template <class Graph>
Graph tril(const Graph& a, std::int64_t diagonal) {
  return on_diagonals(a, rule_of(first_diagonal, diagonal));
}

template <class Graph>
Graph triu(const Graph& a, std::int64_t diagonal) {
  return on_diagonals(a, rule_of(diagonal, last_diagonal));
}

template <class Graph>
Graph on_diagonal(const Graph& a, std::int64_t diagonal) {
  return on_diagonals(a, rule_of(diagonal, diagonal));
}

template <class Graph>
Graph off_diagonal(const Graph& a, std::int64_t diagonal) {
  return on_diagonals(a, rule_of(diagonal, diagonal, false));
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
