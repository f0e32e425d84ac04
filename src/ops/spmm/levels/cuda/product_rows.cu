// SPDX-License-Identifier: Apache-2.0
#include "ops/spmm/levels/cuda/rows.cuh"

namespace bitgraph {

namespace level_cuda {

namespace {

template <unsigned Bits>
void launch_product(const Device& device, const SumProductArgs& args) {
  constexpr unsigned features = Kernel<Bits, PartShape::four_words, 4, Ends::product>::features;
  launch_lanes<Bits, PartShape::four_words, Ends::product, chunk / features, sum_product_columns / features>(
      device, args, args.x.ncols);
}

}  // namespace

}  // namespace level_cuda

void sum_product(const Cuda& backend, const SumProductArgs& args) {
  args.x.in_planes() ? sum_product_planes(backend.device, args) : sum_product_rows(backend.device, args);
}

void sum_product_rows(const Device& device, const SumProductArgs& args) {
  level_place_bits(args.x.bits) == 4 ? level_cuda::launch_product<4>(device, args)
                                     : level_cuda::launch_product<8>(device, args);
}

}  // namespace bitgraph
