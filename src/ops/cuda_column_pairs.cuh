// SPDX-License-Identifier: Apache-2.0
// Two sums of each column in one pass. Columns are added up in two steps: blocks of 32 columns and some rows leave
// partial sums in the device's workspace, and a thread for each column adds those in order.
#pragma once

#include <bitgraph/core/kernel.cuh>

#include "ops/row_parts.hpp"

#include <cstddef>

namespace bitgraph::column_pairs {

inline constexpr unsigned block_columns = 32;
inline constexpr unsigned block_rows = 8;
inline constexpr unsigned block_threads = 256;

/// Pairs of sums of columns: partial[0 .. parts * ncols) the first ones, behind them the second ones.
struct SumsView {
  double* partial;
  double* total;  ///< 2 ncols
  std::size_t parts;
  std::size_t part_rows;
  std::size_t ncols;
};

/// Term(i, j) gives the two terms of an element. Threads below each other take every eighth row.
template <class Term>
__global__ void __launch_bounds__(block_threads) add_parts(SumsView sums, std::size_t nrows, Term term) {
  __shared__ double shared[2][block_rows][block_columns];
  const std::size_t j = std::size_t{blockIdx.x} * block_columns + threadIdx.x;
  const std::size_t first = std::size_t{blockIdx.y} * sums.part_rows;
  const std::size_t end = min(first + sums.part_rows, nrows);
  double sum[2] = {0, 0};
  if (j < sums.ncols) {
#pragma unroll 4
    for (std::size_t i = first + threadIdx.y; i < end; i += block_rows) {
      const double2 terms = term(i, j);
      sum[0] += terms.x;
      sum[1] += terms.y;
    }
  }
  for (int n = 0; n < 2; ++n) shared[n][threadIdx.y][threadIdx.x] = sum[n];
  __syncthreads();
  if (threadIdx.y >= 2 || j >= sums.ncols) return;
  double all = 0;
  for (unsigned y = 0; y < block_rows; ++y) all += shared[threadIdx.y][y][threadIdx.x];
  sums.partial[(threadIdx.y * sums.parts + blockIdx.y) * sums.ncols + j] = all;
}

/// Finish(j, first sum, second sum) takes the whole of a column.
template <class Finish>
__global__ void __launch_bounds__(block_threads) add_columns(SumsView sums, Finish finish) {
  const std::size_t j = std::size_t{blockIdx.x} * block_threads + threadIdx.x;
  if (j >= sums.ncols) return;
  double sum[2] = {0, 0};
  for (std::size_t part = 0; part < sums.parts; ++part) {
    sum[0] += sums.partial[part * sums.ncols + j];
    sum[1] += sums.partial[(sums.parts + part) * sums.ncols + j];
  }
  finish(j, sum[0], sum[1]);
}

inline SumsView make_sums(const Device& device, std::size_t nrows, std::size_t ncols) {
  const RowParts parts(nrows);
  auto* const doubles = static_cast<double*>(device.workspace((2 * parts.count + 2) * ncols * sizeof(double)));
  return {doubles, doubles + 2 * parts.count * ncols, parts.count, parts.rows, ncols};
}

template <class Term, class Finish>
void add_up(const Device& device, const SumsView& sums, std::size_t nrows, const Term& term, const Finish& finish) {
  if (sums.parts != 0) {
    const dim3 grid(blocks_for(sums.ncols, block_columns), static_cast<unsigned>(sums.parts));
    add_parts<<<grid, dim3(block_columns, block_rows), 0, stream_of(device)>>>(sums, nrows, term);
    cuda_check_launch("add_parts");
  }
  add_columns<<<blocks_for(sums.ncols, block_threads), block_threads, 0, stream_of(device)>>>(sums, finish);
  cuda_check_launch("add_columns");
}

}  // namespace bitgraph::column_pairs
