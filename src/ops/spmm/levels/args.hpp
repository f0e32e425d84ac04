// SPDX-License-Identifier: Apache-2.0
// What the kernels of sums of levels over neighbours are given.
#pragma once

#include <bitgraph/formats/views.hpp>

#include "core/devices/backend.hpp"
#include "ops/level_views.hpp"

#include <cstdint>
#include <span>

namespace bitgraph {

struct LevelSpmmArgs : LevelSumEnd {
  CsrPatternView a;
  QuantizedView<> x;
  RowOrderView row_order;               ///< no rows: none
  std::span<std::uint64_t> planes;      ///< LevelSpmmOptions::planes; empty: none
  bool prepared = false;                ///< level_spmm_prepare() has been there
  std::span<const NodeId> rows_of_few;  ///< RowOrder::at_least_of_few(), on the host
  bool wide = false;                    ///< sums may pass 31 bits
};

void level_spmm(const Cuda& backend, const LevelSpmmArgs& args);

/// Leaves in LevelSpmmArgs::planes what sums with these operands need of their scales; the reference needs nothing.
void level_spmm_prepare(const Cuda& backend, const LevelSpmmArgs& args);
void level_spmm_prepare(const Cpu& backend, const LevelSpmmArgs& args);
inline void level_spmm_prepare(const Reference&, const LevelSpmmArgs&) {}

}  // namespace bitgraph
