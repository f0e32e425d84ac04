// SPDX-License-Identifier: Apache-2.0
// out = A x for pattern CSR without long rows, on a CUDA device: a few lanes a row, as many as the mean row fills. One
// short chain of loads, and rows outside the mask cost nothing.
#pragma once

#include "ops/mxv/cuda_rules.cuh"

namespace bitgraph::mxv_cuda {

constexpr EdgeOffset longest_short_row = 512;  ///< longer ones are for chunks

/// Threads of a block: its rows are whole words of a binary output.
template <int Lanes>
constexpr unsigned short_rows_threads = Lanes * 32 > 256 ? Lanes * 32 : 256;

template <class S, class T>
__device__ T element_product(const ValuesView<const T>& x, NodeId j) {
  return S::multiply(__ldg(x.data + j));
}
template <class S, class T>
__device__ T element_product(const BitsIn& x, NodeId j) {
  return static_cast<T>(bit_of(x.words, j) ? 1 : 0);
}

/// The row of this group of lanes; all of its lanes have the result.
template <class S, class T, int Lanes, class In>
__device__ T sum_row(const CsrPatternView& a, const In& x, NodeId row) {
  constexpr unsigned unroll = 4;
  const EdgeOffset end = __ldg(a.row_ptr + row + 1);
  T sum = S::template identity<T>();
  for (EdgeOffset e = __ldg(a.row_ptr + row) + threadIdx.x % Lanes; e < end; e += unroll * Lanes) {
    NodeId col[unroll];
    for (unsigned n = 0; n < unroll; ++n) col[n] = e + n * Lanes < end ? __ldg(a.col_ind + e + n * Lanes) : a.ncols;
    for (unsigned n = 0; n < unroll; ++n) {
      if (col[n] != a.ncols) sum = S::add(sum, element_product<S, T>(x, col[n]));
    }
  }
  return sum;
}

template <class S, int Lanes, class In, class Out>
__global__ void __launch_bounds__(short_rows_threads<Lanes>) mxv_short_rows(MxvArgs<S, CsrPatternView, In, Out> args) {
  constexpr unsigned block_rows = short_rows_threads<Lanes> / Lanes;
  using T = typename ValueOf<Out>::type;
  const NodeId row = blockIdx.x * block_rows + threadIdx.x / Lanes;
  T sum = S::template identity<T>();
  if (row < args.a.nrows && selects(args.rule, row)) sum = sum_row<S, T, Lanes>(args.a, args.x, row);
  for (unsigned step = Lanes / 2; step != 0; step /= 2) sum = S::add(sum, __shfl_xor_sync(full_warp, sum, step));
  if constexpr (is_bits<Out>) {
    __shared__ std::uint32_t words[block_rows / 32];
    if (threadIdx.x < block_rows / 32) words[threadIdx.x] = 0;
    __syncthreads();
    if (threadIdx.x % Lanes == 0 && sum != 0) {
      const unsigned bit = threadIdx.x / Lanes;
      atomicOr(&words[bit / 32], 1U << (bit % 32));
    }
    __syncthreads();
    const std::size_t first = std::size_t{blockIdx.x} * block_rows + threadIdx.x * 32;
    if (threadIdx.x >= block_rows / 32 || first >= args.a.nrows) return;
    const std::size_t left = args.a.nrows - first;
    store_bits(args.out, args.rule, first / 32, left >= 32 ? ~0U : (1U << left) - 1, words[threadIdx.x], false);
  } else {
    if (threadIdx.x % Lanes == 0 && row < args.a.nrows) store_value<S>(args.out, args.rule, row, sum);
  }
}

template <int Lanes, class S, class In, class Out>
void launch_short_rows(const Device& device, const MxvArgs<S, CsrPatternView, In, Out>& args) {
  constexpr unsigned threads = short_rows_threads<Lanes>;
  mxv_short_rows<S, Lanes>
      <<<blocks_for(std::size_t{args.a.nrows} * Lanes, threads), threads, 0, stream_of(device)>>>(args);
  cuda_check_launch("mxv_short_rows");
}

/// Calls fn with how many lanes a row takes, by the entries of a mean row.
template <class Fn>
void with_lanes(const CsrPatternView& a, Fn&& fn) {
  const EdgeOffset mean = a.num_entries / a.nrows;
  if (mean <= 8) return fn(std::integral_constant<int, 4>());
  if (mean <= 24) return fn(std::integral_constant<int, 8>());
  return fn(std::integral_constant<int, 32>());
}

template <class S, class In, class Out>
void launch_short_rows(const Device& device, const MxvArgs<S, CsrPatternView, In, Out>& args) {
  with_lanes(args.a, [&](auto lanes) { launch_short_rows<lanes()>(device, args); });
}

}  // namespace bitgraph::mxv_cuda
