// SPDX-License-Identifier: Apache-2.0
// The kernels of sums of levels over neighbours. See include/bitgraph/ops/level_spmm.hpp.
#pragma once

#include <bitgraph/formats/views.hpp>
#include <bitgraph/ops/level_spmm.hpp>

#include "core/backend.hpp"
#include "ops/level_epilogue.hpp"

namespace bitgraph {

struct LevelSpmmArgs {
  CsrPatternView a;
  QuantizedView<> x;
  LevelScaleView x_scale;
  const float* row_scale = nullptr;  ///< null: 1
  bool wide = false;                 ///< sums may pass 31 bits
  LevelEpilogue epilogue;
  LevelOut out;
};

/// Of operands that go together, without an output and an epilogue. Throws usage naming what does not.
[[nodiscard]] LevelSpmmArgs level_spmm_args(const CsrPattern& a, const QuantizedMatrix& x, std::size_t nrows,
                                            std::size_t ncols, const Device& device);

void level_spmm(const Reference& backend, const LevelSpmmArgs& args);
void level_spmm(const Cpu& backend, const LevelSpmmArgs& args);

}  // namespace bitgraph
