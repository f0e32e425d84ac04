// SPDX-License-Identifier: Apache-2.0
#include "ops/spmm/levels/levels.hpp"

#include <cmath>

namespace bitgraph {

void level_spmm(const Reference&, const LevelSpmmArgs& args) {
  for (NodeId i = 0; i < args.a.nrows; ++i) {
    const auto neighbors = args.a.row(i);
    clear_levels(args.out, i);
    for (std::size_t f = 0; f < args.x.ncols; ++f) {
      std::int64_t sum = 0;
      for (const NodeId j : neighbors) sum += level_at(args.x.row(j), f, args.x.bits);
      const float factor = args.epilogue.factor(f);
      const float row_scale = args.row_scale == nullptr ? 1.0F : args.row_scale[i];
      const float by_step = args.x_scale.step(f) * factor, by_offset = args.x_scale.offset(f) * factor;
      const float count = row_scale * static_cast<float>(neighbors.size());
      const float rest = std::fma(by_offset, count, args.epilogue.shift(f, factor));
      put_sum(args.out, args.epilogue, i, f, sum, std::fma(by_step * row_scale, static_cast<float>(sum), rest));
    }
  }
}

}  // namespace bitgraph
