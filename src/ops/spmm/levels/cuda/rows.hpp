// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/spmm/levels/args.hpp"

namespace bitgraph::level_cuda {

/// Sums of levels of up to 8 bits on the device's stream, by `level_spmm_rows`: late levels and values behind a tanh,
/// and all others. They have sources of their own, for they take long to compile.
void sum_rows_late(const Device& device, const LevelSpmmArgs& args);
void sum_rows_plain(const Device& device, const LevelSpmmArgs& args);

}  // namespace bitgraph::level_cuda
