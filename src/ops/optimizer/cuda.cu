// SPDX-License-Identifier: Apache-2.0
// A thread an element; a row of blocks a parameter.
#include "ops/optimizer/optimizer.hpp"

#include <bitgraph/core/kernel.cuh>

#include <algorithm>

namespace bitgraph {

namespace {

using Rule = OptimizerRule;

constexpr unsigned block_threads = 256;

template <OptimizerKind kind>
__global__ void __launch_bounds__(block_threads) optimize_values(const __grid_constant__ OptimizeArgs args) {
  const OptimizedValues& p = args.parameters[blockIdx.y];
  const std::size_t n = std::size_t{blockIdx.x} * block_threads + threadIdx.x;
  if (n >= p.size) return;
  const StepValues step = *args.step;
  float w = p.value[n];
  const float slope = kind == OptimizerKind::adamw ? p.gradient[n] : p.gradient[n] + p.decay * w;
  if constexpr (kind == OptimizerKind::adamw) w -= step.learning_rate * p.decay * w;
  if constexpr (kind == OptimizerKind::sgd) {
    const float m = Rule::momentum * p.first_moment[n] + slope;
    p.first_moment[n] = m;
    w -= step.learning_rate * m;
  } else {
    const float m = Rule::beta1 * p.first_moment[n] + (1 - Rule::beta1) * slope;
    const float v = Rule::beta2 * p.second_moment[n] + (1 - Rule::beta2) * slope * slope;
    p.first_moment[n] = m;
    p.second_moment[n] = v;
    w -= step.rate * m / (sqrtf(v) * step.correction + Rule::epsilon);
  }
  p.value[n] = w;
  if (p.average != nullptr) p.average[n] = (1 - step.kept) * w + step.kept * p.average[n];
}

template <OptimizerKind kind>
void launch(const Cuda& backend, const OptimizeArgs& args) {
  std::size_t largest = 0;
  for (std::size_t n = 0; n < args.count; ++n) largest = std::max(largest, args.parameters[n].size);
  if (largest == 0) return;
  const ScopedCudaDevice scope(backend.device.index());
  const dim3 blocks(blocks_for(largest, block_threads), static_cast<unsigned>(args.count));
  optimize_values<kind><<<blocks, block_threads, 0, stream_of(backend.device)>>>(args);
  cuda_check_launch("optimize_values");
}

__global__ void store_step(StepValues* there, const StepValues values) { *there = values; }

}  // namespace

void set_step(const Cuda& backend, StepValues* there, const StepValues& values) {
  const ScopedCudaDevice scope(backend.device.index());
  store_step<<<1, 1, 0, stream_of(backend.device)>>>(there, values);
  cuda_check_launch("store_step");
}

void optimize(const Cuda& backend, OptimizerKind kind, const OptimizeArgs& args) {
  switch (kind) {
    case OptimizerKind::adam: return launch<OptimizerKind::adam>(backend, args);
    case OptimizerKind::adamw: return launch<OptimizerKind::adamw>(backend, args);
    case OptimizerKind::sgd: return launch<OptimizerKind::sgd>(backend, args);
  }
}

}  // namespace bitgraph
