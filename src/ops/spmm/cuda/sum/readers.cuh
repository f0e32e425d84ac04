// SPDX-License-Identifier: Apache-2.0
// Sums of floats, or of weights with signs, on a CUDA device: what a lane reads of a neighbour. A lane has four
// features and adds them up in the order of the columns, as the host does.
#pragma once

#include "core/cuda/launch.cuh"
#include "ops/spmm/cuda/epilogue/emit.cuh"
#include "ops/spmm/cuda/schedule/taken_row.cuh"
#include "ops/spmm/cuda/sum/lane_sums.cuh"
#include "ops/spmm/spmm.hpp"
#include "ops/spmm/tuning.hpp"

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace bitgraph::spmm_cuda {

/// Rows of X that can be read four floats at a time.
struct AlignedFloats {
  const float* data;
  std::size_t stride;
  std::size_t ncols;  ///< a multiple of four: there may be floats behind a row's last feature
};

/// X as rows of whole fours.
inline AlignedFloats in_fours(const float* data, std::size_t stride, std::size_t ncols) {
  return {data, stride, (ncols + own_features - 1) / own_features * own_features};
}

/// Rows of bits over pattern CSR: a lane has four bits of each of the two words of 32 that it reads at a time.
struct WordPairs {
  const std::uint64_t* words;
  std::size_t words_per_row;
};

/// What a reader tells the kernels of equal spans: see SpanSumTuning.
template <SpanSumTuning CudaSumTuning::*Which>
struct SpanShape {
  static constexpr SpanSumTuning tuning = cuda_spmm_tuning().sum.*Which;
  static constexpr unsigned batch = tuning.batch;
  static constexpr unsigned blocks = tuning.blocks;
  static constexpr unsigned most_span_items = tuning.most_span_items;
  static constexpr std::size_t bringing = tuning.bringing;
};

/// What a lane reads of each neighbour: its four features. Those behind the last are read from where there are some.
class AlignedReader : public SpanShape<&CudaSumTuning::of_floats> {
 public:
  using Values = float4;
  static constexpr unsigned chunks = 1;
  static constexpr bool always_weighted = false;

  __device__ AlignedReader(const AlignedFloats& x, std::size_t first)
      : at_(x.data + min(first, x.ncols - own_features)), stride_(x.stride) {}
  __device__ Values fetch(NodeId j) const {
    Values values;
    asm volatile("ld.global.nc.v4.f32 {%0,%1,%2,%3}, [%4];"
                 : "=f"(values.x), "=f"(values.y), "=f"(values.z), "=f"(values.w)
                 : "l"(at_ + j * stride_));
    return values;
  }
  __device__ static float4 terms(const Values& values, float scale, unsigned = 0) {
    return {scale * values.x, scale * values.y, scale * values.z, scale * values.w};
  }

 private:
  const float* at_;
  std::size_t stride_;
};

class FloatReader : public SpanShape<&CudaSumTuning::of_ragged_floats> {
 public:
  using Values = float4;
  static constexpr unsigned chunks = 1;
  static constexpr bool always_weighted = false;

  __device__ FloatReader(const FloatIn& x, std::size_t first) : data_(x.data), stride_(x.stride) {
    for (unsigned n = 0; n < own_features; ++n) at_[n] = static_cast<unsigned>(min(first + n, x.ncols - 1));
  }
  __device__ Values fetch(NodeId j) const {
    const float* const row = data_ + j * stride_;
    Values values;
    load(values.x, row + at_[0]);
    load(values.y, row + at_[1]);
    load(values.z, row + at_[2]);
    load(values.w, row + at_[3]);
    return values;
  }
  __device__ static float4 terms(const Values& values, float scale, unsigned = 0) {
    return AlignedReader::terms(values, scale);
  }

 private:
  __device__ static void load(float& value, const float* place) {
    asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(value) : "l"(place));
  }

  const float* data_;
  std::size_t stride_;
  unsigned at_[own_features];
};

/// The signs of four bits, the first one's `shift` below the highest. A set bit is +scale.
__device__ inline float4 signed_by(float scale, std::uint32_t word, unsigned shift) {
  const std::uint32_t last = word << shift;
  const auto term = [&](std::uint32_t sign) { return __uint_as_float(__float_as_uint(scale) ^ (~sign & 0x80000000U)); };
  return {term(last << 3), term(last << 2), term(last << 1), term(last)};
}

/// Four bits of one word.
class SignReader {
 public:
  using Values = std::uint32_t;
  static constexpr unsigned chunks = 1;
  static constexpr bool always_weighted = true;

  __device__ SignReader(const BitsIn& x, std::size_t first)
      : at_(reinterpret_cast<const std::uint32_t*>(x.words) + min(first / 32, 2 * x.words_per_row - 1)),
        stride_(2 * x.words_per_row),
        shift_(28 - static_cast<unsigned>(first % 32)) {}
  __device__ Values fetch(NodeId j) const {
    std::uint32_t word;
    asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(word) : "l"(at_ + j * stride_));
    return word;
  }
  __device__ float4 terms(Values values, float scale, unsigned = 0) const { return signed_by(scale, values, shift_); }

 private:
  const std::uint32_t* at_;
  std::size_t stride_;
  unsigned shift_;
};

/// Four bits of each of two words.
class PairReader : public SpanShape<&CudaSumTuning::of_bits> {
 public:
  using Values = uint2;
  static constexpr unsigned chunks = 2;
  static constexpr bool always_weighted = true;

