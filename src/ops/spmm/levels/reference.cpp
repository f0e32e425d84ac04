// SPDX-License-Identifier: Apache-2.0
#include "ops/spmm/levels/levels.hpp"

namespace bitgraph {

void level_spmm_row(const LevelSpmmArgs& args, NodeId i) {
  const auto neighbors = args.a.row(i);
  clear_levels(args.out, i);
  for (std::size_t f = 0; f < args.x.ncols; ++f) {
    std::int64_t sum = 0;
    for (const NodeId j : neighbors) sum += level_at(args.x, j, f);
    put_sum(args, i, f, sum, neighbors.size());
  }
}

void level_spmm(const Reference&, const LevelSpmmArgs& args) {
  for (NodeId i = 0; i < args.a.nrows; ++i) level_spmm_row(args, i);
}

}  // namespace bitgraph
