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

/// The type of a row's result; a row of a binary output gives 0 or 1.
template <class Out>
struct ValueOf {
  using type = std::uint32_t;
};
template <class T>
struct ValueOf<ValuesView<T>> {
  using type = T;
};

/// The elements 32 w .. 32 w + 31 of a bit vector.
__device__ inline std::uint32_t bits_word(const std::uint64_t* words, std::size_t w) {
  return __ldg(reinterpret_cast<const std::uint32_t*>(words) + w);
}
__device__ inline bool bit_of(const std::uint64_t* words, NodeId i) {
  return ((bits_word(words, i / 32) >> (i % 32)) & 1U) != 0;
}

/// Which of the elements 32 w .. 32 w + 31 the mask asks for.
__device__ inline std::uint32_t selected_word(const OutputRule& rule, std::size_t w) {
  if (rule.mask == nullptr) return ~0U;
  const std::uint32_t bits = bits_word(rule.mask, w);
  return rule.complement ? ~bits : bits;
}
__device__ inline bool selects(const OutputRule& rule, std::size_t i) {
  return ((selected_word(rule, i / 32) >> (i % 32)) & 1U) != 0;
}

/// Stores the result of a row in one value of the output, under the rule.
template <class S, class T>
__device__ void store_value(const ValuesView<T>& out, const OutputRule& rule, std::size_t i, T value) {
  if (!selects(rule, i)) {
    if (rule.replace) out.data[i] = S::template identity<T>();
    return;
  }
  out.data[i] = rule.accumulate ? S::add(out.data[i], value) : value;
}

/// Stores 32 results in word w of a binary output: the elements in `own` only. `shared` says that other blocks write
/// other elements of the same word.
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

/// A bit for each of the rows 32 w .. 32 w + 31 that lies in begin .. end - 1.
__device__ inline std::uint32_t rows_of_word(std::size_t w, NodeId begin, NodeId end) {
  std::uint32_t bits = ~0U;
  if (w == begin / 32) bits &= ~0U << (begin % 32);
  if (w == (end - 1) / 32) bits &= ~0U >> (31 - (end - 1) % 32);
  return bits;
}

}  // namespace bitgraph::mxv_cuda