  __device__ PairReader(const WordPairs& x, std::size_t first)
      : at_(x.words + min(first / 64, x.words_per_row - 1)),
        stride_(x.words_per_row),
        shift_(28 - static_cast<unsigned>(first % 32)) {}
  __device__ Values fetch(NodeId j) const {
    uint2 words;
    asm volatile("ld.global.nc.v2.u32 {%0,%1}, [%2];" : "=r"(words.x), "=r"(words.y) : "l"(at_ + j * stride_));
    return words;
  }
  __device__ float4 terms(const Values& values, float scale, unsigned chunk) const {
    return signed_by(scale, chunk == 0 ? values.x : values.y, shift_);
  }

 private:
  const std::uint64_t* at_;
  std::size_t stride_;
  unsigned shift_;
};

template <class In>
struct ReaderOf;
template <>
struct ReaderOf<AlignedFloats> {
  using type = AlignedReader;
};
template <>
struct ReaderOf<FloatIn> {
  using type = FloatReader;
};
template <>
struct ReaderOf<BitsIn> {
  using type = SignReader;
};

template <>
struct ReaderOf<WordPairs> {
  using type = PairReader;
};

template <class Args>
using ReaderOfArgs = typename ReaderOf<std::remove_cvref_t<decltype(Args::x)>>::type;

/// Adds Count neighbours of a row of `left` more, whose columns and weights the lanes from `source` on have.
template <unsigned Count, class Reader>
__device__ void add_from_lanes(LaneSums<Reader::chunks>& sum, const Reader& reader, NodeId column, float scale,
                               bool weighted, unsigned source, std::uint32_t left) {
  typename Reader::Values values[Count];
#pragma unroll
  for (unsigned u = 0; u < Count; ++u) values[u] = reader.fetch(__shfl_sync(full_warp, column, source + u));
  if (Reader::always_weighted || weighted) {
#pragma unroll
    for (unsigned u = 0; u < Count; ++u) {
      const float weight = __shfl_sync(full_warp, scale, source + u);
      if (u >= left) continue;
#pragma unroll
      for (unsigned c = 0; c < Reader::chunks; ++c) add(sum.of[c], reader.terms(values[u], weight, c));
    }
  } else if constexpr (!Reader::always_weighted) {
#pragma unroll
    for (unsigned u = 0; u < Count; ++u) {
      if (u < left) add(sum.of[0], values[u]);
    }
  }
}

/// Sums of `n` neighbours of a row for each group of lanes, which have their first columns; each lane has a column of
/// its row ahead. For a whole warp.
template <unsigned Group, class Reader>
__device__ LaneSums<Reader::chunks> sum_of_columns(const Reader& reader, const float* col_scale, const NodeId* cols,
                                                   std::uint32_t n, NodeId next) {
  const unsigned own = threadIdx.x % Group;
  const unsigned first_lane = threadIdx.x % 32 - own;
  const bool weighted = col_scale != nullptr;
  const std::uint32_t longest = Group == 32 ? n : __reduce_max_sync(full_warp, n);
  LaneSums<Reader::chunks> sum;
  for (std::uint32_t at = 0; at < longest; at += Group) {
    const NodeId column = next;
    const float scale = weighted && at + own < n ? __ldg(col_scale + column) : 1.0F;
    if (at + Group + own < n) next = __ldg(cols + at + Group + own);
    const std::uint32_t left = at < n ? n - at : 0;
    const std::uint32_t most = min(longest - at, Group);
    std::uint32_t k = 0;
    for (; k + 4 < most; k += 8) {
      add_from_lanes<8>(sum, reader, column, scale, weighted, first_lane + k, k < left ? left - k : 0);
    }
    if (k < most) add_from_lanes<4>(sum, reader, column, scale, weighted, first_lane + k, k < left ? left - k : 0);
  }
  return sum;
}

/// Blocks of a multiprocessor at least, of kernels whose groups of lanes have a row each.
template <class Reader>
constexpr unsigned row_blocks = std::is_same_v<Reader, FloatReader> ? cuda_spmm_tuning().sum.row_blocks_of_ragged
                                                                    : cuda_spmm_tuning().sum.row_blocks;

/// A row, or a run of its entries, that a group of lanes has added up, and what the row is scaled by.
template <unsigned Group, class Args>
struct SummedRow {
  using Reader = ReaderOfArgs<Args>;
  using Out = std::remove_cvref_t<decltype(Args::out)>;

  std::size_t first;  ///< the lane's first feature
  LaneSums<Reader::chunks> sum;
  float row_scale = 1;

  /// For a whole block, whose frame is filled. Before the kernels before this one have ended only the graph is read.
  template <class Frame>
  __device__ SummedRow(const Args& args, const TakenRow& taken, Frame& frame)
      : first(first_feature<Group, Reader::chunks>()) {
    const unsigned own = threadIdx.x % Group;
    const NodeId columns = own < taken.n ? __ldg(taken.columns + own) : 0;
    wait_for_previous_kernel();
    if constexpr (is_framed<Out>) {
      if (taken.row != no_row) row_scale = row_scale_of(args, taken.row);
      frame.fill(args.epilogue, args.out.ncols);
    }
    sum = sum_of_columns<Group>(Reader(args.x, first), args.col_scale, taken.columns, taken.n, columns);
    if constexpr (is_framed<Out>) {
      if (args.epilogue.has_features()) __syncthreads();
    }
  }

  /// To the output; no_row for none.
  template <class Frame>
  __device__ void emit(const Args& args, NodeId row, const Frame& frame) {
#pragma unroll
    for (unsigned c = 0; c < Reader::chunks; ++c) {
      if constexpr (is_framed<Out>) sum.of[c] = frame.apply(args.epilogue, sum.of[c], row_scale, c);
      emit_sums<Group>(args, row, first + c * chunk_features, sum.of[c]);
    }
  }
};

}  // namespace bitgraph::spmm_cuda
