// SPDX-License-Identifier: Apache-2.0
// A thread an element: bound by memory.
#include <bitgraph/core/kernel.cuh>

#include "ops/cuda_column_pairs.cuh"
#include "ops/fake_quantize/fake_quantize.hpp"

namespace bitgraph {

namespace {

constexpr unsigned threads = 256;

/// fn(row, column) for every element.
template <class Fn>
__device__ void for_element(const FakeQuantizeArgs& args, const Fn& fn) {
  const std::size_t item = std::size_t{blockIdx.x} * threads + threadIdx.x;
  if (item < args.x.nrows * args.x.ncols) fn(item / args.x.ncols, item % args.x.ncols);
}

__device__ float factor_of(const FakeQuantizeArgs& args, std::size_t row) {
  return args.row_scale == nullptr ? 1.0F : __ldg(args.row_scale + row);
}

__device__ float place_of(const FakeQuantizeArgs& args, std::size_t i, std::size_t j, float factor) {
  const std::size_t s = args.scale_of(i, j);
  return (args.x.data[i * args.x.stride + j] * factor - __ldg(args.offsets + s)) / __ldg(args.steps + s);
}

__global__ void __launch_bounds__(threads) fake_quantize_elements(const __grid_constant__ FakeQuantizeArgs args) {
  for_element(args, [&](std::size_t i, std::size_t j) {
    const float factor = factor_of(args, i);
    const float place = place_of(args, i, j, factor);
    const float within = place > 0 ? fminf(place, args.most) : 0.0F;
    const std::size_t s = args.scale_of(i, j);
    args.out.data[i * args.out.stride + j] = (rintf(within) * __ldg(args.steps + s) + __ldg(args.offsets + s)) / factor;
  });
}

__global__ void __launch_bounds__(threads)
    fake_quantize_backward_elements(const __grid_constant__ FakeQuantizeArgs args) {
  for_element(args, [&](std::size_t i, std::size_t j) {
    const float place = place_of(args, i, j, factor_of(args, i));
    if (!(place >= -0.5F && place <= args.most + 0.5F)) args.out.data[i * args.out.stride + j] = 0;
  });
}

}  // namespace

void fake_quantize(const Cuda& backend, const FakeQuantizeArgs& args) {
  const std::size_t count = args.x.nrows * args.x.ncols;
  if (count == 0) return;
  fake_quantize_elements<<<blocks_for(count, threads), threads, 0, stream_of(backend.device)>>>(args);
  cuda_check_launch("fake_quantize_elements");
}

void fake_quantize_backward(const Cuda& backend, const FakeQuantizeArgs& args) {
  const std::size_t count = args.x.nrows * args.x.ncols;
  if (count == 0) return;
  fake_quantize_backward_elements<<<blocks_for(count, threads), threads, 0, stream_of(backend.device)>>>(args);
  cuda_check_launch("fake_quantize_backward_elements");
}

namespace {

__global__ void learned_scale_elements(DenseView<float> scale, DenseView<const float> learned) {
  const std::size_t n = std::size_t{blockIdx.x} * threads + threadIdx.x;
  if (n >= learned.ncols) return;
  const float step = expf(learned.data[n]);
  scale.data[n] = step;
  scale.data[scale.stride + n] = learned.data[learned.stride + n] * step;
}

/// What an element adds to the sums of its scale.
struct SlopeTerm {
  LearnedScaleArgs args;

  __device__ double2 operator()(std::size_t i, std::size_t j) const {
    const FakeQuantizeArgs& at = args.at;
    const std::size_t s = at.scale_of(i, j);
    const float factor = factor_of(at, i);
    const float place = place_of(at, i, j, factor);
    const ScaleSlopes slopes =
        slopes_of(place, rintf(place), at.most, __ldg(at.steps + s), __ldg(at.offsets + s), factor);
    const double gradient = args.gradient.data[i * args.gradient.stride + j];
    return {slopes.of_step * gradient, slopes.of_place * gradient};
  }
};

/// Sums over a block, in one order; those of thread 0 count.
__device__ double2 sum_of_block(double2 mine) {
  __shared__ double2 sums[threads];
  sums[threadIdx.x] = mine;
  for (unsigned half = threads / 2; half != 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x >= half) continue;
    sums[threadIdx.x].x += sums[threadIdx.x + half].x;
    sums[threadIdx.x].y += sums[threadIdx.x + half].y;
  }
  return sums[0];
}

/// A block a row, which has a scale of its own.
__global__ void __launch_bounds__(threads) row_slopes(const __grid_constant__ SlopeTerm term) {
  double2 mine{0, 0};
  for (std::size_t j = threadIdx.x; j < term.args.at.x.ncols; j += threads) {
    const double2 more = term(blockIdx.x, j);
    mine.x += more.x;
    mine.y += more.y;
  }
  const double2 all = sum_of_block(mine);
  if (threadIdx.x != 0) return;
  term.args.sums[blockIdx.x] = static_cast<float>(all.x);
  term.args.sums[term.args.count + blockIdx.x] = static_cast<float>(all.y);
}

/// One block: the sums of all columns, which stand in total[0 .. 2 ncols).
__global__ void __launch_bounds__(threads) add_totals(float* sums, const double* total, std::size_t ncols) {
  double2 mine{0, 0};
  for (std::size_t j = threadIdx.x; j < ncols; j += threads) {
    mine.x += total[j];
    mine.y += total[ncols + j];
  }
  const double2 all = sum_of_block(mine);
  if (threadIdx.x != 0) return;
  sums[0] = static_cast<float>(all.x);
  sums[1] = static_cast<float>(all.y);
}

}  // namespace

void learned_scale(const Cuda& backend, DenseView<float> scale, DenseView<const float> learned) {
  if (learned.ncols == 0) return;
  const unsigned blocks = blocks_for(learned.ncols, threads);
  learned_scale_elements<<<blocks, threads, 0, stream_of(backend.device)>>>(scale, learned);
  cuda_check_launch("learned_scale_elements");
}

void learned_scale_backward(const Cuda& backend, const LearnedScaleArgs& args) {
  if (args.count == 0) return;
  const ScopedCudaDevice scope(backend.device.index());
  const SlopeTerm term{args};
  const std::size_t nrows = args.at.x.nrows, ncols = args.at.x.ncols;
  const auto stream = stream_of(backend.device);
  if (args.at.extent == ScaleExtent::row) {
    row_slopes<<<static_cast<unsigned>(nrows), threads, 0, stream>>>(term);
    return cuda_check_launch("row_slopes");
  }
  const column_pairs::SumsView sums = column_pairs::make_sums(backend.device, nrows, ncols);
  const bool by_column = args.at.extent == ScaleExtent::column;
  if (ncols != 0) {
    column_pairs::add_up(backend.device, sums, nrows, term,
                         [=] __device__(std::size_t j, double of_step, double of_place) {
                           if (by_column) {
                             args.sums[j] = static_cast<float>(of_step);
                             args.sums[args.count + j] = static_cast<float>(of_place);
                           } else {
                             sums.total[j] = of_step;
                             sums.total[sums.ncols + j] = of_place;
                           }
                         });
  }
  if (by_column) return;
  add_totals<<<1, threads, 0, stream>>>(args.sums, sums.total, ncols);
  cuda_check_launch("add_totals");
}

}  // namespace bitgraph
