// SPDX-License-Identifier: Apache-2.0
#include "core/threads/parallel.hpp"
#include "formats/graph_views.hpp"
#include "formats/rows.hpp"
#include "graph/components/components.hpp"

#include <algorithm>
#include <array>
#include <atomic>

namespace bitgraph {

namespace {

constexpr std::size_t grain = std::size_t{1} << 12;
constexpr std::size_t chunk = std::size_t{1} << 10;
constexpr std::size_t sample_size = 1024;
constexpr NodeId no_entry = ~NodeId{0};

/// Column of entry `n` of row i; no_entry where the row is shorter.
NodeId entry(const CsrPatternView& a, NodeId i, std::size_t n) {
  const EdgeOffset e = a.row_ptr[i] + n;
  return e < a.row_ptr[i + 1] ? a.col_ind[e] : no_entry;
}

template <int K>
NodeId entry(const BitTileView<K>& a, NodeId i, std::size_t n) {
  const NodeId tile_row = i / K;
  for (EdgeOffset t = a.tile_row_ptr[tile_row]; t < a.tile_row_ptr[tile_row + 1]; ++t) {
    std::uint64_t bits = a.tile_row(t, static_cast<int>(i % K));
    for (; bits != 0 && n != 0; --n) bits &= bits - 1;
    if (bits != 0) return a.tile_col_ind[t] * K + static_cast<NodeId>(std::countr_zero(bits));
  }
  return no_entry;
}

/// A forest of rows that threads join trees of: every row points to a smaller one or, a root, to itself.
class Forest {
 public:
  explicit Forest(NodeId* parent) : parent_(parent) {}

  [[nodiscard]] NodeId get(NodeId i) const { return at(i).load(std::memory_order_relaxed); }
  void set(NodeId i, NodeId parent) { at(i).store(parent, std::memory_order_relaxed); }

  /// The root of a row's tree. Rows on the way come to point past their parents: chains of roots that were joined one
  /// to the other are walked once.
  NodeId find(NodeId i) {
    NodeId above = get(i);
    for (NodeId next = get(above); next != above; next = get(above)) {
      set(i, next);
      i = above;
      above = next;
    }
    return above;
  }

  /// Joins the trees of two rows.
  void link(NodeId i, NodeId j) {
    for (;;) {
      const NodeId x = find(i);
      const NodeId y = find(j);
      if (x == y) return;
      const NodeId high = std::max(x, y);
      NodeId expected = high;  // still a root
      if (at(high).compare_exchange_strong(expected, std::min(x, y), std::memory_order_relaxed)) return;
    }
  }

  /// Makes row i point to its root, and returns it.
  NodeId compress(NodeId i) {
    const NodeId before = get(i);
    NodeId root = before;
    for (NodeId above = get(root); above != root; above = get(root)) root = above;
    if (root != before) set(i, root);
    return root;
  }

 private:
  [[nodiscard]] std::atomic_ref<NodeId> at(NodeId i) const { return std::atomic_ref<NodeId>(parent_[i]); }
  NodeId* parent_;
};

/// Every row points to its smallest neighbour where that is smaller. In a thread's own part of the rows the neighbour's
/// parent is known already and taken instead, so that trees stay a few rows high however long the graph's paths are.
template <class Graph>
void link_first(const Device& device, const Graph& a, Forest& forest) {
  parallel_ranges(device, a.nrows, grain, [&](Range range) {
    const auto begin = static_cast<NodeId>(range.begin);
    for (NodeId i = begin; i < range.end; ++i) {
      const NodeId first = entry(a, i, 0);
      forest.set(i, first >= i ? i : first >= begin ? forest.get(first) : first);
    }
  });
}

void compress_all(const Device& device, NodeId n, Forest& forest) {
  parallel_ranges(device, n, grain, [&](Range range) {
    for (std::size_t i = range.begin; i < range.end; ++i) forest.compress(static_cast<NodeId>(i));
  });
}

struct Sampled {
  NodeId root = no_entry;
  std::size_t share = 0;  // of sample_size
};

/// The root that most of an even sample of the rows have.
Sampled most_frequent(NodeId n, Forest& forest) {
  std::array<NodeId, sample_size> roots{};
  for (std::size_t s = 0; s < sample_size; ++s) roots[s] = forest.compress(static_cast<NodeId>(n * s / sample_size));
  std::sort(roots.begin(), roots.end());
  Sampled best;
  for (std::size_t s = 0; s < sample_size;) {
    const std::size_t first = s;
    while (s < sample_size && roots[s] == roots[first]) ++s;
    if (s - first > best.share) best = {roots[first], s - first};
  }
  return best;
}

/// All entries of the rows outside the largest component, both ways where the directions differ: an entry between the
/// two is seen from the row that is outside.
template <class Graph>
void link_rest(const Device& device, const ComponentsArgs<Graph>& args, NodeId largest, Forest& forest) {
  parallel_chunks(device, args.out.nrows, chunk, [&](Range range) {
    for (auto i = static_cast<NodeId>(range.begin); i < range.end; ++i) {
      if (forest.compress(i) == largest) continue;
      const auto link = [&](NodeId j) { forest.link(i, j); };
      for_each_entry(args.out, i, link);
      if (!args.symmetric && args.has_in) for_each_entry(args.in, i, link);
    }
  });
}

}  // namespace

template <class Graph>
NodeId components(const Cpu& backend, const ComponentsArgs<Graph>& args) {
  const Device& device = backend.device;
  const NodeId n = args.out.nrows;
  if (n == 0) return 0;
  Forest forest(args.parent);
  link_first(device, args.out, forest);
  // Where the smallest neighbours do not make one component of nearly all rows yet, the second ones do.
  constexpr std::size_t nearly_all = sample_size * 9 / 10;
  Sampled largest = most_frequent(n, forest);
  if (largest.share < nearly_all) {
    parallel_ranges(device, n, grain, [&](Range range) {
      for (auto i = static_cast<NodeId>(range.begin); i < range.end; ++i) {
        if (const NodeId second = entry(args.out, i, 1); second != no_entry) forest.link(i, second);
      }
    });
    compress_all(device, n, forest);
    largest = most_frequent(n, forest);
  }
  if (!args.symmetric && !args.has_in) largest.root = no_entry;  // edges into the rows left out would be lost
  link_rest(device, args, largest.root, forest);

  std::atomic<NodeId> count{0};
  parallel_ranges(device, n, grain, [&](Range range) {
    NodeId roots = 0;
    for (auto i = static_cast<NodeId>(range.begin); i < range.end; ++i) roots += forest.compress(i) == i ? 1 : 0;
    count += roots;
  });
  return count;
}

namespace {

[[gnu::used]] constexpr auto instances = for_types(GraphViews(), [](auto type) {
  using Graph = TypeOf<decltype(type)>;
  return static_cast<NodeId (*)(const Cpu&, const ComponentsArgs<Graph>&)>(&components);
});

}  // namespace

}  // namespace bitgraph
