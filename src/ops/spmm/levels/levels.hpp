// SPDX-License-Identifier: Apache-2.0
// The kernels of sums of levels over neighbours. See include/bitgraph/ops/level_spmm.hpp.
#pragma once

#include <bitgraph/ops/level_spmm.hpp>

#include "ops/level_epilogue.hpp"
#include "ops/spmm/levels/args.hpp"

namespace bitgraph {

/// Of operands that go together, without an output and an epilogue. Throws usage naming what does not.
[[nodiscard]] LevelSpmmArgs level_spmm_args(const CsrPattern& a, const QuantizedMatrix& x, std::size_t nrows,
                                            std::size_t ncols, const Device& device);

void level_spmm(const Reference& backend, const LevelSpmmArgs& args);
void level_spmm(const Cpu& backend, const LevelSpmmArgs& args);

}  // namespace bitgraph
