// SPDX-License-Identifier: Apache-2.0
// Counts of neighbours' bits, multiplied by weights of -1 and 1 where they are made. Counts are bit-sliced: a plane of
// them is a row of bits like any other, and the tensor cores multiply all planes of a row at once.
#include "ops/fused_vote/ordered.cuh"
#include "ops/fused_vote/row_outputs.cuh"

namespace bitgraph {

namespace spmm_cuda::ordered {

namespace {

constexpr unsigned most_tiles = 8;  ///< of eight outputs; the first column is of ones, and counts bits

/// sum += common ones of 16 rows and 8 columns, 128 bits.
__device__ inline void count_common(int (&sum)[4], std::uint32_t upper, std::uint32_t lower, std::uint32_t w) {
  asm("mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.and.popc {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
      : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
      : "r"(upper), "r"(lower), "r"(w));
}

template <unsigned Words>
struct CountWeights {
  std::uint32_t word[8 * most_tiles * Words];
  int ones[8 * most_tiles];

  __device__ void load(const FusedWeights& weights, std::size_t ncols, unsigned threads) {
    const unsigned rows = tiles_of(weights) * 8;
    for (unsigned i = threadIdx.x; i < rows * Words; i += threads) {
      const unsigned row = i / Words;
      std::uint32_t bits = 0;
      if (row == 0) bits = word_mask(ncols, i % Words);
      if (row != 0 && row <= weights.count) bits = __ldg(weights.words + (row - 1) * weights.stride + i % Words);
      word[i] = bits;
    }
    __syncthreads();
    for (unsigned row = threadIdx.x; row < rows; row += threads) {
      int sum = 0;
      for (unsigned w = 0; w < Words; ++w) sum += __popc(word[row * Words + w]);
      ones[row] = sum;
    }
  }

  [[nodiscard]] static __host__ __device__ unsigned tiles_of(const FusedWeights& weights) {
    return weights.count == 0 ? 0 : weights.count / 8 + 1;
  }

  /// Of rows `upper` and `lower` of eight planes each and up, Words words a plane; tile t.
  __device__ void multiply(int (&sum)[4], const std::uint32_t* planes, unsigned t) const {
    const unsigned g = threadIdx.x % 32 / 4;
    const unsigned q = threadIdx.x % 4;
#pragma unroll
    for (unsigned first = 0; first < Words; first += 4) {
      const unsigned at = first + q;
      const bool exists = at < Words;
      count_common(sum, exists ? planes[g * Words + at] : 0, exists ? planes[(g + 8) * Words + at] : 0,
                   exists ? word[(8 * t + g) * Words + at] : 0);
    }
  }
};

template <class S>
struct CountsShared {
  CountWeights<S::row_words> weights, own_weights;
  std::uint32_t planes[S::threads / 32][16 * S::row_words];  ///< of a row, or eight of two rows
};

__device__ inline int add_groups(int value) {
#pragma unroll
  for (unsigned step = 4; step < 32; step *= 2) value += __shfl_xor_sync(full_warp, value, step);
  return value;
}

/// A lane's two outputs: those of tile lane / 4.
struct Two {
  int value[2] = {};

