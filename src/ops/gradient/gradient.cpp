// SPDX-License-Identifier: Apache-2.0
#include "ops/gradient/gradient.hpp"

#include <bitgraph/ops/gradient.hpp>

#include "core/tanh.hpp"
#include "core/threads/parallel.hpp"
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

/// x and y go together: on_device(cuda, x, y, size) where they live on a CUDA device, else x = of(x, y) for each
/// element. They may be the same matrix.
template <class OnDevice, class Of>
void change_each(const char* op, Floats& x, const Floats& y, const OnDevice& on_device, const Of& of) {
  require_alike(op, {&x, &y});
  float* const to = x.values().data();
  const float* const from = y.values().data();
  const std::size_t size = x.values().size();
  if (on_cuda(op, x.device(), [&](const auto& cuda) { on_device(cuda, to, from, size); })) return;
  parallel_for(x.device(), size, value_grain, [&](std::size_t n) { to[n] = of(to[n], from[n]); });
}

}  // namespace

void relu(Floats& x) {
  change_each(
      "relu", x, x, [](const auto& cuda, float* to, const float*, std::size_t size) { relu(cuda, to, size); },
      [](float value, float) { return value > 0 ? value : 0.0F; });
}

void relu_backward(Floats& g, const Floats& y) {
  change_each(
      "relu", g, y,
      [](const auto& cuda, float* to, const float* from, std::size_t size) { relu_backward(cuda, to, from, size); },
      [](float gradient, float value) { return value > 0 ? gradient : 0.0F; });
}

void tanh(Floats& x) {
  change_each(
      "tanh", x, x, [](const auto& cuda, float* to, const float*, std::size_t size) { tanh(cuda, to, size); },
      [](float value, float) { return tanh_of(value); });
}

void tanh_backward(Floats& g, const Floats& y) {
  change_each(
      "tanh", g, y,
      [](const auto& cuda, float* to, const float* from, std::size_t size) { tanh_backward(cuda, to, from, size); },
      [](float gradient, float value) { return gradient * (1 - value * value); });
}

void sign_backward(Floats& g, const Floats& x, float limit) {
  change_each(
      "sign", g, x,
      [=](const auto& cuda, float* to, const float* from, std::size_t size) {
        sign_backward(cuda, to, from, size, limit);
      },
      [=](float gradient, float value) { return std::fabs(value) <= limit ? gradient : 0.0F; });
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
