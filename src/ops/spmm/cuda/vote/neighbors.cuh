// SPDX-License-Identifier: Apache-2.0
// A lane's words of a row's neighbours, how they come to its counters, and from there to the output.
#pragma once

#include "core/cuda/launch.cuh"
#include "ops/cuda_vote_counters.cuh"
#include "ops/spmm/cuda/block.hpp"
#include "ops/spmm/cuda/epilogue/emit.cuh"
#include "ops/spmm/cuda/plan.hpp"
#include "ops/spmm/cuda/schedule/columns.cuh"
#include "ops/spmm/spmm.hpp"

#include <algorithm>
#include <bit>

namespace bitgraph::spmm_cuda {

constexpr unsigned most_words = cuda_spmm_tuning().vote.slice_words;
constexpr int short_planes = std::countr_zero(long_row);  ///< counts of rows of fewer entries than long_row
constexpr int long_planes = 10;                           ///< counts of a lane of a longer row
static_assert(long_row == 1U << short_planes);

/// What a lane has of a row of X: `Words` words of 32 features. As many lanes as it takes for a row are a set.
template <int Words>
struct Vote;
template <>
struct Vote<1> {
  using Values = std::uint32_t;
  static constexpr unsigned batch = cuda_spmm_tuning().vote.batch;
  __device__ static std::uint32_t word(Values value, int) { return value; }
  __device__ static void store(std::uint32_t* place, const std::uint32_t (&words)[1]) { *place = words[0]; }
};
template <>
struct Vote<2> {
  using Values = uint2;
  static constexpr unsigned batch = cuda_spmm_tuning().vote.batch;
  __device__ static std::uint32_t word(const Values& values, int w) { return w == 0 ? values.x : values.y; }
  __device__ static void store(std::uint32_t* place, const std::uint32_t (&words)[2]) {
    *reinterpret_cast<Values*>(place) = {words[0], words[1]};
  }
};
template <>
struct Vote<4> {
  using Values = uint4;
  static constexpr unsigned batch = cuda_spmm_tuning().vote.wide_batch;
  __device__ static std::uint32_t word(const Values& values, int w) {
    return w == 0 ? values.x : w == 1 ? values.y : w == 2 ? values.z : values.w;
  }
  __device__ static void store(std::uint32_t* place, const std::uint32_t (&words)[4]) {
    *reinterpret_cast<Values*>(place) = {words[0], words[1], words[2], words[3]};
  }
};

/// Where a lane's words of neighbours lie.
template <int Words>
struct Neighbors {
  using Values = typename Vote<Words>::Values;
  const char* first;
  unsigned row_bytes;
  bool exist;

  __device__ Neighbors(const BitsIn& x, unsigned word)
      : first(reinterpret_cast<const char*>(reinterpret_cast<const std::uint32_t*>(x.words) + word)),
        row_bytes(static_cast<unsigned>(x.words_per_row * sizeof(std::uint64_t))),
        exist(word < half_words(x)) {}

  __device__ Values of(NodeId j) const {
    return *reinterpret_cast<const Values*>(first + std::uint64_t{j} * row_bytes);
  }
};

/// Adds the `n` neighbours of a row from `first` on that are this lane's, each `Sets` further on, and again `step`
/// further on; `longest` is the largest n of the warp. Counts beyond 2^Low are looked at only where there may be some.
template <int Sets, int Low, unsigned Batch, int Words, int Planes>
__device__ void count_in_turns(Counters<Words, Planes>& counters, const Neighbors<Words>& neighbors,
                               const NodeId* columns, std::uint32_t first, std::uint32_t n, std::uint32_t longest,
                               std::uint32_t step) {
  constexpr int log2 = Batch == 8 ? 3 : 2;
  const std::uint32_t limit = neighbors.exist ? n : 0;
  const std::uint32_t begin = first - first % Sets;
  const bool many = Low < Planes && (longest + step - 1) / step * Batch >= 1U << Low;
  NodeId column[Batch] = {};
  const auto load_columns = [&](std::uint32_t at) {
#pragma unroll
    for (unsigned k = 0; k < Batch; ++k) {
      if (at + k * Sets < limit)
        column[k] = Sets <= 4 ? __ldg(columns + at + k * Sets) : stream_in(columns + at + k * Sets);
    }
  };
  load_columns(first);
  NodeId all = column[0];
#pragma unroll
  for (unsigned k = 1; k < Batch; ++k) all &= column[k];
  wait_for_previous_kernel(all);
#pragma unroll 1
  for (std::uint32_t at = begin; at < longest; at += step) {
    const std::uint32_t own = at + first % Sets;
    typename Vote<Words>::Values value[Batch] = {};
#pragma unroll
    for (unsigned k = 0; k < Batch; ++k) {
      if (Batch == 8 && k >= Batch / 2 && longest - at <= Batch / 2 * Sets) continue;
      if (own + k * Sets < limit) value[k] = neighbors.of(column[k]);
    }
    if (at + step < longest) load_columns(own + step);
    std::uint32_t carry[Words];
#pragma unroll
    for (int w = 0; w < Words; ++w) {
      std::uint32_t words[Batch];
#pragma unroll
      for (unsigned k = 0; k < Batch; ++k) words[k] = Vote<Words>::word(value[k], w);
      carry[w] = counters.of[w].template add_carry<log2, std::min(Low, Planes)>(counters.of[w].add_low(words));
    }
    if (Low < Planes && many) {
#pragma unroll
      for (int w = 0; w < Words; ++w) static_cast<void>(counters.of[w].template add_carry<Low, Planes>(carry[w]));
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

/// Writes what the lanes have counted: lanes with no_row have nothing. `scratch` is of the warp, for one word of each
/// or, `AtOnce`, for all.
template <bool AtOnce, int Words, int Planes, class Args>
__device__ void emit_counters(const Args& args, const Counters<Words, Planes>& counters, Counted counted,
                              unsigned slots, int planes, std::uint32_t* scratch) {
  using Out = std::remove_cvref_t<decltype(args.out)>;
  if constexpr (is_bits<Out> && is_plain<Out>) {
    store_votes(args, counters, counted);
  } else if constexpr (is_plain<Out> && AtOnce) {
    emit_plain_bytes(args, counters, counted, slots, scratch);
  } else {
    if constexpr (is_bits<Out>) {
      if (args.epilogue.is_identity()) return store_votes(args, counters, counted);
    }
#pragma unroll
    for (int w = 0; w < Words; ++w) {
      emit(args, counters.of[w], Counted{counted.row, counted.word + w, counted.n}, slots, planes, scratch);
    }
  }
}

}  // namespace bitgraph::spmm_cuda