  __device__ void take(unsigned tile, int first, int second) {
    if (threadIdx.x % 32 / 4 != tile) return;
    value[0] = first;
    value[1] = second;
  }
};

/// A row's own bits times their weights, added up as floats in `y`.
template <unsigned Words>
__device__ void add_own(float (&y)[2], const FusedCounts& args, const CountWeights<Words>& weights, NodeId row) {
  const unsigned g = threadIdx.x % 32 / 4;
  const unsigned q = threadIdx.x % 4;
  Two common;
  int own_ones = 0;
  const unsigned tiles = weights.tiles_of(args.own_weights);
#pragma unroll 1
  for (unsigned t = 0; t < tiles; ++t) {
    int sum[4] = {};
#pragma unroll
    for (unsigned first = 0; first < Words; first += 4) {
      const unsigned at = first + q;
      const bool exists = at < Words;
      count_common(sum, exists && g == 0 ? args.x[row * args.stride + at] : 0, 0,
                   exists ? weights.word[(8 * t + g) * Words + at] : 0);
    }
    const int first = __shfl_sync(full_warp, sum[0], q);
    const int second = __shfl_sync(full_warp, sum[1], q);
    if (t == 0) own_ones = __shfl_sync(full_warp, first, 0);
    common.take(t, first, second);
  }
#pragma unroll
  for (unsigned k = 0; k < 2; ++k) {
    const unsigned column = 8 * g + 2 * q + k;
    if (column == 0 || column > args.own_weights.count) continue;
    auto own = static_cast<float>(static_cast<int>(args.ncols) - 2 * own_ones - 2 * weights.ones[column] +
                                  4 * common.value[k]);
    if (args.own_scale != nullptr) own *= __ldg(args.own_scale + column - 1);
    if (args.own_bias != nullptr) own += __ldg(args.own_bias + column - 1);
    y[k] += own;
  }
}

/// The outputs of a row of n entries, of whose counts bits are `common` with the weights; for a whole warp.
template <class S>
__device__ void emit_products(const FusedCounts& args, const CountsShared<S>& shared, const Two& common, int ones,
                              NodeId row, std::uint32_t n) {
  const unsigned g = threadIdx.x % 32 / 4;
  const unsigned q = threadIdx.x % 4;
  const float row_scale = args.row_scale == nullptr ? 1.0F : __ldg(args.row_scale + row);
  const auto entries = static_cast<int>(n);
  float y[2] = {};
#pragma unroll
  for (unsigned k = 0; k < 2; ++k) {
    const unsigned column = 8 * g + 2 * q + k;
    if (column == 0 || column > args.weights.count) continue;
    const int s =
        4 * common.value[k] - 2 * ones + entries * (static_cast<int>(args.ncols) - 2 * shared.weights.ones[column]);
    y[k] = static_cast<float>(s);
    if (args.scale != nullptr) y[k] *= __ldg(args.scale + column - 1);
    if (args.bias != nullptr) y[k] += static_cast<float>(n) * __ldg(args.bias + column - 1);
    y[k] *= row_scale;
  }
  if (args.own_weights.count != 0) add_own<S::row_words>(y, args, shared.own_weights, row);
#pragma unroll
  for (unsigned k = 0; k < 2; ++k) {
    const unsigned column = 8 * g + 2 * q + k;
    if (column == 0 || column > args.weights.count) continue;
    args.out[std::size_t{row} * args.weights.count + column - 1] = y[k];
  }
}

template <class S>
struct CountSink {
  static constexpr bool short_rows = false;
  static constexpr unsigned words = S::row_words;

  const FusedCounts& args;
  const CountsShared<S>& shared;
  std::uint32_t* planes;  ///< of the warp

