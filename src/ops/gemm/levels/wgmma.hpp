// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/gemm/levels/args.hpp"

#include <cstddef>

namespace bitgraph::level_cuda {

/// Whether the kernel of wgmma was compiled: its instructions are for compute capability 9.0 and for no other.
#ifdef BITGRAPH_WITH_SM90A
inline constexpr bool has_wgmma = true;
#else
inline constexpr bool has_wgmma = false;
#endif

/// Whether rows of W fit shared memory. The product is of levels of at most 8 bits, with sums below 2^31.
[[nodiscard]] bool wgmma_fits(const Device& device, int x_bits, std::size_t columns);

/// Such a product, on the device's stream.
void multiply_by_wgmma(const Device& device, const LevelGemmArgs& args);

}  // namespace bitgraph::level_cuda
