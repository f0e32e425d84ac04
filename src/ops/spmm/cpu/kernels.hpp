// SPDX-License-Identifier: Apache-2.0
// The SIMD kernels of spmm, each over a block of rows on one thread. dispatch.cpp cuts the graph into blocks.
#pragma once

#include "ops/spmm/spmm.hpp"
#include "ops/spmm/tuning.hpp"

#include <bitgraph/core/types.hpp>
#include <bitgraph/formats/bfloat16.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace bitgraph::spmm_cpu {

/// Rows first_row .. first_row + count of the output. The columns of row r of the block are
/// cols[row_ptr[r]] .. cols[row_ptr[r + 1]].
struct RowBlock {
  const EdgeOffset* row_ptr = nullptr;
  const NodeId* cols = nullptr;
  std::size_t first_row = 0;
  std::size_t count = 0;
};

/// Where sums of bits go: through the epilogue, to signs or to floats. It refers to `out` and `behind`, which must
/// outlive it.
struct Sink {
  Sink(const BitsOut& out, const SpmmEpilogue& behind) : bits(&out), epilogue(behind) {}
  Sink(const FloatOut& out, const SpmmEpilogue& behind) : floats(&out), epilogue(behind) {}

  const BitsOut* bits = nullptr;  ///< one of the two is there
  const FloatOut* floats = nullptr;
  const SpmmEpilogue& epilogue;
};

/// Long rows and chunks of a SellView: what a thread takes at a time.
struct SellPart {
  std::size_t first_long_row = 0;
  std::size_t end_long_row = 0;
  std::size_t first_chunk = 0;
  std::size_t end_chunk = 0;
};

/// A block is at most this long: kernels sort its rows by degree in arrays on the stack.
inline constexpr std::size_t max_block_rows = cpu_spmm_tuning().most_block_rows;

/// Unscaled sums of bits: each row counts its neighbours' bits in bit-sliced counters with carry-save adders.
void vote_rows(const RowBlock& rows, const BitsIn& x, const Sink& sink);
void vote_chunks(const SellView& a, const SellPart& part, const BitsIn& x, const Sink& sink);

/// Where the columns are cut into strips: the windows begin .. end, strip by strip, so that the rows of X that a strip
/// names stay in a cache meanwhile. `counters` are strip_counters(a, windows, words) words to work with.
struct SellWindows {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::uint64_t* counters = nullptr;
};

[[nodiscard]] inline std::size_t strip_counters(const SellView& a, std::size_t windows, std::size_t words_per_row) {
  constexpr std::size_t widest_vector = 8;
  return (windows * a.window_rows + 1) * a.counter_bits * std::min(words_per_row, widest_vector);
}

void vote_windows(const SellView& a, const SellWindows& windows, const BitsIn& x, const Sink& sink);

/// Sums of +-col_scale.
void weigh_rows(const RowBlock& rows, const BitsIn& x, const float* col_scale, const Sink& sink);

/// Sums of numbers, col_scale null for ones. One for each pair of types.
void sum_rows(const RowBlock& rows, const FloatIn& x, const float* col_scale, const FloatOut& out,
              const SpmmEpilogue& epilogue);
void sum_rows(const RowBlock& rows, const FloatIn& x, const float* col_scale, const BitsOut& out,
              const SpmmEpilogue& epilogue);
void sum_rows(const RowBlock& rows, const DenseView<const Bfloat16>& x, const float* col_scale, const FloatOut& out,
              const SpmmEpilogue& epilogue);
void sum_rows(const RowBlock& rows, const DenseView<const Bfloat16>& x, const float* col_scale,
              const DenseView<Bfloat16>& out, const SpmmEpilogue& epilogue);

}  // namespace bitgraph::spmm_cpu
