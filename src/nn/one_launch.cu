// SPDX-License-Identifier: Apache-2.0
// All steps of a small model in one kernel. A warp has the same rows in every step, so that blocks wait for one another
// only around what reads other rows, an aggregation; within a row each lane has columns of its own.
//
// Columns are taken 64 at a time, lane l having the l-th and the (l + 32)-th, so that two ballots make a word.
#include "core/cuda.cuh"
#include "nn/one_launch.hpp"

#include <cooperative_groups.h>

#include <algorithm>

namespace bitgraph::nn {

namespace {

constexpr unsigned full_warp = 0xFFFFFFFFU;
constexpr unsigned most_warps = 32;  ///< a block

/// What earlier steps of this launch wrote is read past the first-level cache, which does not see other blocks' writes.
template <class T>
__device__ T fresh(const T* at) {
  return __ldcg(at);
}

__device__ float scale_at(const float* scale, std::size_t i) { return scale == nullptr ? 1.0F : __ldg(scale + i); }

struct Row {
  std::size_t index;
  unsigned lane;
};

/// Stores columns c and c + 32 of a row, c = first + lane.
__device__ void store(const LaunchStep& s, Row row, std::size_t first, float low, float high) {
  const std::size_t c = first + row.lane;
  if (s.bits_out != nullptr) {
    const unsigned low_bits = __ballot_sync(full_warp, c < s.out_width && low >= 0);
    const unsigned high_bits = __ballot_sync(full_warp, c + 32 < s.out_width && high >= 0);
    const std::size_t words = (s.out_width + 63) / 64;
    if (row.lane == 0) s.bits_out[row.index * words + first / 64] = (std::uint64_t{high_bits} << 32) | low_bits;
    return;
  }
  float* const to = s.floats_out + row.index * s.out_width;
  if (c < s.out_width) to[c] = low;
  if (c + 32 < s.out_width) to[c + 32] = high;
}

/// row_scale (col_scale v + col_offset) + bias, each product and sum rounded, as the operators do it.
__device__ float scaled(const LaunchStep& s, float row_scale, std::size_t f, float v) {
  if (f >= s.out_width) return 0;
  float y = s.col_scale == nullptr ? v : __ldg(s.col_scale + f) * v;
  if (s.col_offset != nullptr) y += __ldg(s.col_offset + f);
  y *= row_scale;
  return s.bias == nullptr ? y : y + __ldg(s.bias + f);
}

__device__ int differing(std::uint64_t x, const std::uint64_t* w) { return __popcll(x ^ __ldg(w)); }

__device__ void product(const LaunchStep& s, Row row) {
  const std::size_t words = (s.in_width + 63) / 64;
  const std::uint64_t* const x = s.bits_in + row.index * words;
  const float row_scale = s.row_scale == nullptr ? 1.0F : fresh(s.row_scale + row.index);
  for (std::size_t first = 0; first < s.out_width; first += 64) {
    const std::size_t low_row = min(first + row.lane, s.out_width - 1);
    const std::size_t high_row = min(first + row.lane + 32, s.out_width - 1);
    int low = 0;
    int high = 0;
    for (std::size_t k = 0; k < words; ++k) {
      const std::uint64_t word = fresh(x + k);
      low += differing(word, s.weight + low_row * words + k);
      high += differing(word, s.weight + high_row * words + k);
    }
    const auto d = static_cast<int>(s.in_width);
    const std::size_t f = first + row.lane;
    store(s, row, first, scaled(s, row_scale, f, static_cast<float>(d - 2 * low)),
          scaled(s, row_scale, f + 32, static_cast<float>(d - 2 * high)));
  }
}

/// Of the bits of word `word` of the rows of `bits` along a row of the pattern, how many are set: columns lane and
/// lane + 32.
template <bool written_here>
__device__ void count_bits(const LaunchStep& s, Row row, const std::uint64_t* bits, std::size_t words, std::size_t word,
                           int& low, int& high) {
  constexpr unsigned under_way = 8;
  const EdgeOffset begin = __ldg(s.row_ptr + row.index);
  const EdgeOffset end = __ldg(s.row_ptr + row.index + 1);
  for (EdgeOffset first = begin; first < end; first += 32) {
    const EdgeOffset mine = first + row.lane;
    std::uint64_t own = 0;
    if (mine < end) {
      const std::uint64_t* const at = bits + std::size_t{__ldg(s.col_ind + mine)} * words + word;
      own = written_here ? fresh(at) : __ldg(at);
    }
    const auto count = static_cast<unsigned>(min(static_cast<EdgeOffset>(32), end - first));
    for (unsigned n = 0; n < count; n += under_way) {
#pragma unroll
      for (unsigned u = 0; u < under_way; ++u) {  // lanes without an entry hold no bits
        const std::uint64_t w = __shfl_sync(full_warp, own, n + u);
        low += static_cast<int>((static_cast<unsigned>(w) >> row.lane) & 1U);
        high += static_cast<int>((static_cast<unsigned>(w >> 32) >> row.lane) & 1U);
      }
    }
  }
}

__device__ int degree(const LaunchStep& s, Row row) {
  return static_cast<int>(__ldg(s.row_ptr + row.index + 1) - __ldg(s.row_ptr + row.index));
}

__device__ void sparse_product(const LaunchStep& s, Row row) {
  const std::size_t words = (s.out_width + 63) / 64;
  const float row_scale = scale_at(s.row_scale, row.index);
  const int flips = degree(s, row);
  for (std::size_t word = 0; word < words; ++word) {
    int low = 0;
    int high = 0;
    count_bits<false>(s, row, s.weight, words, word, low, high);
    const std::size_t f = 64 * word + row.lane;
    store(s, row, 64 * word, scaled(s, row_scale, f, static_cast<float>(2 * low - flips)),
          scaled(s, row_scale, f + 32, static_cast<float>(2 * high - flips)));
  }
}

__device__ void vote(const LaunchStep& s, Row row) {
  const std::size_t words = (s.out_width + 63) / 64;
  const int neighbors = degree(s, row);
  for (std::size_t word = 0; word < words; ++word) {
    int low = 0;
    int high = 0;
    count_bits<true>(s, row, s.bits_in, words, word, low, high);
    store(s, row, 64 * word, static_cast<float>(2 * low - neighbors), static_cast<float>(2 * high - neighbors));
  }
}

/// `lanes` lanes a neighbour, 32 / lanes neighbours side by side, whose sums are added up at the end.
template <unsigned lanes>
__device__ void sum_columns(const LaunchStep& s, Row row, std::size_t first) {
  constexpr unsigned groups = 32 / lanes;
  constexpr unsigned under_way = 8;
  const std::size_t width = s.out_width;
  const std::size_t c = first + row.lane % lanes;
  const unsigned group = row.lane / lanes;
  const EdgeOffset begin = __ldg(s.row_ptr + row.index);
  const EdgeOffset end = __ldg(s.row_ptr + row.index + 1);
  float total = 0;
  for (EdgeOffset base = begin; base < end; base += 32) {
    const EdgeOffset mine = base + row.lane;
    NodeId neighbor = 0;
    float scale = 0;
    if (mine < end) {
      neighbor = __ldg(s.col_ind + mine);
      scale = scale_at(s.neighbor_scale, neighbor);
    }
    const auto count = static_cast<unsigned>(min(static_cast<EdgeOffset>(32), end - base));
    for (unsigned n = 0; n < count; n += under_way * groups) {
      float x[under_way];
      float factor[under_way];
#pragma unroll
      for (unsigned u = 0; u < under_way; ++u) {
        const unsigned entry = n + u * groups + group;
        const NodeId j = __shfl_sync(full_warp, neighbor, entry % 32);
        factor[u] = __shfl_sync(full_warp, scale, entry % 32);
        x[u] = entry < count && c < width ? fresh(s.floats_in + std::size_t{j} * width + c) : 0.0F;
      }
#pragma unroll
      for (unsigned u = 0; u < under_way; ++u) total += factor[u] * x[u];
    }
  }
#pragma unroll
  for (unsigned step = lanes; step < 32; step *= 2) total += __shfl_xor_sync(full_warp, total, step);
  if (group == 0 && c < width)
    s.floats_out[row.index * width + c] = scaled(s, scale_at(s.row_scale, row.index), c, total);
}

__device__ void sum(const LaunchStep& s, Row row) {
  if (s.out_width <= 8) return sum_columns<8>(s, row, 0);
  if (s.out_width <= 16) return sum_columns<16>(s, row, 0);
  for (std::size_t first = 0; first < s.out_width; first += 32) sum_columns<32>(s, row, first);
}

__device__ void binarize(const LaunchStep& s, Row row) {
  const float* const x = s.floats_in + row.index * s.out_width;
  float magnitude = 0;
  for (std::size_t first = 0; first < s.out_width; first += 64) {
    const std::size_t c = first + row.lane;
    const float low = c < s.out_width ? fresh(x + c) : 0.0F;
    const float high = c + 32 < s.out_width ? fresh(x + c + 32) : 0.0F;
    magnitude += fabsf(low) + fabsf(high);
    store(s, row, first, low, high);
  }
#pragma unroll
  for (unsigned step = 16; step > 0; step /= 2) magnitude += __shfl_xor_sync(full_warp, magnitude, step);
  if (row.lane == 0) s.scale_out[row.index] = magnitude / static_cast<float>(s.out_width);
}

__device__ void either(const LaunchStep& s, Row row) {
  const std::size_t words = (s.out_width + 63) / 64;
  for (std::size_t k = row.lane; k < words; k += 32)
    s.bits_out[row.index * words + k] |= fresh(s.bits_in + row.index * words + k);
}

__device__ void add(const LaunchStep& s, Row row) {
  for (std::size_t c = row.lane; c < s.out_width; c += 32)
    s.floats_out[row.index * s.out_width + c] += fresh(s.floats_in + row.index * s.out_width + c);
}

__device__ void run(const LaunchStep& s, Row row) {
  switch (s.kind) {
    case LaunchStep::Kind::product: return product(s, row);
    case LaunchStep::Kind::sparse_product: return sparse_product(s, row);
    case LaunchStep::Kind::vote: return vote(s, row);
    case LaunchStep::Kind::sum: return sum(s, row);
    case LaunchStep::Kind::binarize: return binarize(s, row);
    case LaunchStep::Kind::either: return either(s, row);
    case LaunchStep::Kind::add: return add(s, row);
  }
}

__global__ void __launch_bounds__(32 * most_warps) run_all(const __grid_constant__ LaunchSteps all) {
  const unsigned lane = threadIdx.x % 32;
  const std::size_t warps = std::size_t{gridDim.x} * (blockDim.x / 32);
  // Consecutive rows go to different blocks: hubs often stand side by side.
  const std::size_t warp = std::size_t{threadIdx.x / 32} * gridDim.x + blockIdx.x;
  for (std::size_t n = 0; n < all.count; ++n) {
    const LaunchStep& step = all.steps[n];
    if (step.waits) cooperative_groups::this_grid().sync();
    for (std::size_t row = warp; row < all.num_rows; row += warps) run(step, {row, lane});
    __syncwarp();
  }
}

}  // namespace

void launch_steps(const LaunchSteps& steps, const Device& device) {
  if (steps.num_rows == 0) return;
  const ScopedCudaDevice scope(device.index());
  int multiprocessors = 0;
  cuda_check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device.index()), "one launch");
  const auto blocks = static_cast<unsigned>(std::min(static_cast<std::size_t>(multiprocessors), steps.num_rows));
  const auto warps = static_cast<unsigned>(std::min<std::size_t>(most_warps, (steps.num_rows + blocks - 1) / blocks));
  LaunchSteps all = steps;
  void* parameters[] = {&all};
  cuda_check(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(run_all), dim3(blocks), dim3(32 * warps), parameters,
                                         0, stream_of(device)),
             "one launch");
}

}  // namespace bitgraph::nn
