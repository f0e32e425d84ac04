// SPDX-License-Identifier: Apache-2.0
// Products of levels of any widths and sums on a CUDA device, where no matrix instruction serves.
#include <bitgraph/core/kernel.cuh>

#include "ops/gemm/levels/args.hpp"
#include "ops/gemm/levels/cuda_places.cuh"

namespace bitgraph {

namespace level_cuda {

namespace {

constexpr unsigned threads = 256;
constexpr unsigned few_columns = 8;

/// A thread has a few outputs of a row.
__global__ void __launch_bounds__(threads)
    level_gemm_plain(const __grid_constant__ LevelGemmArgs args, std::size_t groups_a_row) {
  const std::size_t item = std::size_t{blockIdx.x} * threads + threadIdx.x;
  if (item >= groups_a_row * args.x.nrows) return;
  const std::size_t row = item / groups_a_row;
  const std::size_t first = item % groups_a_row * few_columns;
  std::int64_t sum[few_columns] = {}, x_sum = 0;
  for (std::size_t c = 0; c < args.x.ncols; ++c) {
    const std::int64_t level = level_of(args.x, row, c);
    x_sum += level;
#pragma unroll
    for (unsigned n = 0; n < few_columns; ++n) {
      if (first + n >= args.outputs) continue;
      const std::uint8_t* const of_w = args.w_rows + (first + n) * args.w_row_bytes;
      sum[n] += level * (args.w_bits <= 8 ? of_w[c] : reinterpret_cast<const std::uint16_t*>(of_w)[c]);
    }
  }
  const bool by_rows = args.epilogue.by_rows();
  const OutRow its = by_rows ? out_row_of(args.epilogue, row) : OutRow();
  const RowOfX of_x(args, row, static_cast<float>(x_sum), its);
  const LevelRule rule(args.epilogue, args.out.levels.data == nullptr ? 1 : args.out.levels.bits);
  int level[few_columns] = {};
#pragma unroll
  for (unsigned n = 0; n < few_columns; ++n) {
    const std::size_t output = first + n;
    if (output >= args.outputs) continue;
    const ColumnPlace column(args.epilogue, output);
    const ProductPlace at(args, output, column);
    const auto whole = static_cast<float>(sum[n]);
    const float place = by_rows ? at.place(whole, of_x, its) : at.place<true, true>(whole, of_x);
    const LevelOut& out = args.out;
    if (out.sums.data != nullptr) {
      out.sums.data[row * out.sums.stride + output] = static_cast<std::int32_t>(sum[n]);
    } else if (out.wide_sums.data != nullptr) {
      out.wide_sums.data[row * out.wide_sums.stride + output] = sum[n];
    } else if (out.values.data != nullptr) {
      out.values.data[value_row_of(out, row) * out.values.stride + output] = rule.value(place);
    } else {
      level[n] = rule.level(place, by_rows ? its.least(rule.relu) : column.least);
    }
  }
  if (args.out.levels.data != nullptr)
    store_levels<few_columns>(args.out.levels, row, first, [&](unsigned n) { return level[n]; });
}

}  // namespace

}  // namespace level_cuda

void level_gemm_plainly(const Cuda& backend, const LevelGemmArgs& args) {
  using namespace level_cuda;
  const std::size_t groups_a_row = (stored_columns(args.out, args.outputs) + few_columns - 1) / few_columns;
  const unsigned blocks = blocks_for(groups_a_row * args.x.nrows, threads);
  level_gemm_plain<<<blocks, threads, 0, stream_of(backend.device)>>>(args, groups_a_row);
  cuda_check_launch("level_gemm_plain");
}

}  // namespace bitgraph