  /// Two rows at a time.
  template <class Count>
  __device__ void group(const Row& row, const Count& count) {
    const unsigned lane = threadIdx.x % 32;
    const unsigned g = lane / 4;
    const unsigned tiles = shared.weights.tiles_of(args.weights);
#pragma unroll 1
    for (unsigned set = 0; set < 32 / words; set += 2) {
      const NodeId rows[2] = {__shfl_sync(full_warp, row.row, set * words),
                              __shfl_sync(full_warp, row.row, (set + 1) * words)};
      const std::uint32_t entries[2] = {__shfl_sync(full_warp, row.n, set * words),
                                        __shfl_sync(full_warp, row.n, (set + 1) * words)};
      if (rows[0] == no_row && rows[1] == no_row) continue;
      __syncwarp();
      if (lane / words / 2 * 2 == set) {
#pragma unroll
        for (int p = 0; p < group_planes; ++p) {
          planes[(lane / words % 2 * group_planes + static_cast<unsigned>(p)) * words + count.word] =
              count.counter.plane[p];
        }
      }
      __syncwarp();
      Two common[2];
      int ones[2] = {};
#pragma unroll 1
      for (unsigned t = 0; t < tiles; ++t) {
        int sum[4] = {};
        shared.weights.multiply(sum, planes, t);
#pragma unroll
        for (unsigned k = 0; k < 2; ++k) {
          const int low = add_groups(sum[2 * k] << g);
          const int high = add_groups(sum[2 * k + 1] << g);
          if (t == 0) ones[k] = __shfl_sync(full_warp, low, 0);
          common[k].take(t, low, high);
        }
      }
#pragma unroll
      for (unsigned k = 0; k < 2; ++k) {
        if (rows[k] != no_row) emit_products(args, shared, common[k], ones[k], rows[k], entries[k]);
      }
    }
  }

  template <class Count>
  __device__ void long_row(const Row& row, const Count& count) {
    if (row.row == no_row) return;
    const unsigned lane = threadIdx.x % 32;
    const unsigned g = lane / 4;
    Two common;
    int ones = 0;
    const unsigned tiles = shared.weights.tiles_of(args.weights);
    const int last = bits_of(row.n);
#pragma unroll
    for (int first = 0; first < row_planes; first += 16) {
      if (first >= max(last, 1)) break;
      __syncwarp();
#pragma unroll
      for (int p = first; p < first + 16; ++p) {
        const std::uint32_t bits = p < row_planes ? count.counter.plane[p < row_planes ? p : 0] : 0;
        if (lane < words) planes[static_cast<unsigned>(p - first) * words + count.word] = bits;
      }
      __syncwarp();
#pragma unroll 2
      for (unsigned t = 0; t < tiles; ++t) {
        int sum[4] = {};
        shared.weights.multiply(sum, planes, t);
        const int low = add_groups((sum[0] << g) + (sum[2] << (g + 8))) << first;
        const int high = add_groups((sum[1] << g) + (sum[3] << (g + 8))) << first;
        if (t == 0) ones += __shfl_sync(full_warp, low, 0);
        if (g == t) {
          common.value[0] += low;
          common.value[1] += high;
        }
      }
    }
    emit_products(args, shared, common, ones, row.row, row.n);
  }
};

template <class S>
__global__ void __launch_bounds__(S::threads, S::threads == cuda_fused_vote_tuning().product_block ? 4 : 1)
    counts_ordered(const __grid_constant__ FusedCounts args, const __grid_constant__ Blocks blocks) {
  trigger_dependent_launch();
  __shared__ CountsShared<S> shared;
  __shared__ HubScratch<S> hub_scratch;
  shared.weights.load(args.weights, args.ncols, S::threads);
  if (args.own_weights.count != 0) shared.own_weights.load(args.own_weights, args.ncols, S::threads);
  __syncthreads();
  CountSink<S> sink{args, shared, shared.planes[threadIdx.x / 32]};
  count_rows<S>(args.a, args.order, blocks, args.x, args.stride, hub_scratch, sink);
}

}  // namespace

}  // namespace spmm_cuda::ordered

void fused(const Cuda& backend, const FusedCounts& args, const fused_cuda::Plan& chosen) {
  using namespace spmm_cuda::ordered;
  if (args.a.nrows == 0) return;
  const ScopedCudaDevice scope(backend.device.index());
  with_shape<cuda_fused_vote_tuning().product_block>(chosen, [&](auto shape) {
    using S = decltype(shape);
    static ProgrammaticKernel kernel(counts_ordered<S>, "counts_ordered");
    const Blocks blocks(args.order, args.a.nrows, S::threads, S::lanes);
    kernel.launch(backend.device, blocks.all, S::threads, 0, args, blocks);
  });
}

}  // namespace bitgraph
