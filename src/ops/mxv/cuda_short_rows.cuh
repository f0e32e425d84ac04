// SPDX-License-Identifier: Apache-2.0
// out = A x for pattern CSR without long rows, on a CUDA device: a few lanes a row, as many as the mean row fills. One
// short chain of loads, and rows outside the mask cost nothing.
#pragma once

#include "ops/cuda_row_sum.cuh"
#include "ops/mxv/cuda_rules.cuh"

namespace bitgraph::mxv_cuda {

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

template <class S, int Lanes, class In, class Out>
__global__ void __launch_bounds__(short_rows_threads<Lanes>) mxv_short_rows(MxvArgs<S, CsrPatternView, In, Out> args) {
  constexpr unsigned block_rows = short_rows_threads<Lanes> / Lanes;
  using T = typename ValueOf<Out>::type;
  const NodeId row = blockIdx.x * block_rows + threadIdx.x / Lanes;
  T sum = S::template identity<T>();
  if (row < args.a.nrows && selects(args.rule, row)) {
    sum = lane_sum_of_row<S, T, Lanes>(args.a, row, [&](NodeId j) { return element_product<S, T>(args.x, j); });
  }
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

template <class S, class In, class Out>
void launch_short_rows(const Device& device, const MxvArgs<S, CsrPatternView, In, Out>& args) {
  with_lanes_of_row(args.a, [&](auto lanes) { launch_short_rows<lanes()>(device, args); });
}

}  // namespace bitgraph::mxv_cuda
