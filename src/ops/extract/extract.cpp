// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/ops/extract.hpp>

#include "core/backend.hpp"
#include "core/parallel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace bitgraph {

namespace {

constexpr NodeId not_wanted = ~NodeId{0};

void require_host(const Device& device) {
  with_host_backend(device, "extract", [](const auto&) {});
}

void check_indices(std::span<const NodeId> indices, std::size_t size, const char* what) {
  for (const NodeId index : indices) {
    if (index >= size) fail(ErrorCode::usage, fmt::format("extract: index {} of {} {}", index, size, what));
  }
}

void check_set(const BitVector& set, std::size_t size, const char* what) {
  if (set.size() != size)
    fail(ErrorCode::usage, fmt::format("extract: a set out of {} for {} {}", set.size(), size, what));
}

/// Where each column of A goes.
Buffer<NodeId> places_of(std::span<const NodeId> cols, NodeId ncols, const Device& device) {
  check_indices(cols, ncols, "columns");
  Buffer<NodeId> places(ncols, not_wanted, device);
  for (std::size_t c = 0; c < cols.size(); ++c) {
    if (places[cols[c]] != not_wanted)
      fail(ErrorCode::usage, fmt::format("extract: column {} is named twice", cols[c]));
    places[cols[c]] = static_cast<NodeId>(c);
  }
  return places;
}

CsrPattern submatrix(const CsrPattern& a, std::span<const NodeId> rows, std::span<const NodeId> cols) {
  constexpr std::size_t chunk = 512;
  const Device& device = a.device();
  check_indices(rows, a.nrows(), "rows");
  const Buffer<NodeId> places = places_of(cols, a.ncols(), device);
  const bool in_order = std::is_sorted(cols.begin(), cols.end());
  Buffer<EdgeOffset> row_ptr(rows.size() + 1, EdgeOffset{0}, device);
  parallel_chunks(device, rows.size(), chunk, [&](Range range) {
    for (std::size_t r = range.begin; r < range.end; ++r) {
      for (const NodeId j : a.row(rows[r])) row_ptr[r] += places[j] != not_wanted ? 1U : 0U;
    }
  });
  Buffer<NodeId> col_ind(static_cast<std::size_t>(exclusive_scan(device, row_ptr.span())), device);
  parallel_chunks(device, rows.size(), chunk, [&](Range range) {
    for (std::size_t r = range.begin; r < range.end; ++r) {
      NodeId* to = col_ind.data() + row_ptr[r];
      for (const NodeId j : a.row(rows[r])) {
        if (places[j] != not_wanted) *to++ = places[j];
      }
      if (!in_order) std::sort(col_ind.data() + row_ptr[r], to);
    }
  });
  return {static_cast<NodeId>(rows.size()), static_cast<NodeId>(cols.size()), std::move(row_ptr), std::move(col_ind)};
}

BitTileMatrix submatrix(const BitTileMatrix& a, std::span<const NodeId> rows, std::span<const NodeId> cols) {
  return pack(submatrix(unpack(a), rows, cols), {.tile_dim = a.tile_dim()}, a.device());
}

}  // namespace

Buffer<NodeId> indices_of(const BitVector& set) {
  require_host(set.device());
  const auto words = set.words();
  Buffer<NodeId> starts(words.size(), set.device());
  for (std::size_t w = 0; w < words.size(); ++w) starts[w] = static_cast<NodeId>(std::popcount(words[w]));
  Buffer<NodeId> indices(exclusive_scan(set.device(), starts.span()), set.device());
  parallel_for(set.device(), words.size(), 4096, [&](std::size_t w) {
    NodeId* to = indices.data() + starts[w];
    for (std::uint64_t bits = words[w]; bits != 0; bits &= bits - 1) {
      *to++ = static_cast<NodeId>(w * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
    }
  });
  return indices;
}

BitVector set_of(std::size_t size, std::span<const NodeId> elements, const Device& device) {
  require_host(device);
  check_indices(elements, size, "elements");
  BitVector set(size, device);
  for (const NodeId element : elements) set.set_bit(element, true);
  return set;
}

BitVector extract(const BitVector& x, std::span<const NodeId> indices) {
  require_host(x.device());
  check_indices(indices, x.size(), "bits");
  BitVector out(indices.size(), x.device());
  parallel_for(x.device(), out.words().size(), 512, [&](std::size_t w) {
    std::uint64_t word = 0;
    for (std::size_t n = w * 64; n < std::min(indices.size(), w * 64 + 64); ++n) {
      word |= std::uint64_t{x.bit(indices[n])} << (n % 64);
    }
    out.words()[w] = word;
  });
  return out;
}

BitVector extract(const BitVector& x, const BitVector& set) {
  check_set(set, x.size(), "bits");
  const Buffer<NodeId> indices = indices_of(set);
  return extract(x, indices.span());
}

template <class Graph>
Graph extract(const Graph& a, std::span<const NodeId> rows, std::span<const NodeId> cols) {
  require_host(a.device());
  return submatrix(a, rows, cols);
}

template <class Graph>
Graph extract(const Graph& a, const BitVector& rows, const BitVector& cols) {
  check_set(rows, a.nrows(), "rows");
  check_set(cols, a.ncols(), "columns");
  const Buffer<NodeId> wanted_rows = indices_of(rows);
  const Buffer<NodeId> wanted_cols = indices_of(cols);
  return submatrix(a, wanted_rows.span(), wanted_cols.span());
}

template CsrPattern extract(const CsrPattern&, std::span<const NodeId>, std::span<const NodeId>);
template BitTileMatrix extract(const BitTileMatrix&, std::span<const NodeId>, std::span<const NodeId>);
template CsrPattern extract(const CsrPattern&, const BitVector&, const BitVector&);
template BitTileMatrix extract(const BitTileMatrix&, const BitVector&, const BitVector&);

}  // namespace bitgraph
