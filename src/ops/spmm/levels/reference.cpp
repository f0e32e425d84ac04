// SPDX-License-Identifier: Apache-2.0
#include "ops/spmm/levels/levels.hpp"

namespace bitgraph {

void level_spmm(const Reference&, const LevelSpmmArgs& args) {
  for (NodeId i = 0; i < args.a.nrows; ++i) {
    const auto neighbors = args.a.row(i);
    clear_levels(args.out, i);
    for (std::size_t f = 0; f < args.x.ncols; ++f) {
      std::int64_t sum = 0;
      for (const NodeId j : neighbors) sum += level_at(args.x.row(j), f, args.x.bits);
      put_sum(args, i, f, sum, neighbors.size());
    }
  }
}

}  // namespace bitgraph
