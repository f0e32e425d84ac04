// SPDX-License-Identifier: Apache-2.0
#include "graph/pagerank/cpu.hpp"

#include "core/parallel.hpp"

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

template void pagerank_step(const Cpu&, const PageRankArgs<CsrPatternView, float>&);
template void pagerank_step(const Cpu&, const PageRankArgs<CsrPatternView, double>&);
template void pagerank_step(const Cpu&, const PageRankArgs<BitTileView<4>, float>&);
template void pagerank_step(const Cpu&, const PageRankArgs<BitTileView<4>, double>&);
template void pagerank_step(const Cpu&, const PageRankArgs<BitTileView<8>, float>&);
template void pagerank_step(const Cpu&, const PageRankArgs<BitTileView<8>, double>&);
template void pagerank_step(const Cpu&, const PageRankArgs<BitTileView<16>, float>&);
template void pagerank_step(const Cpu&, const PageRankArgs<BitTileView<16>, double>&);
template void pagerank_step(const Cpu&, const PageRankArgs<BitTileView<32>, float>&);
template void pagerank_step(const Cpu&, const PageRankArgs<BitTileView<32>, double>&);
template void pagerank_step(const Cpu&, const PageRankArgs<BitTileView<64>, float>&);
template void pagerank_step(const Cpu&, const PageRankArgs<BitTileView<64>, double>&);

}  // namespace bitgraph
