// SPDX-License-Identifier: Apache-2.0
#include "ops/spmm/levels/cuda/rows.cuh"
#include "ops/spmm/levels/cuda/rows.hpp"

namespace bitgraph::level_cuda {

namespace {

template <unsigned Bits>
void launch_late(const Device& device, const LevelSpmmArgs& args) {
  if (args.epilogue.activation != Activation::tanh) return launch_parts<Bits, Ends::by_rows>(device, args);
  // Any row has parts of two words, and any width fits a few slices of them: rare ends have one kernel.
  launch_lanes<Bits, PartShape::two_words, Ends::rare, most_lanes, most_lanes>(device, args,
                                                                               stored_columns(args.out, args.x.ncols));
}

}  // namespace

void sum_rows_late(const Device& device, const LevelSpmmArgs& args) {
  level_place_bits(args.x.bits) == 4 ? launch_late<4>(device, args) : launch_late<8>(device, args);
}

}  // namespace bitgraph::level_cuda
