// SPDX-License-Identifier: Apache-2.0
// The majority vote of every node's neighbours: bits in, bits out. Shows the graph formats and when each one pays.
#include <bitgraph/bitgraph.hpp>

#include <cstdio>

int main() {
  using namespace bitgraph;
  const Device device = Device::host(2);
  const CsrPattern graph = generate_rmat(12, 16, /*seed=*/1, device);

  // 128 features a node, the signs of some floats: one bit each.
  DenseMatrix<float> x(graph.nrows(), 128, device);
  for (std::size_t i = 0; i < x.nrows(); ++i) {
    for (std::size_t f = 0; f < x.ncols(); ++f) x(i, f) = (i * 31 + f * 17) % 7 < 3 ? -1.0F : 1.0F;
  }
  const BitMatrix<PlusMinusOne> bits = binarize(x).bits;

  // Pattern CSR needs no preparation. SELL is made once, and is the fastest for many products. Tiles are small where
  // the graph has local structure: ask the advisor.
  const BitMatrix<PlusMinusOne> votes = spmm<BitMatrix>(graph, bits);
  const SellPattern sell = to_sell(graph, device);
  const BitMatrix<PlusMinusOne> same = spmm<BitMatrix>(sell, bits);
  const Advice advice = advise(profile(graph));
  const BitTileMatrix tiles = pack(graph, {.tile_dim = 4}, device);
  const BitMatrix<PlusMinusOne> again = spmm<BitMatrix>(tiles, bits);

  std::printf("pattern CSR %zu bytes, SELL %zu, tiles of 4 x 4 %zu; %s\n", graph.bytes(), sell.bytes(), tiles.bytes(),
              advice.reason.c_str());
  if (!(votes == same) || !(votes == again)) return 1;
  std::printf("the same votes from every format\n");
}
