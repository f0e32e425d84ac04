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

/// Divides by a step: the quotient rounded to float32 where it is a place on a scale of levels, and beyond them some
/// number on the same side. An exact division would take three times as long.
class Division {
 public:
  Division() = default;
  /// The division itself: for few quotients the inverse takes as long.
  [[nodiscard]] static __device__ Division exact(float step) {
    Division by;
    by.step_ = step;
    by.exact_ = true;
    return by;
  }
  explicit __device__ Division(float step) : step_(step) {
    inverse_ = __frcp_rn(step);
    // Else the inverse, or what a quotient is less, may be no normal number.
    exact_ = !(step >= 0x1p-100F && step <= 0x1p100F);
  }

  [[nodiscard]] __device__ float operator()(float value) const {
    if (exact_) return value / step_;
    const float close = value * inverse_;
    const float closer = __fmaf_rn(__fmaf_rn(-step_, close, value), inverse_, close);
    const float rounded = __fmaf_rn(__fmaf_rn(-step_, closer, value), inverse_, closer);
    return fabsf(close) < 0x1p20F ? rounded : close;
  }

 private:
  float step_ = 1, inverse_ = 1;
  bool exact_ = false;
};

/// What columns of a row are scaled by.
struct ColumnScales {
  Division by_step[columns];
  float offset[columns] = {};

  __device__ ColumnScales(const QuantizeArgs& args, std::size_t row, std::size_t first, std::size_t left) {
    float step[columns] = {1, 1, 1, 1, 1, 1, 1, 1};
    if (args.extent == ScaleExtent::column) {
      load_columns(step, args.steps + first, left);
      if (args.offsets != nullptr) load_columns(offset, args.offsets + first, left);
#pragma unroll
      for (unsigned n = 0; n < columns; ++n) by_step[n] = Division::exact(step[n]);
      return;
    }
    const std::size_t s = args.extent == ScaleExtent::row ? row : 0;
    const Division by_one(__ldg(args.steps + s));
    const float one = args.offsets == nullptr ? 0.0F : __ldg(args.offsets + s);
#pragma unroll
    for (unsigned n = 0; n < columns; ++n) by_step[n] = by_one, offset[n] = one;
  }
};

/// `Item` counts groups of columns: with 32 bits its division takes a fraction of the time.
template <unsigned Bits, class Item>
__global__ void __launch_bounds__(threads) quantize_columns(const __grid_constant__ QuantizeArgs args, Item groups) {
  const Item item = Item{blockIdx.x} * threads + threadIdx.x;
  if (item / groups >= args.x.nrows) return;
  const std::size_t row = item / groups;
  const std::size_t first = std::size_t{item % groups} * columns;
  const std::size_t left = first < args.x.ncols ? args.x.ncols - first : 0;
  float value_of[columns] = {};
  load_columns(value_of, args.x.data + row * args.x.stride + first, left);
  const float factor = args.row_scale == nullptr ? 1.0F : __ldg(args.row_scale + row);
  const ColumnScales scales(args, row, first, left);
  const auto most = static_cast<float>((1U << args.out.bits) - 1);
  const bool to_nearest = args.rounding == Rounding::nearest;
  int level[columns];
#pragma unroll
  for (unsigned n = 0; n < columns; ++n) {
    const float place = scales.by_step[n](value_of[n] * factor - scales.offset[n]);
    const float within = fminf(fmaxf(place, 0.0F), most);  // 0 for what is not a number
    level[n] = n < left ? (to_nearest ? whole_number<true>(within) : whole_number<false>(within)) : 0;
  }
  store_levels<columns, Bits>(args.out.row(row), args.out.row_bytes, first, [&](unsigned n) { return level[n]; });
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
