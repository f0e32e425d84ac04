// SPDX-License-Identifier: Apache-2.0
// The SIMD kernels of votes by words of tiles: one word of 64 features, 64 columns of the graph at a time.
#pragma once

#include "ops/spmm/cpu/kernels.hpp"
#include "ops/spmm/tile_words.hpp"

#include <cstddef>
#include <cstdint>

namespace bitgraph::spmm_cpu {

/// 64 rows of X, a word of each, or 64 columns of those; the sums of 64 features.
struct alignas(64) BitBlock {
  std::uint64_t words[64];
};
struct alignas(64) Sums {
  std::int64_t of_feature[64];
};

/// columns.words[f] has bit r where rows.words[r] has bit f.
void transpose_block(const BitBlock& rows, BitBlock& columns);

/// sums[n] += the products of graph[n], whose bit r stands for row r of the block, for n below `count`. The block has
/// rows of X for each_bit, their columns otherwise.
void add_products(const std::uint64_t* graph, std::size_t count, const BitBlock& block, SpmmStrategy strategy,
                  Sums* sums);

/// To word `word` of row i.
void finish_sums(const Sums& sums, const Sink& sink, std::size_t i, std::size_t word);

}  // namespace bitgraph::spmm_cpu
