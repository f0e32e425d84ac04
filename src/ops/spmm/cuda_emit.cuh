// SPDX-License-Identifier: Apache-2.0
// From counters to the output: the vote against half of the neighbours in bit-sliced form, or counts as numbers.
#pragma once

#include "ops/spmm/cuda_counters.cuh"
#include "ops/spmm/cuda_rows.cuh"

#include <type_traits>

namespace bitgraph::spmm_cuda {

template <class Out>
inline constexpr bool is_bits = std::is_same_v<Out, BitsOut> || std::is_same_v<Out, BitsIn>;

/// SpmmEpilogue::apply.
__device__ inline float through(const SpmmEpilogue& epilogue, std::size_t i, std::size_t f, float v) {
  if (epilogue.feature_scale != nullptr) v *= __ldg(epilogue.feature_scale + f);
  if (epilogue.feature_offset != nullptr) v += __ldg(epilogue.feature_offset + f);
  if (epilogue.row_scale != nullptr) v *= __ldg(epilogue.row_scale + i);
  if (epilogue.bias != nullptr) v += __ldg(epilogue.bias + f);
  return v;
}

__device__ inline bool is_identity(const SpmmEpilogue& epilogue) {
  return epilogue.row_scale == nullptr && epilogue.feature_scale == nullptr && epilogue.feature_offset == nullptr &&
         epilogue.bias == nullptr;
}

/// What a lane has counted: 32 features from 32 word on, over the n neighbours of a row; no_row for nothing.
struct Counted {
  NodeId row;
  unsigned word;
  std::uint32_t n;
};

__device__ inline unsigned bits_of(std::uint32_t n) { return 32U - static_cast<unsigned>(__clz(static_cast<int>(n))); }

/// Words of 32 features in a row of a bit matrix: a multiple of two.
template <class View>
__device__ unsigned half_words(const View& x) {
  return 2 * static_cast<unsigned>(x.words_per_row);
}

/// The features of a word that exist.
__device__ inline std::uint32_t feature_mask(std::size_t ncols, unsigned word) {
  const std::size_t first = std::size_t{word} * 32;
  if (first >= ncols) return 0;
  return ncols - first >= 32 ? ~0U : (1U << (ncols - first)) - 1;
}

__device__ inline std::uint32_t* half_word(const BitsOut& out, NodeId row, unsigned word) {
  return reinterpret_cast<std::uint32_t*>(out.words + std::size_t{row} * out.words_per_row) + word;
}

/// Counts as numbers, through the epilogue: all the warp turns the counter of one lane after the other, of those below
/// `slots`, into 32 numbers side by side. plane_of(p, slot) is plane p of a lane's counter, for p below `planes`,
/// Planes at most.
template <int Planes, class Args, class PlaneOf>
__device__ void emit_numbers(const Args& args, const PlaneOf& plane_of, const Counted& counted, unsigned slots,
                             int planes) {
  const unsigned lane = threadIdx.x % 32;
  std::uint32_t votes = 0;
  for (unsigned slot = 0; slot < slots; ++slot) {
    const NodeId row = __shfl_sync(full_warp, counted.row, slot);
    const unsigned word = __shfl_sync(full_warp, counted.word, slot);
    const std::uint32_t n = __shfl_sync(full_warp, counted.n, slot);
    if (row == no_row) continue;
    std::uint32_t ones = 0;
#pragma unroll
    for (int p = 0; p < Planes; ++p) {
      if (p >= planes) break;
      ones |= ((plane_of(p, slot) >> lane) & 1U) << p;
    }
    const std::size_t f = std::size_t{word} * 32 + lane;
    const bool exists = f < args.x.ncols;
    const auto sum = static_cast<float>(2 * static_cast<std::int64_t>(ones) - static_cast<std::int64_t>(n));
    const float y = exists ? through(args.epilogue, row, f, sum) : -1.0F;
    if constexpr (is_bits<decltype(args.out)>) {
      const std::uint32_t bits = __ballot_sync(full_warp, y >= 0);
      if (lane == slot) votes = bits;
    } else {
      if (exists) args.out.data[std::size_t{row} * args.out.stride + f] = y;
    }
  }
  if constexpr (is_bits<decltype(args.out)>) {
    if (lane < slots && counted.row != no_row) *half_word(args.out, counted.row, counted.word) = votes;
  }
}

/// Where a warp turns the counts of its lanes into rows of numbers; not needed for bits.
template <class Out>
struct Stage {};
template <>
struct Stage<FloatOut> {
  static constexpr unsigned width = 16;  ///< features at a time
  float value[32][width + 1];
  float* out[32];         ///< where the 32 numbers of a lane belong
  unsigned features[32];  ///< how many of them there are
};

/// Counts as numbers, of all lanes: each works out its own, and they are written side by side.
template <int Planes, class Args>
__device__ void emit_own_numbers(const Args& args, BitCounter<Planes> counter, const Counted& counted, int planes,
                                 Stage<std::remove_cvref_t<decltype(args.out)>>& stage) {
  constexpr unsigned width = 16;
  const unsigned lane = threadIdx.x % 32;
  const std::size_t first = std::size_t{counted.word} * 32;
  const bool exists = counted.row != no_row && first < args.x.ncols;
  const auto features = static_cast<unsigned>(exists ? min(args.x.ncols - first, std::size_t{32}) : 0);
  if constexpr (!is_bits<decltype(args.out)>) {
    stage.features[lane] = features;
    stage.out[lane] = exists ? args.out.data + std::size_t{counted.row} * args.out.stride + first : nullptr;
  }
  std::uint32_t votes = 0;
#pragma unroll 1
  for (unsigned begin = 0; begin < 32; begin += width) {
#pragma unroll
    for (unsigned i = 0; i < width; ++i) {
      std::uint32_t ones = 0;
#pragma unroll
      for (int p = 0; p < Planes; ++p) {
        if (p >= planes) break;
        ones |= ((counter.plane[p] >> i) & 1U) << p;
      }
      const auto sum = static_cast<float>(static_cast<int>(2 * ones) - static_cast<int>(counted.n));
      const float y = begin + i < features ? through(args.epilogue, counted.row, first + begin + i, sum) : -1.0F;
      if constexpr (is_bits<decltype(args.out)>) {
        votes |= (y >= 0 ? 1U : 0U) << (begin + i);
      } else {
        stage.value[lane][i] = y;
      }
    }
#pragma unroll
    for (int p = 0; p < Planes; ++p) counter.plane[p] >>= width;
    if constexpr (!is_bits<decltype(args.out)>) {
      __syncwarp();
#pragma unroll 4
      for (unsigned slot = lane / width; slot < 32; slot += 32 / width) {
        const unsigned i = lane % width;
        if (begin + i < stage.features[slot]) stage.out[slot][begin + i] = stage.value[slot][i];
      }
      __syncwarp();
    }
  }
  if constexpr (is_bits<decltype(args.out)>) {
    if (counted.row != no_row) *half_word(args.out, counted.row, counted.word) = votes;
  }
}

/// The vote itself, where nothing stands around it; false where numbers are needed.
template <int Planes, class Args>
__device__ bool emit_votes(const Args& args, const BitCounter<Planes>& counter, const Counted& counted,
                           unsigned slots) {
  if constexpr (is_bits<decltype(args.out)>) {
    if (is_identity(args.epilogue)) {
      if (threadIdx.x % 32 < slots && counted.row != no_row) {
        *half_word(args.out, counted.row, counted.word) =
            counter.at_least(counted.n / 2 + counted.n % 2) & feature_mask(args.x.ncols, counted.word);
      }
      return true;
    }
  }
  return false;
}

/// The lanes below `slots` have a counter each.
template <int Planes, class Args>
__device__ void emit(const Args& args, const BitCounter<Planes>& counter, const Counted& counted, unsigned slots,
                     int planes) {
  if (emit_votes(args, counter, counted, slots)) return;
  const auto plane_of = [&](int p, unsigned slot) { return __shfl_sync(full_warp, counter.plane[p], slot); };
  emit_numbers<Planes>(args, plane_of, counted, slots, planes);
}

}  // namespace bitgraph::spmm_cuda
