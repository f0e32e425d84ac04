// SPDX-License-Identifier: Apache-2.0
// The kernels of include/bitgraph/ops/optimizer.hpp.
#pragma once

#include <bitgraph/ops/optimizer.hpp>

#include "core/devices/backend.hpp"

#include <array>
#include <cstddef>

namespace bitgraph {

/// The constants of the rules.
struct OptimizerRule {
  static constexpr float beta1 = 0.9F;
  static constexpr float beta2 = 0.999F;
  static constexpr float epsilon = 1e-8F;
  static constexpr float momentum = 0.9F;
};

struct OptimizedValues {
  float* value = nullptr;
  const float* gradient = nullptr;
  float* first_moment = nullptr;
  float* second_moment = nullptr;  ///< null where kind is sgd
  float* average = nullptr;        ///< null: not kept
  std::size_t size = 0;
  float decay = 0;
};

/// Parameters of one step: as many as the arguments of a kernel have room for.
struct OptimizeArgs {
  static constexpr std::size_t most = 32;
  std::array<OptimizedValues, most> parameters{};
  std::size_t count = 0;
  const StepValues* step = nullptr;  ///< where the kernel can read it
};

void optimize(const Reference& backend, OptimizerKind kind, const OptimizeArgs& args);
void optimize(const Cpu& backend, OptimizerKind kind, const OptimizeArgs& args);
void optimize(const Cuda& backend, OptimizerKind kind, const OptimizeArgs& args);

/// *there = values, behind what the device was asked for before. Nothing waits for it, as a copy from the host would.
void set_step(const Cuda& backend, StepValues* there, const StepValues& values);

}  // namespace bitgraph
