// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/gemm/levels/args.hpp"

#include <cstddef>

namespace bitgraph::level_cuda {

// Products of levels of at most 8 bits, with sums below 2^31, by the matrix instructions of compute capability 9.0, on
// the device's stream. Each is for rows of W that fit shared memory: *_fit() says whether they do.

/// Of bytes: levels of X are widened on their way to registers.
[[nodiscard]] bool bytes_fit(const Device& device, int x_bits, std::size_t columns);
void multiply_bytes(const Device& device, const LevelGemmArgs& args);

/// Of planes of bits, X and W of at most two each: half as many instructions as of bytes.
[[nodiscard]] bool planes_fit(const Device& device, std::size_t columns);
void multiply_planes(const Device& device, const LevelGemmArgs& args);

/// The same of an X in planes. Levels out may be in planes, too.
[[nodiscard]] bool packed_planes_fit(const Device& device, std::size_t columns);
void multiply_packed_planes(const Device& device, const LevelGemmArgs& args);

}  // namespace bitgraph::level_cuda
