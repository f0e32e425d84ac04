// SPDX-License-Identifier: Apache-2.0
// A warp a row: largest logit, then the sum of exponentials in double, both across the lanes in a fixed order. The loss
// is added up by warp and then by one block, in an order that depends on the number of nodes alone.
#include "ops/log_softmax/cuda.hpp"

#include <bitgraph/core/kernel.cuh>

#include <cmath>

namespace bitgraph {

namespace {

constexpr unsigned block_threads = 256;
constexpr unsigned block_warps = block_threads / 32;
constexpr std::size_t most_warps = 4096;  ///< that add up losses: one block has their sums

struct Normalizer {
  double largest = 0;
  double log_sum = 0;
};

__device__ Normalizer normalizer(const float* row, std::size_t ncols) {
  const unsigned lane = threadIdx.x % 32;
  float largest = -INFINITY;
  for (std::size_t c = lane; c < ncols; c += 32) largest = fmaxf(largest, row[c]);
  for (unsigned step = 16; step != 0; step /= 2) largest = fmaxf(largest, __shfl_xor_sync(full_warp, largest, step));
  double sum = 0;
  for (std::size_t c = lane; c < ncols; c += 32) sum += exp(row[c] - static_cast<double>(largest));
  sum = warp_sum(sum);
  return {static_cast<double>(largest), log(sum)};
}

/// The first of the largest, as std::max_element finds it: one that is not a number is never larger, nor is any than
/// it.
__device__ std::size_t place_of_largest(const float* row, std::size_t ncols) {
  float largest = row[0];
  unsigned place = 0;
  for (std::size_t c = threadIdx.x % 32; c < ncols; c += 32) {
    if (row[c] > largest) {
      largest = row[c];
      place = static_cast<unsigned>(c);
    }
  }
  for (unsigned step = 16; step != 0; step /= 2) {
    const float other = __shfl_xor_sync(full_warp, largest, step);
    const unsigned other_place = __shfl_xor_sync(full_warp, place, step);
    if (other > largest || (other == largest && other_place < place)) {
      largest = other;
      place = other_place;
    }
  }
  return place;
}

__global__ void __launch_bounds__(block_threads) softmax_rows(DenseView<float> out, DenseView<const float> x) {
  const std::size_t i = std::size_t{blockIdx.x} * block_warps + threadIdx.x / 32;
  if (i >= x.nrows) return;
  const float* const row = x.data + i * x.stride;
  const Normalizer n = normalizer(row, x.ncols);
  for (std::size_t c = threadIdx.x % 32; c < x.ncols; c += 32) {
    out.data[i * out.stride + c] = static_cast<float>(row[c] - n.largest - n.log_sum);
  }
}

/// The label of the n-th node: -1 for none, -2 for what is out of range.
__device__ std::int32_t label_at(const LossArgs& args, std::size_t n) {
  const NodeId node = args.nodes[n];
  if (node >= args.logits.nrows || node >= args.num_labels) return -2;
  const std::int32_t label = args.labels[node];
  return label < -1 || label >= static_cast<std::int64_t>(args.logits.ncols) ? -2 : label;
}

__global__ void __launch_bounds__(block_threads)
    add_warp_losses(LossArgs args, LossSums* sums, std::size_t warp_nodes) {
  const std::size_t warp = std::size_t{blockIdx.x} * block_warps + threadIdx.x / 32;
  const std::size_t first = warp * warp_nodes;
  if (first >= args.num_nodes) return;
  LossSums mine{0, 0, 0, args.num_nodes};
  for (std::size_t n = first; n < min(first + warp_nodes, args.num_nodes); ++n) {
    const std::int32_t label = label_at(args, n);
    if (label == -2) mine.first_bad = min(mine.first_bad, static_cast<std::uint64_t>(n));
    if (label < 0) continue;
    const float* const row = args.logits.data + args.nodes[n] * args.logits.stride;
    const Normalizer norm = normalizer(row, args.logits.ncols);
    mine.loss -= row[label] - norm.largest - norm.log_sum;
    mine.correct += place_of_largest(row, args.logits.ncols) == static_cast<std::size_t>(label) ? 1 : 0;
    ++mine.total;
  }
  if (threadIdx.x % 32 == 0) sums[warp] = mine;
}

__device__ void add(LossSums& to, const LossSums& other) {
  to.loss += other.loss;
  to.correct += other.correct;
  to.total += other.total;
  to.first_bad = min(to.first_bad, other.first_bad);
}

/// One block.
__global__ void __launch_bounds__(block_threads)
    add_all_losses(LossSums* result, const LossSums* sums, std::size_t count, std::uint64_t num_nodes) {
  __shared__ LossSums shared[block_threads];
  LossSums mine{0, 0, 0, num_nodes};
  for (std::size_t n = threadIdx.x; n < count; n += block_threads) add(mine, sums[n]);
  shared[threadIdx.x] = mine;
  __syncthreads();
  for (unsigned half = block_threads / 2; half != 0; half /= 2) {
    if (threadIdx.x < half) add(shared[threadIdx.x], shared[threadIdx.x + half]);
    __syncthreads();
  }
  if (threadIdx.x == 0) *result = shared[0];
}

__global__ void __launch_bounds__(block_threads)
    gradient_rows(LossArgs args, DenseView<float> gradient, const LossSums* sums) {
  const std::size_t n = std::size_t{blockIdx.x} * block_warps + threadIdx.x / 32;
  if (n >= args.num_nodes) return;
  const std::int32_t label = label_at(args, n);
  if (label < 0) return;
  const NodeId node = args.nodes[n];
  const float* const row = args.logits.data + node * args.logits.stride;
  const Normalizer norm = normalizer(row, args.logits.ncols);
  const double weight = 1.0 / static_cast<double>(sums->total);
  for (std::size_t c = threadIdx.x % 32; c < args.logits.ncols; c += 32) {
    const double probability = exp(row[c] - norm.largest - norm.log_sum);
    const double off = probability - (c == static_cast<std::size_t>(label) ? 1.0 : 0.0);
    // A node that is listed twice gets the same twice: the order of additions does not matter.
    atomicAdd(gradient.data + node * gradient.stride + c, static_cast<float>(weight * off));
  }
}

}  // namespace

void log_softmax(const Cuda& backend, DenseView<float> out, DenseView<const float> x) {
  if (x.nrows == 0 || x.ncols == 0) return;
  const ScopedCudaDevice scope(backend.device.index());
  softmax_rows<<<blocks_for(x.nrows, block_warps), block_threads, 0, stream_of(backend.device)>>>(out, x);
  cuda_check_launch("softmax_rows");
}

void add_losses(const Cuda& backend, const LossArgs& args, LossSums* sums) {
  const Device& device = backend.device;
  const ScopedCudaDevice scope(device.index());
  const std::size_t warp_nodes = (args.num_nodes + most_warps - 1) / most_warps;
  const std::size_t warps = args.num_nodes == 0 ? 0 : (args.num_nodes + warp_nodes - 1) / warp_nodes;
  auto* const of_warps = static_cast<LossSums*>(device.workspace((warps + 1) * sizeof(LossSums)));
  if (warps != 0) {
    add_warp_losses<<<blocks_for(warps, block_warps), block_threads, 0, stream_of(device)>>>(args, of_warps,
                                                                                             warp_nodes);
    cuda_check_launch("add_warp_losses");
  }
  add_all_losses<<<1, block_threads, 0, stream_of(device)>>>(sums, of_warps, warps, args.num_nodes);
  cuda_check_launch("add_all_losses");
}

void add_gradients(const Cuda& backend, const LossArgs& args, DenseView<float> gradient, const LossSums* sums) {
  if (args.num_nodes == 0 || gradient.ncols == 0) return;
  const ScopedCudaDevice scope(backend.device.index());
  const unsigned blocks = blocks_for(args.num_nodes, block_warps);
  gradient_rows<<<blocks, block_threads, 0, stream_of(backend.device)>>>(args, gradient, sums);
  cuda_check_launch("gradient_rows");
}

}  // namespace bitgraph
