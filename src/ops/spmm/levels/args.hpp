// SPDX-License-Identifier: Apache-2.0
// What the kernels of sums of levels over neighbours are given, and those of a product behind a sum.
#pragma once

#include <bitgraph/formats/views.hpp>

#include "core/devices/backend.hpp"
#include "ops/level_views.hpp"

#include <cstddef>
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

/// A product with few outputs behind a sum, in one kernel of a CUDA device: the levels between them stay in the block
/// that made them. LevelOut::levels of the sum have no data, their bits alone count. Levels of the product have places
/// of 8 bits.
struct SumProductArgs : LevelSpmmArgs {
  LevelScaleView between;                ///< the scale of the levels between them: of the tensor
  const std::uint8_t* w_rows = nullptr;  ///< LevelWeights::rows
  std::size_t w_row_bytes = 0;
  const std::int64_t* w_sums = nullptr;
  LevelScaleView w_scale;
  std::size_t outputs = 0;
  LevelEpilogue product_epilogue;
  QuantizedView<std::uint8_t> product;
};

/// Outputs of a matrix instruction, and columns of a block.
inline constexpr std::size_t sum_product_outputs = 8, sum_product_columns = 256;

void sum_product(const Cuda& backend, const SumProductArgs& args);
/// Of levels in planes.
void sum_product_prepare(const Cuda& backend, const SumProductArgs& args);

/// The same of levels in places, or in planes.
void sum_product_rows(const Device& device, const SumProductArgs& args);
void sum_product_planes(const Device& device, const SumProductArgs& args);

}  // namespace bitgraph
