// SPDX-License-Identifier: Apache-2.0
// The vote where rows are short: a row for each set of lanes. For bits a lane counts up to
// four words, so that a row takes few instructions; for numbers one, for it is the writing that takes them.
#pragma once

#include "ops/spmm/cuda_emit.cuh"

namespace bitgraph::spmm_cuda {

constexpr unsigned most_words = 16;  ///< of 32 features, of a slice
constexpr int short_planes = 6;      ///< counts of rows of fewer entries than long_row
static_assert(long_row == 1U << short_planes);

/// What a lane has of a row of X: `Words` words of 32 features. As many lanes as it takes for a row are a set.
template <int Words>
struct Vote;
template <>
struct Vote<1> {
  using Values = std::uint32_t;
  static constexpr unsigned batch = 8;  ///< neighbours of a set on their way at a time
  __device__ static std::uint32_t word(Values value, int) { return value; }
  __device__ static void store(std::uint32_t* place, const std::uint32_t (&words)[1]) { *place = words[0]; }
};
template <>
struct Vote<2> {
  using Values = uint2;
  static constexpr unsigned batch = 8;
  __device__ static std::uint32_t word(const Values& values, int w) { return w == 0 ? values.x : values.y; }
  __device__ static void store(std::uint32_t* place, const std::uint32_t (&words)[2]) {
    *reinterpret_cast<Values*>(place) = {words[0], words[1]};
  }
};
template <>
struct Vote<4> {
  using Values = uint4;
  static constexpr unsigned batch = 4;
  __device__ static std::uint32_t word(const Values& values, int w) {
    return w == 0 ? values.x : w == 1 ? values.y : w == 2 ? values.z : values.w;
  }
  __device__ static void store(std::uint32_t* place, const std::uint32_t (&words)[4]) {
    *reinterpret_cast<Values*>(place) = {words[0], words[1], words[2], words[3]};
  }
};

template <int Words, int Planes>
struct Counters {
  BitCounter<Planes> of[Words];
};

/// Adds the `n` neighbours of a row to the lane's counters, a batch at a time. `longest` is the largest n of the warp,
/// `word` the lane's first word.
template <int Words, int Planes>
__device__ void count_row(Counters<Words, Planes>& counters, const BitsIn& x, unsigned word, const NodeId* columns,
                          std::uint32_t n, std::uint32_t longest) {
  using Values = typename Vote<Words>::Values;
  constexpr unsigned batch = Vote<Words>::batch;
  const std::size_t stride = half_words(x) / Words;
  const Values* const values = reinterpret_cast<const Values*>(x.words) + word / Words;
  const std::uint32_t limit = word < half_words(x) ? n : 0;
#pragma unroll 1
  for (std::uint32_t at = 0; at < longest; at += batch) {
    Values value[batch] = {};
#pragma unroll
    for (unsigned k = 0; k < batch; ++k) {
      if (k == 4 && longest - at <= 4) break;  // grids and other sparse graphs
      if (at + k < limit) value[k] = __ldg(values + __ldg(columns + at + k) * stride);
    }
#pragma unroll
    for (int w = 0; w < Words; ++w) {
      std::uint32_t words[batch];
#pragma unroll
      for (unsigned k = 0; k < batch; ++k) words[k] = Vote<Words>::word(value[k], w);
      counters.of[w].add(words);
    }
  }
}

template <int Words, int Planes, class Args>
__device__ void store_votes(const Args& args, const Counters<Words, Planes>& counters, const Counted& counted) {
  if (counted.row == no_row) return;
  std::uint32_t votes[Words];
#pragma unroll
  for (int w = 0; w < Words; ++w) {
    votes[w] = counters.of[w].at_least(counted.n / 2 + counted.n % 2) & feature_mask(args.x.ncols, counted.word + w);
  }
  Vote<Words>::store(half_word(args.out, counted.row, counted.word), votes);
}

/// Writes what the lanes have counted: lanes with no_row have nothing. `room` is of the warp.
template <int Words, int Planes, class Args>
__device__ void emit_counters(const Args& args, const Counters<Words, Planes>& counters, Counted counted,
                              unsigned slots, int planes, std::uint32_t* room) {
  using Out = std::remove_cvref_t<decltype(args.out)>;
  if constexpr (is_bits<Out> && is_plain<Out>) {
    store_votes(args, counters, counted);
  } else {
    if constexpr (is_bits<Out>) {
      if (is_identity(args.epilogue)) return store_votes(args, counters, counted);
    }
#pragma unroll
    for (int w = 0; w < Words; ++w) {
      emit(args, counters.of[w], Counted{counted.row, counted.word + w, counted.n}, slots, planes, room);
    }
  }
}

/// Where no row is long: a row for each set of lanes, `warp_rows` of them a warp.
template <int Lanes, int Words, class Args>
__global__ void __launch_bounds__(block_threads)
    spmm_vote_short(const __grid_constant__ Args args, unsigned warp_rows) {
  __shared__ std::uint32_t rooms[block_warps][short_planes * 32];
  const unsigned set = threadIdx.x % 32 / Lanes;
  const std::size_t place = (std::size_t{blockIdx.x} * block_warps + threadIdx.x / 32) * warp_rows + set;
  const unsigned word = blockIdx.y * most_words + threadIdx.x % Lanes * Words;
  const bool exists = set < warp_rows && place < args.a.nrows;
  const EdgeOffset begin = exists ? __ldg(args.a.row_ptr + place) : 0;
  const auto n = exists ? static_cast<std::uint32_t>(__ldg(args.a.row_ptr + place + 1) - begin) : 0U;
  const NodeId* const columns = args.a.col_ind + begin;
  const unsigned longest = __reduce_max_sync(full_warp, n);
  Counters<Words, short_planes> counters;
  count_row(counters, args.x, word, columns, n, longest);
  const Counted counted{exists && word < half_words(args.x) ? static_cast<NodeId>(place) : no_row, word, n};
  emit_counters(args, counters, counted, warp_rows * Lanes, static_cast<int>(bits_of(longest)),
                rooms[threadIdx.x / 32]);
}

}  // namespace bitgraph::spmm_cuda
