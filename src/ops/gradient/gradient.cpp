// SPDX-License-Identifier: Apache-2.0
#include "ops/gradient/gradient.hpp"

#include <bitgraph/ops/gradient.hpp>

#include "core/parallel.hpp"
#include "ops/operands.hpp"

#include <fmt/format.h>

#include <array>
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

/// The sum over a row of sign(w) g: 32 sums of every 32nd column, halved until one is left.
double signed_sum(const float* g, const float* w, std::size_t ncols) {
  constexpr std::size_t lanes = 32;
  std::array<double, lanes> sums{};
  for (std::size_t j = 0; j < ncols; ++j) sums[j % lanes] += w[j] >= 0 ? g[j] : -g[j];
  for (std::size_t half = lanes / 2; half != 0; half /= 2) {
    for (std::size_t n = 0; n < half; ++n) sums[n] += sums[n + half];
  }
  return sums[0];
}

void update(const AdamArgs& args, Range range) {
  const AdamStep& step = args.step;
  float* const __restrict w = args.value;
  const float* const __restrict g = args.gradient;
  float* const __restrict m = args.first_moment;
  float* const __restrict v = args.second_moment;
  for (std::size_t n = range.begin; n < range.end; ++n) {
    const float slope = g[n] + step.decay * w[n];
    m[n] = AdamStep::beta1 * m[n] + (1 - AdamStep::beta1) * slope;
    v[n] = AdamStep::beta2 * v[n] + (1 - AdamStep::beta2) * slope * slope;
    w[n] -= step.rate * m[n] / (std::sqrt(v[n]) * step.correction + AdamStep::epsilon);
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
  if (on_cuda("binary weight", device,
              [&](const auto& cuda) { binary_weight_backward(cuda, gradient.view(), weight.view(), m.data()); })) {
    return;
  }
  const std::size_t ncols = weight.ncols();
  parallel_for(device, weight.nrows(), 4, [&](std::size_t f) {
    float* const __restrict g = gradient.row(f).data();
    const float* const __restrict w = weight.row(f).data();
    const auto mean = static_cast<float>(signed_sum(g, w, ncols) / static_cast<double>(ncols));
    for (std::size_t j = 0; j < ncols; ++j) {
      const float through = std::fabs(w[j]) <= 1 ? m[f] * g[j] : 0.0F;
      g[j] = through + (w[j] >= 0 ? mean : -mean);
    }
  });
}

void adam(Floats& value, const Floats& gradient, Floats& first_moment, Floats& second_moment,
          const AdamOptions& options) {
  const Device& device = value.device();
  require_alike("adam", {&value, &gradient, &first_moment, &second_moment});
  require(options.step > 0, "adam: steps count from 1");
  const auto count = static_cast<double>(options.step);
  const AdamStep step{
      static_cast<float>(options.learning_rate / (1 - std::pow(static_cast<double>(AdamStep::beta1), count))),
      static_cast<float>(1 / std::sqrt(1 - std::pow(static_cast<double>(AdamStep::beta2), count))), options.decay};
  const AdamArgs args{value.values().data(),         gradient.values().data(), first_moment.values().data(),
                      second_moment.values().data(), value.values().size(),    step};
  if (on_cuda("adam", device, [&](const auto& cuda) { adam(cuda, args); })) return;
  parallel_ranges(device, args.size, value_grain, [&](Range range) { update(args, range); });
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
