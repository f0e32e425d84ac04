// SPDX-License-Identifier: Apache-2.0
// log_softmax and the loss on a CUDA device, which log_softmax.cpp names in a build with CUDA.
#pragma once

#include <bitgraph/core/types.hpp>
#include <bitgraph/formats/dense_matrix.hpp>

#include "core/devices/backend.hpp"

#include <cstddef>
#include <cstdint>

namespace bitgraph {

struct LossArgs {
  DenseView<const float> logits;
  const std::int32_t* labels = nullptr;
  std::size_t num_labels = 0;
  const NodeId* nodes = nullptr;
  std::size_t num_nodes = 0;
};

/// What the nodes add up to; `first_bad` is the place of the first one that is out of range, itself or its label;
/// num_nodes where there is none.
struct LossSums {
  double loss = 0;
  std::uint64_t correct = 0;
  std::uint64_t total = 0;
  std::uint64_t first_bad = 0;
};

void log_softmax(const Cuda& backend, DenseView<float> out, DenseView<const float> x);

/// Into `sums`, which lies on the device.
void add_losses(const Cuda& backend, const LossArgs& args, LossSums* sums);

/// gradient is zero and becomes (softmax - onehot) / sums->total at each time that a labelled node is listed.
void add_gradients(const Cuda& backend, const LossArgs& args, DenseView<float> gradient, const LossSums* sums);

}  // namespace bitgraph
