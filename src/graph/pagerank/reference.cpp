// SPDX-License-Identifier: Apache-2.0
#include "formats/rows.hpp"
#include "graph/pagerank/pagerank.hpp"

#include <algorithm>
#include <cmath>

namespace bitgraph {

template <class Graph, class T>
void pagerank_step(const Reference&, const PageRankArgs<Graph, T>& args) {
  for (std::size_t block = 0; block * pagerank_block < args.in.nrows; ++block) {
    double change = 0;
    double stranded = 0;
    const std::size_t end = std::min<std::size_t>(args.in.nrows, (block + 1) * pagerank_block);
    for (std::size_t i = block * pagerank_block; i < end; ++i) {
      double sum = 0;
      for_each_entry(args.in, static_cast<NodeId>(i), [&](NodeId j) { sum += args.share[j]; });
      const T after = args.base + args.damping * static_cast<T>(sum);
      change += std::abs(after - args.rank[i]);
      if (args.inverse_degree[i] == 0) stranded += after;
      args.rank[i] = after;
      args.next_share[i] = after * args.inverse_degree[i];
    }
    args.partial[2 * block] = change;
    args.partial[2 * block + 1] = stranded;
  }
}

template void pagerank_step(const Reference&, const PageRankArgs<CsrPatternView, float>&);
template void pagerank_step(const Reference&, const PageRankArgs<CsrPatternView, double>&);
template void pagerank_step(const Reference&, const PageRankArgs<BitTileView<4>, float>&);
template void pagerank_step(const Reference&, const PageRankArgs<BitTileView<4>, double>&);
template void pagerank_step(const Reference&, const PageRankArgs<BitTileView<8>, float>&);
template void pagerank_step(const Reference&, const PageRankArgs<BitTileView<8>, double>&);
template void pagerank_step(const Reference&, const PageRankArgs<BitTileView<16>, float>&);
template void pagerank_step(const Reference&, const PageRankArgs<BitTileView<16>, double>&);
template void pagerank_step(const Reference&, const PageRankArgs<BitTileView<32>, float>&);
template void pagerank_step(const Reference&, const PageRankArgs<BitTileView<32>, double>&);
template void pagerank_step(const Reference&, const PageRankArgs<BitTileView<64>, float>&);
template void pagerank_step(const Reference&, const PageRankArgs<BitTileView<64>, double>&);

}  // namespace bitgraph
