// SPDX-License-Identifier: Apache-2.0
// Sums of bfloat16 on a CUDA device, by the kernels for sums of floats: a lane widens the four features that it reads
// of a neighbour, and rounds its sums once, when it stores them. Rows of X take half the bytes of floats.
#include <bitgraph/formats/bfloat16.hpp>

#include "ops/spmm/cuda/dispatch.cuh"
#include "ops/spmm/instances.hpp"

namespace bitgraph {

__device__ inline void store_one(Bfloat16* at, float y) {
  __stcs(reinterpret_cast<unsigned short*>(at), Bfloat16(y).bits);
}

__device__ inline void store_four(Bfloat16* at, const float4& y) {
  const auto pair = [](float low, float high) {
    return std::uint32_t{Bfloat16(low).bits} | std::uint32_t{Bfloat16(high).bits} << 16;
  };
  __stcs(reinterpret_cast<uint2*>(at), uint2{pair(y.x, y.y), pair(y.z, y.w)});
}

namespace spmm_cuda {

/// Rows of X that can be read four bfloat16 at a time.
struct AlignedBfloats {
  const Bfloat16* data;
  std::size_t stride;
  std::size_t ncols;  ///< a multiple of four
};

/// What the readers of bfloat16 tell the kernels.
struct BfloatReaderTraits {
  using Values = float4;
  static constexpr unsigned chunks = 1;
  static constexpr bool always_weighted = false;

  __device__ static float4 terms(const Values& values, float scale, unsigned = 0) {
    return AlignedReader::terms(values, scale);
  }
};

class AlignedBfloatReader : public BfloatReaderTraits, public SpanShape<&CudaSumTuning::of_bfloats> {
 public:
  __device__ AlignedBfloatReader(const AlignedBfloats& x, std::size_t first)
      : at_(x.data + min(first, x.ncols - own_features)), stride_(x.stride) {}
  __device__ Values fetch(NodeId j) const {
    std::uint32_t low;
    std::uint32_t high;
    asm volatile("ld.global.nc.v2.u32 {%0,%1}, [%2];" : "=r"(low), "=r"(high) : "l"(at_ + j * stride_));
    return {__uint_as_float(low << 16), __uint_as_float(low & 0xFFFF0000U), __uint_as_float(high << 16),
            __uint_as_float(high & 0xFFFF0000U)};
  }

 private:
  const Bfloat16* at_;
  std::size_t stride_;
};

/// Rows that may begin, or end, anywhere.
class BfloatReader : public BfloatReaderTraits, public SpanShape<&CudaSumTuning::of_ragged_bfloats> {
 public:
  __device__ BfloatReader(const DenseView<const Bfloat16>& x, std::size_t first) : data_(x.data), stride_(x.stride) {
    for (unsigned n = 0; n < own_features; ++n) at_[n] = static_cast<unsigned>(min(first + n, x.ncols - 1));
  }
  __device__ Values fetch(NodeId j) const {
    const Bfloat16* const row = data_ + j * stride_;
    return {load(row + at_[0]), load(row + at_[1]), load(row + at_[2]), load(row + at_[3])};
  }

 private:
  __device__ static float load(const Bfloat16* place) {
    unsigned short bits;
    asm volatile("ld.global.nc.u16 %0, [%1];" : "=h"(bits) : "l"(place));
    return __uint_as_float(std::uint32_t{bits} << 16);
  }

  const Bfloat16* data_;
  std::size_t stride_;
  unsigned at_[own_features];
};

template <>
struct ReaderOf<AlignedBfloats> {
  using type = AlignedBfloatReader;
};
template <>
struct ReaderOf<DenseView<const Bfloat16>> {
  using type = BfloatReader;
};

template <class Graph, class Out>
using BfloatArgs = SpmmArgs<Graph, DenseView<const Bfloat16>, Out>;

template <class Graph, class Out>
bool reads_in_fours(const BfloatArgs<Graph, Out>& args) {
  return is_in_fours(args.x) && args.x.ncols % own_features == 0;
}

template <class Graph, class Out>
SpmmArgs<Graph, AlignedBfloats, Out> aligned(const BfloatArgs<Graph, Out>& args) {
  const AlignedBfloats x{args.x.data, args.x.stride, args.x.ncols};
  return {args.a, x, args.out, args.col_scale, args.epilogue, args.row_order};
}

template <class Out>
void launch_sum(const Device& device, const BfloatArgs<CsrPatternView, Out>& args, const Plan& plan) {
  if (reads_in_fours(args)) return start_sum<16>(device, aligned(args), plan.kernel);
  start_sum<16>(device, args, plan.kernel);
}

template <class Out>
void launch_sum(const Device& device, const BfloatArgs<AnyTiles, Out>& args, const Plan&) {
  if (reads_in_fours(args)) return start_tile_sum(device, aligned(args));
  start_tile_sum(device, args);
}

}  // namespace spmm_cuda

[[gnu::used]] constexpr auto spmm_cuda_bfloat16_to_floats = spmm_kernels<Cuda, DenseView<const Bfloat16>, FloatOut>();
[[gnu::used]] constexpr auto spmm_cuda_bfloat16 = spmm_kernels<Cuda, DenseView<const Bfloat16>, DenseView<Bfloat16>>();

}  // namespace bitgraph
