// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/core/kernel_loop.hpp>
#include <bitgraph/core/parallel_loop.hpp>
#include <bitgraph/formats/bit_tile_matrix.hpp>
#include <bitgraph/formats/bit_vector.hpp>
#include <bitgraph/formats/csr_pattern.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>

namespace bitgraph {

// Entries of a matrix by where they are. Graph is CsrPattern or BitTileMatrix; the result has the same format, and
// arrays exactly their size. Column j of row i lies on diagonal j - i. O(nvals); tiles go by way of pattern CSR on the
// host, and stay tiles on a CUDA device.

namespace detail {

/// The entries of `a` whose bit is set, by their place in col_ind, on a CUDA device. Waits for it.
[[nodiscard]] CsrPattern entries_in(const CsrPattern& a, const BitVector& kept);

/// `a` with other bits, on a CUDA device; tiles without any are left out. Waits for it.
[[nodiscard]] BitTileMatrix tiles_with(const BitTileMatrix& a, const Buffer<std::byte>& bits);

// Of select.cuh.
template <class Keep>
[[nodiscard]] CsrPattern select_on_device(const CsrPattern& a, const Keep& keep);
template <class Keep>
[[nodiscard]] BitTileMatrix select_on_device(const BitTileMatrix& a, const Keep& keep);
template <class T, class Keep>
void select_on_device(BitVector& kept, const Buffer<T>& x, const Keep& keep);

}  // namespace detail

/// The entries (i, j) for which keep(i, j) holds. keep is called twice an entry, from the device's threads. A matrix on
/// a CUDA device is refused, but in a file that nvcc compiles: see below.
template <class Graph>
[[nodiscard]] Graph select(const Graph& a, const std::function<bool(NodeId i, NodeId j)>& keep);

#ifdef __CUDACC__
/// The same for matrices everywhere. On a CUDA device keep is copied there and called once an entry: its operator() is
/// __host__ __device__, or constexpr with --expt-relaxed-constexpr; lambdas need --extended-lambda.
template <class Graph, class Keep>
requires std::is_same_v<Graph, CsrPattern> || std::is_same_v<Graph, BitTileMatrix>
[[nodiscard]] Graph select(const Graph& a, const Keep& keep) {
  if (!a.device().is_host()) return detail::select_on_device(a, keep);
  return select(a, std::function<bool(NodeId, NodeId)>(keep));
}
#endif

/// The lower triangle: the entries on `diagonal` and below it. tril(a, -1) leaves the main diagonal out.
template <class Graph>
[[nodiscard]] Graph tril(const Graph& a, std::int64_t diagonal = 0);

/// The upper triangle: the entries on `diagonal` and above it.
template <class Graph>
[[nodiscard]] Graph triu(const Graph& a, std::int64_t diagonal = 0);

/// The entries on a diagonal; those that are not.
template <class Graph>
[[nodiscard]] Graph on_diagonal(const Graph& a, std::int64_t diagonal = 0);
template <class Graph>
[[nodiscard]] Graph off_diagonal(const Graph& a, std::int64_t diagonal = 0);

/// The elements of a vector for which keep(value) holds, as a set. keep is called from the device's threads; on a CUDA
/// device it is as fn is for apply() (ops/apply.hpp). O(n).
template <class T, class Keep, bool with_kernels = detail::with_kernels>
[[nodiscard]] BitVector select(const Buffer<T>& x, Keep&& keep) {
  BitVector kept(x.size(), x.device());
  if constexpr (with_kernels) {
    if (!x.device().is_host()) {
      detail::select_on_device(kept, x, keep);
      return kept;
    }
  }
  parallel_loop(x.device(), kept.words().size(), 256, [&](std::size_t begin, std::size_t end) {
    for (std::size_t w = begin; w < end; ++w) {
      std::uint64_t word = 0;
      for (std::size_t i = w * 64; i < std::min(x.size(), w * 64 + 64); ++i) {
        word |= static_cast<std::uint64_t>(keep(x[i]) ? 1 : 0) << (i % 64);
      }
      kept.words()[w] = word;
    }
  });
  return kept;
}

}  // namespace bitgraph

#ifdef __CUDACC__
#include <bitgraph/ops/select.cuh>
#endif
