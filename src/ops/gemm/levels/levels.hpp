// SPDX-License-Identifier: Apache-2.0
// The kernels of products of levels. See include/bitgraph/ops/level_gemm.hpp.
#pragma once

#include <bitgraph/ops/level_gemm.hpp>

#include "core/backend.hpp"
#include "ops/level_epilogue.hpp"

namespace bitgraph {

struct LevelGemmArgs {
  QuantizedView<> x;
  LevelScaleView x_scale;

  std::size_t outputs = 0;
  int w_bits = 1;
  const std::int8_t* panels = nullptr;
  std::size_t panel_bytes = 0;
  std::size_t num_panels = 0;
  const std::int64_t* w_sums = nullptr;
  LevelScaleView w_scale;

  LevelEpilogue epilogue;
  LevelOut out;
};

/// Of operands that go together, without an output and an epilogue. Throws usage naming what does not.
[[nodiscard]] LevelGemmArgs level_gemm_args(const QuantizedMatrix& x, const LevelWeights& w, std::size_t nrows,
                                            std::size_t ncols, const Device& device);

void level_gemm(const Reference& backend, const LevelGemmArgs& args);
void level_gemm(const Cpu& backend, const LevelGemmArgs& args);

}  // namespace bitgraph
