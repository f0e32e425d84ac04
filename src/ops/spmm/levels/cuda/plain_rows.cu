// SPDX-License-Identifier: Apache-2.0
#include "ops/spmm/levels/cuda/rows.cuh"
#include "ops/spmm/levels/cuda/rows.hpp"

namespace bitgraph::level_cuda {

void sum_rows_plain(const Device& device, const LevelSpmmArgs& args) {
  level_place_bits(args.x.bits) == 4 ? launch_parts<4, Ends::plain>(device, args)
                                     : launch_parts<8, Ends::plain>(device, args);
}

}  // namespace bitgraph::level_cuda
