// SPDX-License-Identifier: Apache-2.0
// All steps of a small model in one kernel. A warp has the same rows in every step, so that blocks wait for one another
// only around what reads other rows, an aggregation; within a row each lane has columns of its own.
//
// Columns are taken 64 at a time, lane l having the l-th and the (l + 32)-th, so that two ballots make a word.
#include "core/cuda.cuh"
#include "nn/one_launch.hpp"

#include <cooperative_groups.h>

#include <algorithm>
#include <span>

namespace bitgraph::nn {

namespace {

constexpr unsigned full_warp = 0xFFFFFFFFU;
constexpr unsigned most_warps = 32;        ///< a block
constexpr EdgeOffset hub_degree = 48;      ///< a row with more entries is its block's, not its warp's
constexpr std::size_t most_hubs = 64;      ///< of a block in one step; others are their warps'
constexpr std::size_t kept_columns = 256;  ///< of a warp's row in shared memory

/// What a block keeps on chip: what its warps wrote of their rows, for steps that read the same row again, and the
/// partial sums of hubs.
struct Shared {
  LaunchStep steps[most_launch_steps];
  unsigned num_hubs;
  std::size_t hubs[most_hubs];
  float partial[most_warps][64];
  const void* bits_of[most_warps];  ///< the matrix whose row is in `bits`
  const void* floats_of[most_warps];
  const void* scale_of[most_warps];
  std::uint64_t bits[2][most_warps][kept_columns / 64];  ///< a product reads one and writes the other
  unsigned bits_side[most_warps];
  float floats[most_warps][64];
  float scale[most_warps];
};

/// What earlier steps of this launch wrote is read past the first-level cache, which does not see other blocks' writes.
template <class T>
__device__ T fresh(const T* at) {
  return __ldcg(at);
}

__device__ float scale_at(const float* scale, std::size_t i) { return scale == nullptr ? 1.0F : __ldg(scale + i); }

__device__ void fetch(const void* at) { asm volatile("prefetch.global.L1 [%0];" ::"l"(at)); }

/// A row, the lane, and where its warp keeps what it writes of it; null where a warp has several rows.
struct Row {
  std::size_t index;
  unsigned lane;
  unsigned warp;
  Shared* kept;
};

struct Columns {
  float low = 0;   ///< column first + lane
  float high = 0;  ///< column first + lane + 32
};

/// Stores columns first + lane and first + lane + 32 of a row.
__device__ void store(const LaunchStep& s, Row row, std::size_t first, Columns y) {
  const std::size_t c = first + row.lane;
  const bool keeps = row.kept != nullptr && row.lane == 0;
  if (s.bits_out != nullptr) {
    const unsigned low = __ballot_sync(full_warp, c < s.out_width && y.low >= 0);
    const unsigned high = __ballot_sync(full_warp, c + 32 < s.out_width && y.high >= 0);
    const std::uint64_t word = (std::uint64_t{high} << 32) | low;
    if (row.lane == 0) s.bits_out[row.index * ((s.out_width + 63) / 64) + first / 64] = word;
    if (keeps && s.out_width <= kept_columns) {
      if (first == 0) row.kept->bits_side[row.warp] ^= 1U;
      row.kept->bits[row.kept->bits_side[row.warp]][row.warp][first / 64] = word;
      row.kept->bits_of[row.warp] = s.bits_out;
    }
    return;
  }
  float* const to = s.floats_out + row.index * s.out_width;
  if (c < s.out_width) to[c] = y.low;
  if (c + 32 < s.out_width) to[c + 32] = y.high;
  if (row.kept != nullptr && s.out_width <= 64) {
    row.kept->floats[row.warp][row.lane] = y.low;
    row.kept->floats[row.warp][row.lane + 32] = y.high;
    if (row.lane == 0) row.kept->floats_of[row.warp] = s.floats_out;
  }
}

/// row_scale (col_scale v + col_offset) + bias, each product and sum rounded, as the operators do it.
__device__ float scaled(const LaunchStep& s, float row_scale, std::size_t f, float v) {
  if (f >= s.out_width) return 0;
  float y = s.col_scale == nullptr ? v : __ldg(s.col_scale + f) * v;
  if (s.col_offset != nullptr) y += __ldg(s.col_offset + f);
  y *= row_scale;
  return s.bias == nullptr ? y : y + __ldg(s.bias + f);
}

__device__ Columns scaled(const LaunchStep& s, float row_scale, std::size_t f, Columns v) {
  return {scaled(s, row_scale, f, v.low), scaled(s, row_scale, f + 32, v.high)};
}

__device__ int differing(std::uint64_t x, const std::uint64_t* w) { return __popcll(x ^ __ldg(w)); }

__device__ void product(const LaunchStep& s, Row row) {
  const std::size_t words = (s.in_width + 63) / 64;
  const bool kept = row.kept != nullptr && row.kept->bits_of[row.warp] == s.bits_in;
  const std::uint64_t* const x =
      kept ? row.kept->bits[row.kept->bits_side[row.warp]][row.warp] : s.bits_in + row.index * words;
  float row_scale = 1;
  if (s.row_scale != nullptr) {
    const bool scale_kept = row.kept != nullptr && row.kept->scale_of[row.warp] == s.row_scale;
    row_scale = scale_kept ? row.kept->scale[row.warp] : fresh(s.row_scale + row.index);
  }
  for (std::size_t first = 0; first < s.out_width; first += 64) {
    const std::size_t low_row = min(first + row.lane, s.out_width - 1);
    const std::size_t high_row = min(first + row.lane + 32, s.out_width - 1);
    int low = 0;
    int high = 0;
    for (std::size_t k = 0; k < words; ++k) {
      const std::uint64_t word = kept ? x[k] : fresh(x + k);
      low += differing(word, s.weight + low_row * words + k);
      if (s.out_width > first + 32) high += differing(word, s.weight + high_row * words + k);
    }
    const auto d = static_cast<int>(s.in_width);
    const Columns v{static_cast<float>(d - 2 * low), static_cast<float>(d - 2 * high)};
    store(s, row, first, scaled(s, row_scale, first + row.lane, v));
  }
}

/// Entries begin, begin + step ... of a row, 32 of each: how many of their rows of `bits` have each column set.
__device__ Columns count_bits(const LaunchStep& s, unsigned lane, const std::uint64_t* bits, std::size_t first,
                              EdgeOffset begin, EdgeOffset end, EdgeOffset step) {
  constexpr unsigned under_way = 8;
  const std::size_t words = (s.out_width + 63) / 64;
  int low = 0;
  int high = 0;
  for (EdgeOffset base = begin; base < end; base += step) {
    std::uint64_t own = 0;
    if (base + lane < end) own = fresh(bits + std::size_t{__ldg(s.col_ind + base + lane)} * words + first / 64);
    const auto count = static_cast<unsigned>(min(static_cast<EdgeOffset>(32), end - base));
    for (unsigned n = 0; n < count; n += under_way) {
#pragma unroll
      for (unsigned u = 0; u < under_way; ++u) {  // lanes without an entry hold no bits
        const std::uint64_t w = __shfl_sync(full_warp, own, n + u);
        low += static_cast<int>((static_cast<unsigned>(w) >> lane) & 1U);
        high += static_cast<int>((static_cast<unsigned>(w >> 32) >> lane) & 1U);
      }
    }
  }
  return {static_cast<float>(low), static_cast<float>(high)};
}

/// The same of floats, times the neighbours' scales: `lanes` lanes a neighbour, 32 / lanes neighbours side by side.
template <unsigned lanes>
__device__ float add_floats(const LaunchStep& s, unsigned lane, std::size_t first, EdgeOffset begin, EdgeOffset end,
                            EdgeOffset step) {
  constexpr unsigned groups = 32 / lanes;
  constexpr unsigned under_way = 8;
  const std::size_t c = first + lane % lanes;
  float total = 0;
  for (EdgeOffset base = begin; base < end; base += step) {
    NodeId neighbor = 0;
    float scale = 0;
    if (base + lane < end) {
      neighbor = __ldg(s.col_ind + base + lane);
      scale = scale_at(s.neighbor_scale, neighbor);
    }
    const auto count = static_cast<unsigned>(min(static_cast<EdgeOffset>(32), end - base));
    for (unsigned n = 0; n < count; n += under_way * groups) {
      float x[under_way];
      float factor[under_way];
#pragma unroll
      for (unsigned u = 0; u < under_way; ++u) {
        const unsigned entry = n + u * groups + lane / lanes;
        const NodeId j = __shfl_sync(full_warp, neighbor, entry % 32);
        factor[u] = __shfl_sync(full_warp, scale, entry % 32);
        x[u] = entry < count && c < s.out_width ? fresh(s.floats_in + std::size_t{j} * s.out_width + c) : 0.0F;
      }
#pragma unroll
      for (unsigned u = 0; u < under_way; ++u) total += factor[u] * x[u];
    }
  }
#pragma unroll
  for (unsigned distance = lanes; distance < 32; distance *= 2) total += __shfl_xor_sync(full_warp, total, distance);
  return total;
}

/// What 64 columns of a row get from its entries begin, begin + step ...
__device__ Columns gather(const LaunchStep& s, unsigned lane, std::size_t first, EdgeOffset begin, EdgeOffset end,
                          EdgeOffset step) {
  switch (s.kind) {
    case LaunchStep::Kind::vote: return count_bits(s, lane, s.bits_in, first, begin, end, step);
    case LaunchStep::Kind::sparse_product: return count_bits(s, lane, s.weight, first, begin, end, step);
    default: break;
  }
  if (s.out_width <= 8) return {add_floats<8>(s, lane, first, begin, end, step), 0};
  if (s.out_width <= 16) return {add_floats<16>(s, lane, first, begin, end, step), 0};
  const float low = add_floats<32>(s, lane, first, begin, end, step);
  return {low, s.out_width > first + 32 ? add_floats<32>(s, lane, first + 32, begin, end, step) : 0.0F};
}

/// From what was gathered, of a row of so many entries, to what is stored.
__device__ void finish(const LaunchStep& s, Row row, std::size_t first, Columns v, EdgeOffset degree) {
  const auto entries = static_cast<float>(degree);
  if (s.kind == LaunchStep::Kind::vote) return store(s, row, first, {2 * v.low - entries, 2 * v.high - entries});
  if (s.kind == LaunchStep::Kind::sparse_product) v = {2 * v.low - entries, 2 * v.high - entries};
  store(s, row, first, scaled(s, scale_at(s.row_scale, row.index), first + row.lane, v));
}

__device__ void aggregate(const LaunchStep& s, Row row) {
  const EdgeOffset begin = __ldg(s.row_ptr + row.index);
  const EdgeOffset end = __ldg(s.row_ptr + row.index + 1);
  for (std::size_t first = 0; first < s.out_width; first += 64)
    finish(s, row, first, gather(s, row.lane, first, begin, end, 32), end - begin);
}

/// A hub by all warps of the block; the partial sums are added up in the order of the warps. The row is not kept: its
/// warp finds it in memory.
__device__ void aggregate_hub(const LaunchStep& s, Row row, Shared& shared) {
  const unsigned warps = blockDim.x / 32;
  const EdgeOffset begin = __ldg(s.row_ptr + row.index);
  const EdgeOffset end = __ldg(s.row_ptr + row.index + 1);
  for (std::size_t first = 0; first < s.out_width; first += 64) {
    const Columns own = gather(s, row.lane, first, begin + 32 * row.warp, end, EdgeOffset{32} * warps);
    shared.partial[row.warp][row.lane] = own.low;
    shared.partial[row.warp][row.lane + 32] = own.high;
    __syncthreads();
    if (row.warp == 0) {
      Columns sum;
      for (unsigned w = 0; w < warps; ++w) {
        sum.low += shared.partial[w][row.lane];
        sum.high += shared.partial[w][row.lane + 32];
      }
      finish(s, row, first, sum, end - begin);
    }
    __syncthreads();
  }
}

__device__ void binarize(const LaunchStep& s, Row row) {
  const bool kept = row.kept != nullptr && row.kept->floats_of[row.warp] == s.floats_in;
  const float* const x = s.floats_in + row.index * s.out_width;
  float magnitude = 0;
  for (std::size_t first = 0; first < s.out_width; first += 64) {
    const std::size_t c = first + row.lane;
    Columns v;
    if (kept) {
      v = {row.kept->floats[row.warp][row.lane], row.kept->floats[row.warp][row.lane + 32]};
    } else {
      if (c < s.out_width) v.low = fresh(x + c);
      if (c + 32 < s.out_width) v.high = fresh(x + c + 32);
    }
    magnitude += (c < s.out_width ? fabsf(v.low) : 0.0F) + (c + 32 < s.out_width ? fabsf(v.high) : 0.0F);
    store(s, row, first, v);
  }
#pragma unroll
  for (unsigned distance = 16; distance > 0; distance /= 2)
    magnitude += __shfl_xor_sync(full_warp, magnitude, distance);
  magnitude /= static_cast<float>(s.out_width);
  if (row.lane != 0) return;
  s.scale_out[row.index] = magnitude;
  if (row.kept != nullptr) {
    row.kept->scale[row.warp] = magnitude;
    row.kept->scale_of[row.warp] = s.scale_out;
  }
}

/// What a warp keeps of its row is older than the row now.
__device__ void forget(Row row) {
  if (row.kept == nullptr || row.lane != 0) return;
  row.kept->bits_of[row.warp] = nullptr;
  row.kept->floats_of[row.warp] = nullptr;
}

__device__ void either(const LaunchStep& s, Row row) {
  const std::size_t words = (s.out_width + 63) / 64;
  for (std::size_t k = row.index * words + row.lane; k < (row.index + 1) * words; k += 32)
    s.bits_out[k] = fresh(s.bits_out + k) | fresh(s.bits_in + k);
  forget(row);
}

__device__ void add(const LaunchStep& s, Row row) {
  for (std::size_t k = row.index * s.out_width + row.lane; k < (row.index + 1) * s.out_width; k += 32)
    s.floats_out[k] = fresh(s.floats_out + k) + fresh(s.floats_in + k);
  forget(row);
}

__device__ bool gathers(const LaunchStep& s) {
  return s.kind == LaunchStep::Kind::vote || s.kind == LaunchStep::Kind::sum ||
         s.kind == LaunchStep::Kind::sparse_product;
}

/// Brings what a step reads of the graph near, while the block waits for others.
__device__ void fetch_row(const LaunchStep& s, Row row) {
  const EdgeOffset begin = __ldg(s.row_ptr + row.index);
  const EdgeOffset end = min(__ldg(s.row_ptr + row.index + 1), begin + 64);
  for (EdgeOffset e = begin + row.lane; e < end; e += 32) {
    const NodeId j = __ldg(s.col_ind + e);
    if (s.neighbor_scale != nullptr) fetch(s.neighbor_scale + j);
  }
}

__device__ void run(const LaunchStep& s, Row row, Shared& shared) {
  if (gathers(s)) {
    const EdgeOffset degree = __ldg(s.row_ptr + row.index + 1) - __ldg(s.row_ptr + row.index);
    if (degree > hub_degree) {
      unsigned place = most_hubs;
      if (row.lane == 0) place = atomicAdd(&shared.num_hubs, 1U);
      place = __shfl_sync(full_warp, place, 0);
      if (place < most_hubs) {
        if (row.lane == 0) shared.hubs[place] = row.index;
        return;
      }
    }
    return aggregate(s, row);
  }
  switch (s.kind) {
    case LaunchStep::Kind::product: return product(s, row);
    case LaunchStep::Kind::binarize: return binarize(s, row);
    case LaunchStep::Kind::either: return either(s, row);
    default: return add(s, row);
  }
}

__device__ void run_hubs(const LaunchStep& s, Row row, Shared& shared) {
  __syncthreads();
  const unsigned hubs = min(shared.num_hubs, static_cast<unsigned>(most_hubs));
  for (unsigned h = 0; h < hubs; ++h) {
    row.index = shared.hubs[h];
    aggregate_hub(s, row, shared);
  }
  __syncthreads();
  if (threadIdx.x == 0) shared.num_hubs = 0;
  __syncthreads();
}

struct DeviceSteps {
  const LaunchStep* steps;
  std::size_t count;
  std::size_t num_rows;
};

__global__ void __launch_bounds__(32 * most_warps) run_all(DeviceSteps all) {
  __shared__ Shared shared;
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  const std::size_t warps = std::size_t{gridDim.x} * (blockDim.x / 32);
  // Consecutive rows go to different blocks: hubs often stand side by side.
  const std::size_t first_row = std::size_t{warp} * gridDim.x + blockIdx.x;
  Shared* const kept = all.num_rows <= warps ? &shared : nullptr;
  if (lane == 0) {
    shared.bits_of[warp] = shared.floats_of[warp] = shared.scale_of[warp] = nullptr;
    shared.bits_side[warp] = 0;
    if (warp == 0) shared.num_hubs = 0;
  }
  // From the constant bank a step would come line by line, when it is needed.
  static_assert(sizeof(LaunchStep) % sizeof(std::uint64_t) == 0);
  const auto* const from = reinterpret_cast<const std::uint64_t*>(all.steps);
  auto* const to = reinterpret_cast<std::uint64_t*>(shared.steps);
  for (std::size_t n = threadIdx.x; n < all.count * sizeof(LaunchStep) / sizeof(std::uint64_t); n += blockDim.x)
    to[n] = __ldg(from + n);
  __syncthreads();
  for (std::size_t n = 0; n < all.count; ++n) {
    const LaunchStep& step = shared.steps[n];
    if (step.waits) {
      if (gathers(step) && first_row < all.num_rows) fetch_row(step, {first_row, lane, warp, nullptr});
      cooperative_groups::this_grid().sync();
    }
    for (std::size_t row = first_row; row < all.num_rows; row += warps) run(step, {row, lane, warp, kept}, shared);
    if (gathers(step)) run_hubs(step, {0, lane, warp, nullptr}, shared);
    __syncwarp();
  }
}

}  // namespace

OneLaunch::OneLaunch(const LaunchSteps& steps, const Device& device)
    : steps_(Buffer<LaunchStep>::copy_of(std::span(steps.steps.data(), steps.count), device)),
      num_rows_(steps.num_rows) {
  const ScopedCudaDevice scope(device.index());
  int multiprocessors = 0;
  cuda_check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device.index()), "one launch");
  blocks_ = static_cast<unsigned>(std::min(static_cast<std::size_t>(multiprocessors), num_rows_));
  if (blocks_ != 0)
    warps_ = static_cast<unsigned>(std::min<std::size_t>(most_warps, (num_rows_ + blocks_ - 1) / blocks_));
}

void OneLaunch::run() const {
  if (num_rows_ == 0) return;
  const Device& device = steps_.device();
  const ScopedCudaDevice scope(device.index());
  DeviceSteps all{steps_.data(), steps_.size(), num_rows_};
  void* parameters[] = {&all};
  cuda_check(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(run_all), dim3(blocks_), dim3(32 * warps_), parameters,
                                         0, stream_of(device)),
             "one launch");
}

}  // namespace bitgraph::nn
