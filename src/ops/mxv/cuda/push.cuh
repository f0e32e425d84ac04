// SPDX-License-Identifier: Apache-2.0
// out = x^T A on a CUDA device: a warp a row of A adds what x has there to the row's columns, atomically. For sums of
// floats the order would be that of the moment: there is no kernel for them.
#pragma once

#include "ops/mxv/cuda/rules.cuh"
#include "ops/mxv/tuning.hpp"

namespace bitgraph::mxv_cuda {

constexpr unsigned push_threads = cuda_mxv_tuning().block_threads;

/// Everything that is computed, or that the rule replaces, begins as the identity.
template <class S, class T>
__global__ void begin_push(ValuesView<T> out, OutputRule rule) {
  const std::size_t j = std::size_t{blockIdx.x} * push_threads + threadIdx.x;
  if (j >= out.size) return;
  if (selects(rule, j) ? !rule.accumulate : rule.replace) out.data[j] = S::template identity<T>();
}

template <class S>
__global__ void begin_push(BitsOut out, OutputRule rule) {
  const std::size_t w = std::size_t{blockIdx.x} * push_threads + threadIdx.x;
  if (w * 32 >= out.size) return;
  const std::uint32_t selected = selected_word(rule, w);
  reinterpret_cast<std::uint32_t*>(out.words)[w] &=
      ~((rule.accumulate ? 0U : selected) | (rule.replace ? ~selected : 0U));
}

template <class S, class T>
__device__ void add_atomically(T* place, T value) {
  if constexpr (std::is_same_v<S, PlusTimes> || std::is_same_v<S, PlusPair>) {
    atomicAdd(place, value);
  } else if constexpr (std::is_same_v<T, std::int32_t>) {
    if constexpr (std::is_same_v<S, MaxTimes>) {
      atomicMax(place, value);
    } else {
      atomicMin(place, value);
    }
  } else {
    using Word = std::conditional_t<sizeof(T) == 4, unsigned, unsigned long long>;
    auto* word = reinterpret_cast<Word*>(place);
    Word seen = *word;
    while (true) {
      const T now = *reinterpret_cast<const T*>(&seen);
      const T sum = S::add(now, value);
      if (sum == now) return;
      const Word before = atomicCAS(word, seen, *reinterpret_cast<const Word*>(&sum));
      if (before == seen) return;
      seen = before;
    }
  }
}

template <class S, class T>
__device__ void push(const ValuesView<T>& out, const OutputRule& rule, NodeId j, T value) {
  if (selects(rule, j)) add_atomically<S>(out.data + j, value);
}
template <class S>
__device__ void push(const BitsOut& out, const OutputRule& rule, NodeId j, bool) {
  if (!selects(rule, j)) return;
  auto* word = reinterpret_cast<std::uint32_t*>(out.words) + j / 32;
  const std::uint32_t bit = 1U << (j % 32);
  if ((*reinterpret_cast<volatile std::uint32_t*>(word) & bit) == 0) atomicOr(word, bit);
}

/// fn(column) for the entries of row i, shared out among the lanes.
template <class Fn>
__device__ void for_each_entry_of_warp(const CsrPatternView& a, NodeId i, const Fn& fn) {
  const EdgeOffset end = __ldg(a.row_ptr + i + 1);
  for (EdgeOffset e = __ldg(a.row_ptr + i) + threadIdx.x % 32; e < end; e += 32) fn(__ldg(a.col_ind + e));
}
template <int K, class Fn>
__device__ void for_each_entry_of_warp(const BitTileView<K>& a, NodeId i, const Fn& fn) {
  const EdgeOffset end = __ldg(a.tile_row_ptr + i / K + 1);
  for (EdgeOffset t = __ldg(a.tile_row_ptr + i / K) + threadIdx.x % 32; t < end; t += 32) {
    const NodeId first = __ldg(a.tile_col_ind + t) * K;
    for (std::uint64_t bits = a.tile_row(t, static_cast<int>(i % K)); bits != 0; bits &= bits - 1) {
      fn(first + static_cast<NodeId>(__ffsll(static_cast<long long>(bits)) - 1));
    }
  }
}

/// True where every lane of the warp may skip row i: its element adds nothing.
template <class S, class T>
__device__ bool adds_nothing(const ValuesView<const T>& x, NodeId i) {
  return !std::is_same_v<S, PlusPair> && __ldg(x.data + i) == S::template identity<T>();
}
template <class S>
__device__ bool adds_nothing(const BitsIn& x, NodeId i) {
  return !bit_of(x.words, i);
}

template <class S, class Graph, class In, class Out>
__global__ void __launch_bounds__(push_threads) vxm_rows(MxvArgs<S, Graph, In, Out> args) {
  const NodeId i = static_cast<NodeId>((std::size_t{blockIdx.x} * push_threads + threadIdx.x) / 32);
  if (i >= args.a.nrows || adds_nothing<S>(args.x, i)) return;
  if constexpr (is_bits<Out>) {
    for_each_entry_of_warp(args.a, i, [&](NodeId j) { push<S>(args.out, args.rule, j, true); });
  } else {
    using T = std::remove_pointer_t<decltype(args.out.data)>;
    T value{1};
    if constexpr (!is_bits<In>) value = S::multiply(__ldg(args.x.data + i));
    for_each_entry_of_warp(args.a, i, [&](NodeId j) { push<S>(args.out, args.rule, j, value); });
  }
}

template <class S, class Out>
constexpr bool pushes_exactly() {
  if constexpr (is_bits<Out>) {
    return true;
  } else {
    using T = std::remove_pointer_t<decltype(Out{}.data)>;
    return std::is_integral_v<T> || !(std::is_same_v<S, PlusTimes> || std::is_same_v<S, PlusPair>);
  }
}

template <class S, class Graph, class In, class Out>
void launch_push(const Device& device, const MxvArgs<S, Graph, In, Out>& args) {
  // Counts are sums of ones: exact in a float up to 2^24, whatever the order.
  constexpr bool counts = is_bits<In> || std::is_same_v<S, PlusPair>;
  if constexpr (!pushes_exactly<S, Out>() && !counts) {
    // vxm_into goes by way of the transpose.
    fail(ErrorCode::not_possible, device.name() + ": vxm over plus_times of floating point would depend on timing");
  } else {
    if (args.out.size != 0) {
      const std::size_t items = is_bits<Out> ? (args.out.size + 31) / 32 : args.out.size;
      begin_push<S><<<blocks_for(items, push_threads), push_threads, 0, stream_of(device)>>>(args.out, args.rule);
      cuda_check_launch("begin_push");
    }
    if (args.a.nrows == 0) return;
    vxm_rows<<<blocks_for(std::size_t{args.a.nrows} * 32, push_threads), push_threads, 0, stream_of(device)>>>(args);
    cuda_check_launch("vxm_rows");
  }
}

}  // namespace bitgraph::mxv_cuda
