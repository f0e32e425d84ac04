// SPDX-License-Identifier: Apache-2.0
// Gustavson's algorithm: a row of the product is gathered from the rows of B that the row of A names.
#include "ops/mxm/mxm.hpp"

#include "core/threads/thread_chunks.hpp"
#include "formats/rows.hpp"
#include "ops/mxm/column_set.hpp"
#include "ops/mxm/cpu/kernels.hpp"
#include "ops/mxm/instances.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <type_traits>

namespace bitgraph {

namespace {

/// One thread's share of the workspace.
class Gatherer {
 public:
  Gatherer(const ProductWorkspace& shared, std::size_t number, std::size_t ncols)
      : set_(ncols, shared.words + number * shared.words_each),
        marks_(shared.words + number * shared.words_each + shared.set_words),
        counts_(shared.counts == nullptr ? nullptr : shared.counts + number * shared.counts_each),
        keys_(shared.keys == nullptr ? nullptr : shared.keys + number * shared.counts_each) {}

  [[nodiscard]] ColumnSet& set() noexcept { return set_; }
  [[nodiscard]] bool marked(NodeId j) const noexcept { return ((marks_[j / 64] >> (j % 64)) & 1U) != 0; }
  void flip_mark(NodeId j) noexcept { marks_[j / 64] ^= std::uint64_t{1} << (j % 64); }

  /// For a row of the product with `size` entries: of a hashed table as much as it needs.
  void begin_counts(std::size_t size) noexcept { last_place_ = std::bit_ceil(2 * size) - 1; }
  void count(NodeId j) noexcept { ++counts_[place_of(j)]; }

  /// The count of a column, which is forgotten.
  std::uint32_t take_count(NodeId j) noexcept {
    std::uint32_t& count = counts_[place_of(j)];
    const std::uint32_t value = count;
    if (keys_ == nullptr) count = 0;
    return value;
  }

  /// A direct table is empty already; of a hashed one, places may not be freed one by one.
  void end_counts() noexcept {
    if (keys_ != nullptr) std::fill_n(counts_, last_place_ + 1, 0U);
  }

 private:
  /// A place whose count is 0 is free. There are at least twice as many places as columns in a row.
  std::size_t place_of(NodeId j) const noexcept {
    if (keys_ == nullptr) return j;
    std::size_t place = (j * std::size_t{0x9E3779B1U} >> 8) & last_place_;
    while (counts_[place] != 0 && keys_[place] != j) place = (place + 1) & last_place_;
    keys_[place] = j;
    return place;
  }

  ColumnSet set_;
  std::uint64_t* marks_;
  std::uint32_t* counts_;
  NodeId* keys_;
  std::size_t last_place_ = 0;
};

/// fn(j) for every product a(i, k) b(k, j) that the mask lets through.
template <class Graph, class Fn>
void for_each_product(const ProductArgs<Graph>& args, Gatherer& gatherer, NodeId i, Fn&& fn) {
  const auto flip_mask_row = [&] { for_each_entry(args.mask, i, [&](NodeId j) { gatherer.flip_mark(j); }); };
  if (args.mask_use == MaskUse::none) {
    for_each_entry(args.a, i, [&](NodeId k) { for_each_entry(args.b, k, fn); });
    return;
  }
  const bool inside = args.mask_use == MaskUse::inside;
  flip_mask_row();
  for_each_entry(args.a, i, [&](NodeId k) {
    for_each_entry(args.b, k, [&](NodeId j) {
      if (gatherer.marked(j) == inside) fn(j);
    });
  });
  flip_mask_row();
}

/// fn(gatherer, i) for every row.
template <class Graph, class Fn>
void for_each_gathered_row(const Cpu& backend, const ProductArgs<Graph>& args, Fn&& fn) {
  for_chunks_of_threads(backend.device, args.a.nrows, product_chunk, [&](std::size_t workspace, Range rows) {
    Gatherer gatherer(args.workspace, workspace, args.b.ncols);
    for (std::size_t i = rows.begin; i < rows.end; ++i) fn(gatherer, static_cast<NodeId>(i));
  });
}

}  // namespace

template <class Graph>
void product_sizes(const Cpu& backend, const ProductArgs<Graph>& args, EdgeOffset* sizes) {
  for_each_gathered_row(backend, args, [&](Gatherer& gatherer, NodeId i) {
    EdgeOffset size = 0;
    for_each_product(args, gatherer, i, [&](NodeId j) { size += gatherer.set().insert(j) ? 1U : 0U; });
    gatherer.set().drain([](std::size_t) {});
    sizes[i] = size;
  });
}

template <class Graph>
void product_fill(const Cpu& backend, const ProductArgs<Graph>& args, const ProductOut& out) {
  for_each_gathered_row(backend, args, [&](Gatherer& gatherer, NodeId i) {
    EdgeOffset to = out.row_ptr[i];
    if (to == out.row_ptr[i + 1]) return;
    if (out.counts == nullptr) {
      for_each_product(args, gatherer, i, [&](NodeId j) { gatherer.set().insert(j); });
      gatherer.set().drain([&](std::size_t j) { out.col_ind[to++] = static_cast<NodeId>(j); });
      return;
    }
    gatherer.begin_counts(static_cast<std::size_t>(out.row_ptr[i + 1] - to));
    for_each_product(args, gatherer, i, [&](NodeId j) {
      gatherer.set().insert(j);
      gatherer.count(j);
    });
    gatherer.set().drain([&](std::size_t j) {
      out.col_ind[to] = static_cast<NodeId>(j);
      out.counts[to++] = gatherer.take_count(static_cast<NodeId>(j));
    });
    gatherer.end_counts();
  });
}

template <class Graph>
std::uint64_t masked_sum(const Cpu& backend, const MaskedSumArgs<Graph>& args) {
  std::size_t n = args.mask.nrows;
  if constexpr (!std::is_same_v<Graph, CsrPatternView>) n = args.mask.num_tile_rows;
  std::atomic<std::uint64_t> total{0};
  for_chunks_of_threads(backend.device, n, masked_sum_chunk, [&](std::size_t workspace, Range rows) {
    total += mxm_cpu::sum_rows(args, rows.begin, rows.end, workspace);
  });
  return total;
}

[[gnu::used]] constexpr auto mxm_cpu_sums = masked_sum_kernels<Cpu>();
[[gnu::used]] constexpr auto mxm_cpu_products = product_kernels<Cpu>(Types<CsrPatternView>());

}  // namespace bitgraph
