// SPDX-License-Identifier: Apache-2.0
// The kernels of products of levels. See include/bitgraph/ops/level_gemm.hpp.
#pragma once

#include <bitgraph/ops/level_gemm.hpp>

#include "ops/gemm/levels/args.hpp"
#include "ops/level_epilogue.hpp"

namespace bitgraph {

/// Of operands that go together, without an output and an epilogue. Throws usage naming what does not.
[[nodiscard]] LevelGemmArgs level_gemm_args(const QuantizedMatrix& x, const LevelWeights& w, std::size_t nrows,
                                            std::size_t ncols, const Device& device);

/// By one kernel of a CUDA device, whichever would be chosen. False: it cannot, and nothing is done. For tests.
[[nodiscard]] bool level_gemm_by(const Device& device, LevelGemmKernel kernel, const LevelGemmArgs& args);

void level_gemm(const Reference& backend, const LevelGemmArgs& args);
void level_gemm(const Cpu& backend, const LevelGemmArgs& args);

}  // namespace bitgraph
