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

/// Consecutive values of a row, of which it has `left`.
__device__ inline void load_columns(float (&to)[columns], const float* from, std::size_t left) {
  if (left >= columns && reinterpret_cast<std::uintptr_t>(from) % sizeof(float4) == 0) {
#pragma unroll
    for (unsigned n = 0; n < columns; n += 4) {
      const float4 four = __ldg(reinterpret_cast<const float4*>(from + n));
      to[n] = four.x, to[n + 1] = four.y, to[n + 2] = four.z, to[n + 3] = four.w;
    }
    return;
  }
#pragma unroll
  for (unsigned n = 0; n < columns; ++n) {
    if (n < left) to[n] = __ldg(from + n);
  }
}

/// `Item` counts groups of columns: with 32 bits its division takes a fraction of the time.
template <unsigned Bits, class Item>
__global__ void __launch_bounds__(threads) quantize_columns(const __grid_constant__ QuantizeArgs args, Item groups) {
  const Item item = Item{blockIdx.x} * threads + threadIdx.x;
  if (item / groups >= args.x.nrows) return;
  const std::size_t row = item / groups;
  const std::size_t first = std::size_t{item % groups} * columns;
  const float* const x = args.x.data + row * args.x.stride + first;
  const float factor = args.row_scale == nullptr ? 1.0F : __ldg(args.row_scale + row);
  const auto most = static_cast<float>((1U << args.out.bits) - 1);
  float value_of[columns] = {};
  load_columns(value_of, x, first < args.x.ncols ? args.x.ncols - first : 0);
  const auto level_of = [&](unsigned n) {
    if (first + n >= args.x.ncols) return 0U;
    const std::size_t s = args.extent == ScaleExtent::row ? row : args.extent == ScaleExtent::column ? first + n : 0;
    const float scaled = value_of[n] * factor;
    const float value = args.offsets == nullptr ? scaled : scaled - __ldg(args.offsets + s);
    const float place = value / __ldg(args.steps + s);
    const float within = place >= 0 ? fminf(place, most) : 0.0F;  // 0 for what is not a number
    return args.rounding == Rounding::nearest ? __float2uint_rn(within) : __float2uint_rd(within);
  };
  store_levels<columns, Bits>(args.out.row(row), args.out.row_bytes, first, level_of);
}

template <unsigned Bits>
void launch(const Device& device, const QuantizeArgs& args) {
  const std::size_t places = args.out.row_bytes * 8 / Bits;
  const std::size_t groups = (places + columns - 1) / columns;
  if (groups == 0 || args.x.nrows == 0) return;
  const unsigned blocks = blocks_for(groups * args.x.nrows, threads);
  const cudaStream_t stream = stream_of(device);
  if (groups * args.x.nrows <= std::size_t{1} << 31) {
    quantize_columns<Bits><<<blocks, threads, 0, stream>>>(args, static_cast<std::uint32_t>(groups));
  } else {
    quantize_columns<Bits><<<blocks, threads, 0, stream>>>(args, groups);
  }
  cuda_check_launch("quantize_columns");
}

}  // namespace

}  // namespace level_cuda

void quantize(const Cuda& backend, const QuantizeArgs& args) {
  using level_cuda::launch;
  switch (level_place_bits(args.out.bits)) {
    case 4: return launch<4>(backend.device, args);
    case 8: return launch<8>(backend.device, args);
    default: return launch<16>(backend.device, args);
  }
}

}  // namespace bitgraph
