// SPDX-License-Identifier: Apache-2.0
#include "graph/pagerank/cpu.hpp"
#include "formats/graph_views.hpp"

#include "core/threads/parallel.hpp"

namespace bitgraph {

template <class Graph, class T>
void pagerank_step(const Cpu& backend, const PageRankArgs<Graph, T>& args) {
  const PageRankArgs<pagerank_cpu::Matrix, T> plain{pagerank_cpu::matrix_of(args.in),
                                                    args.base,
                                                    args.damping,
                                                    args.inverse_degree,
                                                    args.share,
                                                    args.next_share,
                                                    args.rank,
                                                    args.partial};
  const std::size_t blocks = (std::size_t{args.in.nrows} + pagerank_block - 1) / pagerank_block;
  parallel_chunks(backend.device, blocks, 4,
                  [&](Range range) { pagerank_cpu::step_blocks(plain, range.begin, range.end); });
}

namespace {

[[gnu::used]] constexpr auto instances = for_types(GraphViews(), [](auto type) {
  using Graph = TypeOf<decltype(type)>;
  return instances_of(static_cast<void (*)(const Cpu&, const PageRankArgs<Graph, float>&)>(&pagerank_step),
                      static_cast<void (*)(const Cpu&, const PageRankArgs<Graph, double>&)>(&pagerank_step));
});

}  // namespace

}  // namespace bitgraph
