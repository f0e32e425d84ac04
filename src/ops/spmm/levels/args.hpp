// SPDX-License-Identifier: Apache-2.0
// What the kernels of sums of levels over neighbours are given.
#pragma once

#include <bitgraph/formats/views.hpp>

#include "core/devices/backend.hpp"
#include "ops/level_views.hpp"

namespace bitgraph {

struct LevelSpmmArgs : LevelSumEnd {
  CsrPatternView a;
  QuantizedView<> x;
  RowOrderView row_order;  ///< of a CUDA device; no rows: none
  bool wide = false;       ///< sums may pass 31 bits
};

void level_spmm(const Cuda& backend, const LevelSpmmArgs& args);

}  // namespace bitgraph
