// SPDX-License-Identifier: Apache-2.0
// Floats to levels on a CUDA device: a thread has eight columns of a row.
#include <bitgraph/core/kernel.cuh>

#include "ops/cuda_level_epilogue.cuh"
#include "ops/quantize/quantize.hpp"

namespace bitgraph {

namespace level_cuda {

namespace {

constexpr unsigned threads = 256;
constexpr unsigned columns = 8;

template <unsigned Bits>
__global__ void __launch_bounds__(threads)
    quantize_columns(const __grid_constant__ QuantizeArgs args, std::size_t groups) {
  const std::size_t item = std::size_t{blockIdx.x} * threads + threadIdx.x;
  if (item >= groups * args.x.nrows) return;
  const std::size_t row = item / groups;
  const std::size_t first = item % groups * columns;
  const float* const x = args.x.data + row * args.x.stride + first;
  const float factor = args.row_scale == nullptr ? 1.0F : __ldg(args.row_scale + row);
  const auto most = static_cast<float>((1U << args.out.bits) - 1);
  const auto level_of = [&](unsigned n) {
    if (first + n >= args.x.ncols) return 0U;
    const std::size_t s = args.extent == ScaleExtent::row ? row : args.extent == ScaleExtent::column ? first + n : 0;
    const float scaled = __ldg(x + n) * factor;
    const float value = args.offsets == nullptr ? scaled : scaled - __ldg(args.offsets + s);
    const float place = value / __ldg(args.steps + s);
    const float within = place >= 0 ? fminf(place, most) : 0.0F;  // 0 for what is not a number
    return args.rounding == Rounding::nearest ? __float2uint_rn(within) : __float2uint_rd(within);
  };
  store_levels<columns, Bits>(args.out.row(row), args.out.row_bytes, first, level_of);
}

}  // namespace

}  // namespace level_cuda

void quantize(const Cuda& backend, const QuantizeArgs& args) {
  using namespace level_cuda;
  const int bits = level_place_bits(args.out.bits);
  const std::size_t places = args.out.row_bytes * 8 / static_cast<std::size_t>(bits);
  const std::size_t groups = (places + columns - 1) / columns;
  if (groups == 0 || args.x.nrows == 0) return;
  const unsigned blocks = blocks_for(groups * args.x.nrows, threads);
  const cudaStream_t stream = stream_of(backend.device);
  if (bits == 4) {
    quantize_columns<4><<<blocks, threads, 0, stream>>>(args, groups);
  } else if (bits == 8) {
    quantize_columns<8><<<blocks, threads, 0, stream>>>(args, groups);
  } else {
    quantize_columns<16><<<blocks, threads, 0, stream>>>(args, groups);
  }
  cuda_check_launch("quantize_columns");
}

}  // namespace bitgraph
