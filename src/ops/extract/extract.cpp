// SPDX-License-Identifier: Apache-2.0
#include "ops/extract/extract.hpp"

#include "core/threads/parallel.hpp"

#include <bitgraph/ops/extract.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace bitgraph {

namespace {

constexpr NodeId not_wanted = ~NodeId{0};

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
  return {static_cast<NodeId>(rows.size()), static_cast<NodeId>(cols.size()), std::move(row_ptr), std::move(col_ind),
          trusted};
}

// Templates on the backend, so that a build without CUDA kernels leaves them out.

/// Indices on a CUDA device are looked through there.
template <class Backend>
void check_indices(const Backend& cuda, const Buffer<NodeId>& indices, std::size_t size, const char* what) {
  const std::size_t place = first_beyond(cuda, indices, size);
  if (place == indices.size()) return;
  NodeId index = 0;
  Device::copy(&index, Device{}, indices.data() + place, indices.device(), sizeof(index));
  fail(ErrorCode::usage, fmt::format("extract: index {} of {} {}", index, size, what));
}

template <class Backend>
CsrPattern submatrix(const Backend& cuda, const CsrPattern& a, const Buffer<NodeId>& rows, const Buffer<NodeId>& cols) {
  check_indices(cuda, rows, a.nrows(), "rows");
  check_indices(cuda, cols, a.ncols(), "columns");
  const ColumnPlaces places = places_of(cuda, cols, a.ncols());
  if (places.repeated != cols.size()) {
    NodeId column = 0;
    Device::copy(&column, Device{}, cols.data() + places.repeated, cols.device(), sizeof(column));
    fail(ErrorCode::usage, fmt::format("extract: column {} is named twice", column));
  }
  return submatrix(cuda, a, rows, static_cast<NodeId>(cols.size()), places);
}

void check_place(const Device& device, const Buffer<NodeId>& indices) {
  require_same_stream("extract", "what is taken from", device, "the indices", indices.device());
}

CsrPattern submatrix(const CsrPattern& a, const Buffer<NodeId>& rows, const Buffer<NodeId>& cols) {
  check_place(a.device(), rows);
  check_place(a.device(), cols);
  if (a.device().is_host()) return submatrix(a, rows.span(), cols.span());
  return with_cuda<CsrPattern>(a.device(), "extract", [&](const auto& cuda) { return submatrix(cuda, a, rows, cols); });
}

/// The elements of a set: in range, each once, in rising order.
struct Elements {
  Buffer<NodeId> indices;
};

CsrPattern submatrix(const CsrPattern& a, const Elements& rows, const Elements& cols) {
  check_place(a.device(), rows.indices);
  check_place(a.device(), cols.indices);
  if (a.device().is_host()) return submatrix(a, rows.indices.span(), cols.indices.span());
  return with_cuda<CsrPattern>(a.device(), "extract", [&](const auto& cuda) {
    return submatrix(cuda, a, rows.indices, static_cast<NodeId>(cols.indices.size()),
                     places_of_elements(cuda, cols.indices, a.ncols()));
  });
}

template <class Indices>
BitTileMatrix submatrix(const BitTileMatrix& a, const Indices& rows, const Indices& cols) {
  return pack(submatrix(unpack(a), rows, cols), {.tile_dim = a.tile_dim()}, a.device());
}

}  // namespace

Buffer<NodeId> indices_of(const BitVector& set) {
  if (!set.device().is_host()) {
    return with_cuda<Buffer<NodeId>>(set.device(), "extract", [&](const auto& cuda) { return indices_of(cuda, set); });
  }
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

BitVector set_of(std::size_t size, std::span<const NodeId> elements) {
  check_indices(elements, size, "elements");
  BitVector set(size);
  for (const NodeId element : elements) set.set_bit(element, true);
  return set;
}

BitVector set_of(std::size_t size, const Buffer<NodeId>& elements) {
  if (elements.device().is_host()) return set_of(size, elements.span());
  BitVector set(size, elements.device());
  with_cuda(elements.device(), "extract", [&](const auto& cuda) {
    check_indices(cuda, elements, size, "elements");
    set_bits(cuda, set, elements);
  });
  return set;
}

void detail::gather_values(const Device& device, void* out, const void* x, std::size_t size, std::size_t value_size,
                           const Buffer<NodeId>& indices) {
  check_place(device, indices);
  with_cuda(device, "extract", [&](const auto& cuda) {
    check_indices(cuda, indices, size, "values");
    bitgraph::gather_values(cuda, out, x, value_size, indices);
  });
}

void detail::gather_elements(const Device& device, void* out, const void* x, std::size_t value_size,
                             const Buffer<NodeId>& elements) {
  check_place(device, elements);
  with_cuda(device, "extract", [&](const auto& cuda) { bitgraph::gather_values(cuda, out, x, value_size, elements); });
}

BitVector extract(const BitVector& x, std::span<const NodeId> indices) {
  if (!x.device().is_host()) return extract(x, Buffer<NodeId>::copy_of(indices, x.device()));
  check_indices(indices, x.size(), "bits");
  BitVector out(indices.size(), x.device());
  parallel_for(x.device(), out.words().size(), 512, [&, bits = x.view()](std::size_t w) {
    std::uint64_t word = 0;
    for (std::size_t n = w * 64; n < std::min(indices.size(), w * 64 + 64); ++n) {
      word |= std::uint64_t{bits.bit(indices[n])} << (n % 64);
    }
    out.words()[w] = word;
  });
  return out;
}

BitVector extract(const BitVector& x, const Buffer<NodeId>& indices) {
  check_place(x.device(), indices);
  if (x.device().is_host()) return extract(x, indices.span());
  BitVector out(indices.size(), x.device());
  with_cuda(x.device(), "extract", [&](const auto& cuda) {
    check_indices(cuda, indices, x.size(), "bits");
    gather_bits(cuda, out, x, indices);
  });
  return out;
}

BitVector extract(const BitVector& x, const BitVector& set) {
  check_set(set, x.size(), "bits");
  return extract(x, indices_of(set));
}

template <class Graph>
Graph extract(const Graph& a, std::span<const NodeId> rows, std::span<const NodeId> cols) {
  if (!a.device().is_host()) {
    return submatrix(a, Buffer<NodeId>::copy_of(rows, a.device()), Buffer<NodeId>::copy_of(cols, a.device()));
  }
  return submatrix(a, rows, cols);
}

template <class Graph>
Graph extract(const Graph& a, const Buffer<NodeId>& rows, const Buffer<NodeId>& cols) {
  return submatrix(a, rows, cols);
}

template <class Graph>
Graph extract(const Graph& a, const BitVector& rows, const BitVector& cols) {
  check_set(rows, a.nrows(), "rows");
  check_set(cols, a.ncols(), "columns");
  return submatrix(a, Elements{indices_of(rows)}, Elements{indices_of(cols)});
}

template CsrPattern extract(const CsrPattern&, std::span<const NodeId>, std::span<const NodeId>);
template BitTileMatrix extract(const BitTileMatrix&, std::span<const NodeId>, std::span<const NodeId>);
template CsrPattern extract(const CsrPattern&, const Buffer<NodeId>&, const Buffer<NodeId>&);
template BitTileMatrix extract(const BitTileMatrix&, const Buffer<NodeId>&, const Buffer<NodeId>&);
template CsrPattern extract(const CsrPattern&, const BitVector&, const BitVector&);
template BitTileMatrix extract(const BitTileMatrix&, const BitVector&, const BitVector&);

}  // namespace bitgraph
