// SPDX-License-Identifier: Apache-2.0
#include "ops/gradient/gradient.hpp"

#include <bitgraph/ops/gradient.hpp>

#include "core/threads/parallel.hpp"
#include "ops/gradient/tanh.hpp"
#include "ops/operands.hpp"

#include <fmt/format.h>

#include <cmath>

namespace bitgraph {

namespace {

constexpr std::size_t value_grain = 1 << 14;

using Floats = DenseMatrix<float>;

void require_alike(const char* op, std::initializer_list<const Floats*> matrices) {
  const Floats& first = **matrices.begin();
  for (const Floats* matrix : matrices) {
    if (matrix->nrows() != first.nrows() || matrix->ncols() != first.ncols()) {
      fail(ErrorCode::usage, fmt::format("{}: {} x {} and {} x {} differ", op, first.nrows(), first.ncols(),
                                         matrix->nrows(), matrix->ncols()));
    }
    check_device(op, first.device(), matrix->device(), "another matrix", "the first matrix");
  }
}

}  // namespace

void relu(Floats& x) {
  const Device& device = x.device();
  require_alike("relu", {&x});
  float* const values = x.values().data();
  const std::size_t size = x.values().size();
  if (on_cuda("relu", device, [&](const auto& cuda) { relu(cuda, values, size); })) return;
  parallel_for(device, size, value_grain, [&](std::size_t n) { values[n] = values[n] > 0 ? values[n] : 0.0F; });
}

void relu_backward(Floats& g, const Floats& y) {
  const Device& device = g.device();
  require_alike("relu", {&g, &y});
  float* const to = g.values().data();
  const float* const from = y.values().data();
  const std::size_t size = g.values().size();
  if (on_cuda("relu", device, [&](const auto& cuda) { relu_backward(cuda, to, from, size); })) return;
  parallel_for(device, size, value_grain, [&](std::size_t n) { to[n] = from[n] > 0 ? to[n] : 0.0F; });
}

void tanh(Floats& x) {
  const Device& device = x.device();
  require_alike("tanh", {&x});
  float* const values = x.values().data();
  const std::size_t size = x.values().size();
  if (on_cuda("tanh", device, [&](const auto& cuda) { tanh(cuda, values, size); })) return;
  parallel_for(device, size, value_grain, [&](std::size_t n) { values[n] = tanh_of(values[n]); });
}

void tanh_backward(Floats& g, const Floats& y) {
  const Device& device = g.device();
  require_alike("tanh", {&g, &y});
  float* const to = g.values().data();
  const float* const from = y.values().data();
  const std::size_t size = g.values().size();
  if (on_cuda("tanh", device, [&](const auto& cuda) { tanh_backward(cuda, to, from, size); })) return;
  parallel_for(device, size, value_grain, [&](std::size_t n) { to[n] *= 1 - from[n] * from[n]; });
}

void sign_backward(Floats& g, const Floats& x, float limit) {
  const Device& device = g.device();
  require_alike("sign", {&g, &x});
  float* const to = g.values().data();
  const float* const from = x.values().data();
  const std::size_t size = g.values().size();
  if (on_cuda("sign", device, [&](const auto& cuda) { sign_backward(cuda, to, from, size, limit); })) return;
  parallel_for(device, size, value_grain, [&](std::size_t n) { to[n] = std::fabs(from[n]) <= limit ? to[n] : 0.0F; });
}

void binary_weight_backward(Floats& gradient, const Floats& weight, std::span<const float> m) {
  const Device& device = gradient.device();
  require_alike("binary weight", {&gradient, &weight});
  if (m.size() != weight.nrows())
    fail(ErrorCode::usage, fmt::format("binary weight: {} scales for {} rows", m.size(), weight.nrows()));
  const BinaryWeightArgs args{gradient.view(), weight.view(), m.data()};
  with_backend(device, "binary weight", [&](const auto& backend) { binary_weight_backward(backend, args); });
}

void add_divergence_gradient(Floats& g, const Floats& log_p, const Floats& q, float weight) {
  const Device& device = g.device();
  require_alike("divergence", {&g, &log_p, &q});
  float* const to = g.values().data();
  const float* const p = log_p.values().data();
  const float* const wanted = q.values().data();
  const std::size_t size = g.values().size();
  if (on_cuda("divergence", device,
              [&](const auto& cuda) { add_divergence_gradient(cuda, to, p, wanted, size, weight); })) {
    return;
  }
  parallel_for(device, size, value_grain, [&](std::size_t n) { to[n] += weight * (std::exp(p[n]) - wanted[n]); });
}

}  // namespace bitgraph
