// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/core/error.hpp>
#include <bitgraph/core/parallel_loop.hpp>
#include <bitgraph/formats/bit_tile_matrix.hpp>
#include <bitgraph/formats/bit_vector.hpp>
#include <bitgraph/formats/csr_pattern.hpp>

#include <cstddef>
#include <span>
#include <string>

namespace bitgraph {

// Where the values lie on a CUDA device the result does too. Indices in a span are on the host, those in a Buffer where
// the values are: what indices_of gives. Those on a device are looked through there before they are used.

/// The elements of a set, in increasing order. O(n / 64 + elements).
[[nodiscard]] Buffer<NodeId> indices_of(const BitVector& set);

/// The set of those elements out of `size`, where the elements are. Throws usage where one is out of range.
/// O(n / 64 + elements).
[[nodiscard]] BitVector set_of(std::size_t size, std::span<const NodeId> elements);
[[nodiscard]] BitVector set_of(std::size_t size, const Buffer<NodeId>& elements);

namespace detail {

/// out(n) = x(indices(n)), values of `value_size` bytes, on a CUDA device. Throws usage for an index from `size` on.
void gather_values(const Device& device, void* out, const void* x, std::size_t size, std::size_t value_size,
                   const Buffer<NodeId>& indices);

/// The same for the elements of a set, which are in range.
void gather_elements(const Device& device, void* out, const void* x, std::size_t value_size,
                     const Buffer<NodeId>& elements);

}  // namespace detail

/// out(n) = x(indices(n)), in any order and any number of times. Throws usage where an index is out of range.
template <class T>
[[nodiscard]] Buffer<T> extract(const Buffer<T>& x, std::span<const NodeId> indices) {
  Buffer<T> out(indices.size(), x.device());
  if (!x.device().is_host()) {
    const Buffer<NodeId> there = Buffer<NodeId>::copy_of(indices, x.device());
    detail::gather_values(x.device(), out.data(), x.data(), x.size(), sizeof(T), there);
    return out;
  }
  parallel_loop(x.device(), indices.size(), 4096, [&](std::size_t begin, std::size_t end) {
    for (std::size_t n = begin; n < end; ++n) {
      if (indices[n] >= x.size()) {
        fail(ErrorCode::usage, "extract: index " + std::to_string(indices[n]) + " of a vector of " +
                                   std::to_string(x.size()) + " values");
      }
      out[n] = x[indices[n]];
    }
  });
  return out;
}
template <class T>
[[nodiscard]] Buffer<T> extract(const Buffer<T>& x, const Buffer<NodeId>& indices) {
  if (x.device().is_host() && indices.device().is_host()) return extract(x, indices.span());
  Buffer<T> out(indices.size(), x.device());
  detail::gather_values(x.device(), out.data(), x.data(), x.size(), sizeof(T), indices);
  return out;
}
[[nodiscard]] BitVector extract(const BitVector& x, std::span<const NodeId> indices);
[[nodiscard]] BitVector extract(const BitVector& x, const Buffer<NodeId>& indices);

/// The elements in the set, one after another. Throws usage where the sizes differ.
template <class T>
[[nodiscard]] Buffer<T> extract(const Buffer<T>& x, const BitVector& set) {
  if (set.size() != x.size()) {
    fail(ErrorCode::usage,
         "extract: a set out of " + std::to_string(set.size()) + " for " + std::to_string(x.size()) + " values");
  }
  const Buffer<NodeId> elements = indices_of(set);
  if (x.device().is_host() && elements.device().is_host()) return extract(x, elements.span());
  Buffer<T> out(elements.size(), x.device());
  detail::gather_elements(x.device(), out.data(), x.data(), sizeof(T), elements);
  return out;
}
[[nodiscard]] BitVector extract(const BitVector& x, const BitVector& set);

/// The submatrix of some rows and columns: entry (r, c) of the result is entry (rows(r), cols(c)) of A. A row may be
/// named any number of times, a column once. Graph is CsrPattern or BitTileMatrix; the result has the same format.
/// Throws usage for an index out of range and a column named twice. O(ncols + the entries of the rows, and a sort of
/// those of each row where the columns are not in increasing order); for tiles by way of pattern CSR.
template <class Graph>
[[nodiscard]] Graph extract(const Graph& a, std::span<const NodeId> rows, std::span<const NodeId> cols);
template <class Graph>
[[nodiscard]] Graph extract(const Graph& a, const Buffer<NodeId>& rows, const Buffer<NodeId>& cols);

/// The rows and columns in two sets: of a graph, with one set for both, the subgraph of some nodes.
template <class Graph>
[[nodiscard]] Graph extract(const Graph& a, const BitVector& rows, const BitVector& cols);

}  // namespace bitgraph
