// SPDX-License-Identifier: Apache-2.0
// Up to eight numbers of a row that are few: bits that weights and rows share, and how a warp writes its rows side by
// side.
#pragma once

#include "ops/fused_vote/ordered.cuh"

namespace bitgraph::spmm_cuda::ordered {

constexpr unsigned outputs = 8;                         ///< at a time
constexpr unsigned scratch_words = 32 * (outputs + 1);  ///< of a warp

/// The features of a word that exist.
__device__ inline std::uint32_t word_mask(std::size_t ncols, unsigned word) {
  const std::size_t first = std::size_t{word} * 32;
  if (first >= ncols) return 0;
  return ncols - first >= 32 ? ~0U : (1U << (ncols - first)) - 1;
}

template <unsigned N>
__device__ void load_words(std::uint32_t (&words)[N], const std::uint32_t* from) {
  if constexpr (N == 1) {
    words[0] = *from;
  } else {
    const auto values = *reinterpret_cast<const typename Part<N>::Values*>(from);
#pragma unroll
    for (unsigned n = 0; n < N; ++n) words[n] = Part<N>::word(values, n);
  }
}

template <unsigned N>
__device__ void store_words(std::uint32_t* to, const std::uint32_t (&words)[N]) {
  if constexpr (N == 1) {
    *to = words[0];
  } else {
    *reinterpret_cast<typename Part<N>::Values*>(to) = Part<N>::of(words);
  }
}

/// The sums over the `Span` lanes that have a row, in all of them.
template <unsigned Span, class Number, unsigned Count>
__device__ void join_lanes(Number (&sums)[Count]) {
#pragma unroll
  for (unsigned step = 1; step < Span; step *= 2) {
#pragma unroll
    for (Number& sum : sums) sum += __shfl_xor_sync(full_warp, sum, step);
  }
}

/// Outputs first .. first + 7 of rows that `Span` lanes have each: four rows at a time, the outputs of a row side by
/// side.
template <unsigned Span>
struct RowOutputs {
  float* out;
  unsigned count;  ///< of a row
  unsigned first;
  float* scratch;  ///< of the warp

  /// out = make(what was there, value); for a whole warp, no_row for nothing. `read` says whether it is looked at.
  template <class Make>
  __device__ void write(NodeId row, const float (&y)[outputs], const Make& make, bool read = false) const {
    const unsigned lane = threadIdx.x % 32;
    __syncwarp();
    if (lane % Span == 0) {
#pragma unroll
      for (unsigned k = 0; k < outputs; ++k) scratch[lane / Span * (outputs + 1) + k] = y[k];
    }
    __syncwarp();
    const unsigned k = lane % outputs;
    constexpr unsigned turns = (32 / Span + 3) / 4;
    float* to[turns];
    float before[turns] = {};
#pragma unroll
    for (unsigned t = 0; t < turns; ++t) {
      const unsigned r = lane / outputs + 4 * t;
      const NodeId its_row = __shfl_sync(full_warp, row, r * Span % 32);
      const bool writes = r < 32 / Span && its_row != no_row && first + k < count;
      to[t] = writes ? out + std::size_t{its_row} * count + first + k : nullptr;
      if (read && writes) before[t] = *to[t];
    }
#pragma unroll
    for (unsigned t = 0; t < turns; ++t) {
      if (to[t] != nullptr) *to[t] = make(before[t], scratch[(lane / outputs + 4 * t) * (outputs + 1) + k]);
    }
  }
};

}  // namespace bitgraph::spmm_cuda::ordered
