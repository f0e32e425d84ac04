// SPDX-License-Identifier: Apache-2.0
// Batch norm on a CUDA device, which batch_norm.cpp names in a build with CUDA. Sums are taken in double, in an order
// that depends on the shape alone.
#pragma once

#include <bitgraph/formats/dense_matrix.hpp>
#include <bitgraph/ops/batch_norm.hpp>

#include "core/devices/backend.hpp"

namespace bitgraph {

/// Mean and biased variance of the columns of x, which has rows.
void column_statistics(const Cuda& backend, DenseView<const float> x, float* mean, float* variance);

void batch_norm(const Cuda& backend, DenseView<float> out, DenseView<const float> x, const BatchNorm& norm);

/// x and g have rows.
void batch_norm_backward(const Cuda& backend, DenseView<float> out, float* of_scale, float* of_shift,
                         DenseView<const float> x, DenseView<const float> g, const BatchNorm& norm);

}  // namespace bitgraph
