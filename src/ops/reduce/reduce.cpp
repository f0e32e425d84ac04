// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce/reduce.hpp"
#include "ops/reduce/instances.hpp"

#include "core/threads/parallel.hpp"
#include "formats/rows.hpp"

#include <bitgraph/ops/reduce.hpp>

#include <algorithm>
#include <atomic>
#include <bit>

namespace bitgraph {

namespace {

/// Words, and rows, that are worth a thread.
constexpr std::size_t word_grain = std::size_t{1} << 14;
constexpr std::size_t row_grain = 4096;

template <class Fn>
auto with_any_view(const CsrPattern& a, Fn&& fn) {
  return fn(a.view());
}
template <class Fn>
auto with_any_view(const BitTileMatrix& a, Fn&& fn) {
  return with_tile_dim(a.tile_dim(), [&](auto k) { return fn(a.view<k()>()); });
}

NodeId entries_of(const CsrPatternView& a, NodeId i) { return static_cast<NodeId>(a.row(i).size()); }

template <int K>
NodeId entries_of(const BitTileView<K>& a, NodeId i) {
  int entries = 0;
  for (EdgeOffset t = a.tile_row_ptr[i / K]; t < a.tile_row_ptr[i / K + 1]; ++t) {
    entries += std::popcount(a.tile_row(t, static_cast<int>(i % K)));
  }
  return static_cast<NodeId>(entries);
}

/// The host's loops; kernels are in cuda.cu.
template <class Host, class Graph>
void row_sums(const Host&, const Graph& a, Buffer<NodeId>& sums) {
  with_any_view(a, [&](const auto& view) {
    parallel_for(a.device(), a.nrows(), row_grain,
                 [&](std::size_t i) { sums[i] = entries_of(view, static_cast<NodeId>(i)); });
  });
}

template <class Host, class Graph>
void column_sums(const Host&, const Graph& a, Buffer<NodeId>& sums) {
  sums.fill(0);
  with_any_view(a, [&](const auto& view) {
    parallel_chunks(a.device(), a.nrows(), row_grain, [&](Range rows) {
      for (std::size_t i = rows.begin; i < rows.end; ++i) {
        for_each_entry(view, static_cast<NodeId>(i),
                       [&](NodeId j) { std::atomic_ref<NodeId>(sums[j]).fetch_add(1, std::memory_order_relaxed); });
      }
    });
  });
}

}  // namespace

std::size_t count_bits(const Reference&, const BitsArgs& args) {
  std::size_t sum = 0;
  for (std::size_t w = 0; w < args.num_words; ++w) {
    for (std::size_t b = 0; b < 64; ++b) sum += (args.words[w] >> b) & 1U;
  }
  return sum;
}

std::size_t count_bits(const Cpu& backend, const BitsArgs& args) {
  std::atomic<std::size_t> total{0};
  parallel_chunks(backend.device, args.num_words, word_grain,
                  [&](Range words) { total += reduce_cpu::count_words(args.words + words.begin, words.size()); });
  return total;
}

std::size_t count(const BitVector& x) {
  const BitsArgs args{x.words().data(), x.words().size()};
  return with_backend(x.device(), "count", [&](const auto& backend) { return count_bits(backend, args); });
}

bool any(const BitVector& x) {
  if (!x.device().is_host()) return count(x) != 0;
  return std::any_of(x.words().begin(), x.words().end(), [](std::uint64_t word) { return word != 0; });
}

template <class Graph>
Buffer<NodeId> row_sums(const Graph& a) {
  Buffer<NodeId> sums(a.nrows(), a.device());
  with_backend(a.device(), "row_sums", [&](const auto& backend) { row_sums(backend, a, sums); });
  return sums;
}

template <class Graph>
Buffer<NodeId> column_sums(const Graph& a) {
  Buffer<NodeId> sums(a.ncols(), a.device());
  with_backend(a.device(), "column_sums", [&](const auto& backend) { column_sums(backend, a, sums); });
  return sums;
}

template <detail::LibraryMonoid Monoid, detail::KernelValue T>
T detail::reduce_values(const Buffer<T>& x) {
  return with_cuda<T>(x.device(), "reduce", [&](const auto& cuda) { return bitgraph::reduce_values<Monoid>(cuda, x); });
}

template Buffer<NodeId> row_sums(const CsrPattern&);
template Buffer<NodeId> row_sums(const BitTileMatrix&);
template Buffer<NodeId> column_sums(const CsrPattern&);
template Buffer<NodeId> column_sums(const BitTileMatrix&);

namespace {

[[gnu::used]] constexpr auto instances = for_reduced_types(
    [](auto monoid, auto type) { return &detail::reduce_values<TypeOf<decltype(monoid)>, TypeOf<decltype(type)>>; });

}  // namespace

}  // namespace bitgraph
