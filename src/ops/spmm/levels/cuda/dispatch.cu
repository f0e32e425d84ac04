// SPDX-License-Identifier: Apache-2.0
// Which kernel adds up levels over neighbours on a CUDA device, and the one for levels of more than 8 bits.
#include "core/cuda/launch.cuh"
#include "ops/spmm/levels/cuda/rows.hpp"
#include "ops/spmm/levels/cuda/store.cuh"
#include "ops/spmm/levels/planes.hpp"
#include "ops/spmm/levels/tuning.hpp"

namespace bitgraph {

namespace level_cuda {

namespace {

constexpr CudaLevelSpmmTuning tuning = cuda_level_spmm_tuning();
constexpr unsigned threads = tuning.block_threads;

/// Eight levels of a row from column `first` on; zeros where the row has none.
__device__ void load_levels(std::uint32_t (&level)[unit], const QuantizedView<>& x, NodeId row, std::size_t first) {
  if (x.bits <= 8) {
#pragma unroll
    for (unsigned n = 0; n < unit; ++n) level[n] = first + n < x.ncols ? level_of(x, row, first + n) : 0;
    return;
  }
#pragma unroll
  for (unsigned n = 0; n < unit; n += 4) {  // rows begin and end at multiples of four levels
    const std::size_t byte = 2 * (first + n);
    uint2 four = {};
    if (byte < x.row_bytes) four = __ldg(reinterpret_cast<const uint2*>(x.row(row) + byte));
    level[n] = four.x & 0xFFFFU;
    level[n + 1] = four.x >> 16;
    level[n + 2] = four.y & 0xFFFFU;
    level[n + 3] = four.y >> 16;
  }
}

/// Levels of more than 8 bits, and sums that may pass 32: some lanes share the neighbours of eight columns of a row.
template <Ends ends>
__global__ void __launch_bounds__(threads)
    level_spmm_wide(const __grid_constant__ LevelSpmmArgs args, std::size_t groups) {
  constexpr unsigned lanes = tuning.wide_lanes;
  const std::size_t item = (std::size_t{blockIdx.x} * threads + threadIdx.x) / lanes;
  const bool exists = item < groups * args.a.nrows;
  const std::size_t first = item % groups * unit;
  const TakenRow taken(args, exists ? static_cast<NodeId>(item / groups) : no_row);
  std::int64_t sum[unit] = {};
#pragma unroll 4
  for (std::uint32_t e = threadIdx.x % lanes; e < taken.n; e += lanes) {
    std::uint32_t level[unit];
    load_levels(level, args.x, __ldg(taken.columns + e), first);
#pragma unroll
    for (unsigned n = 0; n < unit; ++n) sum[n] += level[n];
  }
#pragma unroll
  for (unsigned n = 0; n < unit; ++n) {
#pragma unroll
    for (unsigned apart = lanes / 2; apart != 0; apart /= 2) sum[n] += __shfl_xor_sync(full_warp, sum[n], apart);
  }
  if (!exists || threadIdx.x % lanes != 0) return;
  const RowEnd<ends> end(args, taken);
  store_unit<ends, 1>(
      args, first, [&](unsigned) { return end; }, [&](unsigned) { return PlainSums<false, std::int64_t>{sum}; },
      [&](unsigned n) { return SumPlace(args, args.x.ncols, first + n); });
}

template <Ends ends>
void launch_wide(const Device& device, const LevelSpmmArgs& args) {
  const std::size_t groups = (stored_columns(args.out, args.x.ncols) + unit - 1) / unit;
  const unsigned blocks = blocks_for(groups * args.a.nrows * tuning.wide_lanes, threads);
  level_spmm_wide<ends><<<blocks, threads, 0, stream_of(device)>>>(args, groups);
  cuda_check_launch("level_spmm_wide");
}

}  // namespace

}  // namespace level_cuda

void level_spmm(const Cuda& backend, const LevelSpmmArgs& args) {
  using namespace level_cuda;
  if (args.a.nrows == 0 || args.x.ncols == 0) return;
  if (sums_by_planes(args)) return level_spmm_by_planes(backend.device, args);
  constexpr std::size_t longest_row = std::size_t{1} << 31;  // of X, in bytes
  if (level_place_bits(args.x.bits) == 16 || args.wide || args.x.row_bytes > longest_row)
    return args.epilogue.is_rare() ? launch_wide<Ends::rare>(backend.device, args)
                                   : launch_wide<Ends::plain>(backend.device, args);
  const bool late = args.epilogue.is_late() || args.epilogue.activation == Activation::tanh;
  late ? sum_rows_late(backend.device, args) : sum_rows_plain(backend.device, args);
}

}  // namespace bitgraph
