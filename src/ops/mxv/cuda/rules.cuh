// SPDX-License-Identifier: Apache-2.0
// How kernels read the vector and write the output under a rule.
#pragma once

#include "ops/mxv/mxv.hpp"

#include <bitgraph/core/kernel.cuh>

#include <cstdint>
#include <type_traits>

namespace bitgraph::mxv_cuda {

using BitsIn = BitVectorView<>;
using BitsOut = BitVectorView<std::uint64_t>;

template <class In>
inline constexpr bool is_bits = std::is_same_v<In, BitsIn> || std::is_same_v<In, BitsOut>;

/// The values that rows are reduced to; of a binary output 0 or 1.
template <class Out>
struct ValueOf {
  using type = std::uint32_t;
};
template <class T>
struct ValueOf<ValuesView<T>> {
  using type = T;
};

/// The 32 elements of a bit vector from 32 w on.
__device__ inline std::uint32_t bits_word(const std::uint64_t* words, std::size_t w) {
  return __ldg(reinterpret_cast<const std::uint32_t*>(words) + w);
}
__device__ inline bool bit_of(const std::uint64_t* words, NodeId i) {
  return ((bits_word(words, i / 32) >> (i % 32)) & 1U) != 0;
}

/// The elements 32 w .. 32 w + 31 that are computed.
__device__ inline std::uint32_t selected_word(const OutputRule& rule, std::size_t w) {
  if (rule.mask == nullptr) return ~0U;
  const std::uint32_t bits = bits_word(rule.mask, w);
  return rule.complement ? ~bits : bits;
}
__device__ inline bool selects(const OutputRule& rule, std::size_t i) {
  return ((selected_word(rule, i / 32) >> (i % 32)) & 1U) != 0;
}

/// What a row gives, into one value of the output.
template <class S, class T>
__device__ void store_value(const ValuesView<T>& out, const OutputRule& rule, std::size_t i, T value) {
  if (!selects(rule, i)) {
    if (rule.replace) out.data[i] = S::template identity<T>();
    return;
  }
  out.data[i] = rule.accumulate ? S::add(out.data[i], value) : value;
}

/// 32 results into the word w of a binary output, those of the elements in `own` alone; `shared` where other blocks
/// write other elements of the word.
__device__ inline void store_bits(const BitsOut& out, const OutputRule& rule, std::size_t w, std::uint32_t own,
                                  std::uint32_t values, bool shared) {
  const std::uint32_t selected = selected_word(rule, w);
  const std::uint32_t set = own & selected & values;
  const std::uint32_t clear = own & ((rule.accumulate ? 0U : selected) | (rule.replace ? ~selected : 0U)) & ~set;
  std::uint32_t* word = reinterpret_cast<std::uint32_t*>(out.words) + w;
  if (!shared) {
    *word = (*word & ~clear) | set;
    return;
  }
  if (clear != 0) atomicAnd(word, ~clear);
  if (set != 0) atomicOr(word, set);
}

/// The rows begin .. end - 1 among 32 w .. 32 w + 31, as bits.
__device__ inline std::uint32_t rows_of_word(std::size_t w, NodeId begin, NodeId end) {
  std::uint32_t bits = ~0U;
  if (w == begin / 32) bits &= ~0U << (begin % 32);
  if (w == (end - 1) / 32) bits &= ~0U >> (31 - (end - 1) % 32);
  return bits;
}

}  // namespace bitgraph::mxv_cuda
