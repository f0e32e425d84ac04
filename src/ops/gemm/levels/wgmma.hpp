// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/gemm/levels/args.hpp"

#include <cstddef>

namespace bitgraph::level_cuda {

/// Whether rows of W fit shared memory. The product is of levels of at most 8 bits, with sums below 2^31.
[[nodiscard]] bool wgmma_fits(const Device& device, int x_bits, std::size_t columns);

/// Such a product, on the device's stream.
void multiply_by_wgmma(const Device& device, const LevelGemmArgs& args);

}  // namespace bitgraph::level_cuda
