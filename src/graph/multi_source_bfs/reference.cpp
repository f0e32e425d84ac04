// SPDX-License-Identifier: Apache-2.0
// One search after the other, level by level over all rows.
#include "formats/graph_views.hpp"
#include "formats/rows.hpp"
#include "graph/multi_source_bfs/multi_source_bfs.hpp"

#include <algorithm>

namespace bitgraph {

template <class Graph>
void multi_source_bfs(const Reference&, const MultiSourceBfsArgs<Graph>& args) {
  const NodeId n = args.out.nrows;
  const auto has = [](const std::uint64_t* set, NodeId i) { return ((set[i / 64] >> (i % 64)) & 1U) != 0; };
  const auto put = [](std::uint64_t* set, NodeId i) { set[i / 64] |= std::uint64_t{1} << (i % 64); };
  const std::size_t words = (std::size_t{n} + 63) / 64;
  for (std::size_t s = 0; s < args.num_sources; ++s) {
    // Three sets of rows, in memory that is at least as large.
    std::uint64_t* seen = args.seen;
    std::uint64_t* front = args.front;
    std::uint64_t* next = args.next;
    std::fill_n(seen, words, std::uint64_t{0});
    std::fill_n(front, words, std::uint64_t{0});
    const NodeId source = args.new_id == nullptr ? args.sources[s] : args.new_id[args.sources[s]];
    put(seen, source);
    put(front, source);
    args.reached[s] = 0;
    for (std::int32_t depth = 0, any = 1; any != 0; ++depth) {
      any = 0;
      std::fill_n(next, words, std::uint64_t{0});
      for (NodeId i = 0; i < n; ++i) {
        if (!has(front, i)) continue;
        ++args.reached[s];
        args.eccentricity[s] = depth;
        if (args.sums != nullptr && depth != 0) args.sums[i].add(1, depth);
        if (args.level != nullptr) {
          args.level[std::size_t{args.old_id == nullptr ? i : args.old_id[i]} * args.level_stride + s] = depth;
        }
        for_each_entry(args.out, i, [&](NodeId j) {
          if (has(seen, j)) return;
          put(seen, j);
          put(next, j);
          any = 1;
        });
      }
      std::swap(front, next);
    }
  }
}

namespace {

[[gnu::used]] constexpr auto instances = for_types(GraphViews(), [](auto type) {
  using Graph = TypeOf<decltype(type)>;
  return static_cast<void (*)(const Reference&, const MultiSourceBfsArgs<Graph>&)>(&multi_source_bfs);
});

}  // namespace

}  // namespace bitgraph
