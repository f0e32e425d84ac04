// SPDX-License-Identifier: Apache-2.0
// The kernels of products of levels. See include/bitgraph/ops/level_gemm.hpp.
#pragma once

#include <bitgraph/ops/level_gemm.hpp>

#include "ops/gemm/cpu/plan.hpp"
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

/// On a processor's matrix unit, for dense X. gemm_cpu::plan says where it can and is worth it; tests call it for fewer
/// rows.
void level_gemm_by_tiles(const Cpu& backend, const LevelGemmArgs& args);

/// How the host multiplies dense levels.
[[nodiscard]] gemm_cpu::Problem level_gemm_problem(std::size_t rows, std::size_t columns, std::size_t outputs,
                                                   int x_bits, int w_bits);

}  // namespace bitgraph
