// SPDX-License-Identifier: Apache-2.0
#include "ops/optimizer/optimizer.hpp"

#include "core/names.hpp"
#include "ops/operands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace bitgraph {

namespace {

using Floats = DenseMatrix<float>;

constexpr Names<OptimizerKind, 3> names{
    {{OptimizerKind::adam, "adam"}, {OptimizerKind::adamw, "adamw"}, {OptimizerKind::sgd, "sgd"}}};

/// The elements of one of a parameter's matrices, which is as large as its value and lies where the step does.
template <class Matrix>
auto* elements(const OptimizedParameter& parameter, Matrix* matrix, const Device& device) {
  if (matrix == nullptr) fail(ErrorCode::usage, "optimize: a matrix is missing");
  const Floats& value = *parameter.value;
  if (matrix->nrows() != value.nrows() || matrix->ncols() != value.ncols()) {
    fail(ErrorCode::usage, fmt::format("optimize: {} x {} and {} x {} differ", value.nrows(), value.ncols(),
                                       matrix->nrows(), matrix->ncols()));
  }
  check_device("optimize", device, matrix->device(), "a parameter", "the step");
  return matrix->values().data();
}

OptimizedValues values_of(const OptimizedParameter& p, OptimizerKind kind, const Device& device) {
  OptimizedValues values;
  values.value = elements(p, p.value, device);
  values.gradient = elements(p, p.gradient, device);
  values.first_moment = elements(p, p.first_moment, device);
  if (kind != OptimizerKind::sgd) values.second_moment = elements(p, p.second_moment, device);
  if (p.average != nullptr) values.average = elements(p, p.average, device);
  values.size = p.value->values().size();
  values.decay = p.decay;
  return values;
}

}  // namespace

std::string_view to_string(OptimizerKind kind) noexcept { return name_of(names, kind); }

OptimizerKind optimizer_from_string(std::string_view name) { return value_of(names, "optimizer", name); }

TrainingStep::TrainingStep(const Device& device) : there_(device.is_host() ? 0 : 1, device) {}

void TrainingStep::set(std::size_t number, float learning_rate) {
  require(number > 0, "a training step: they count from 1");
  constexpr float most = 0.99F;
  const auto count = static_cast<double>(number);
  const auto rest = [&](float beta) { return 1 - std::pow(static_cast<double>(beta), count); };
  values_.number = static_cast<std::uint32_t>(number);
  values_.learning_rate = learning_rate;
  values_.rate = static_cast<float>(learning_rate / rest(OptimizerRule::beta1));
  values_.correction = static_cast<float>(1 / std::sqrt(rest(OptimizerRule::beta2)));
  values_.kept = std::min(most, static_cast<float>(number) / static_cast<float>(number + 10));
  on_cuda("optimize", device(), [&](const auto& cuda) { set_step(cuda, there_.data(), values_); });
}

void optimize(std::span<const OptimizedParameter> parameters, OptimizerKind kind, const TrainingStep& step) {
  for (std::size_t first = 0; first < parameters.size(); first += OptimizeArgs::most) {
    OptimizeArgs args;
    args.count = std::min(OptimizeArgs::most, parameters.size() - first);
    args.step = step.there();
    for (std::size_t n = 0; n < args.count; ++n)
      args.parameters[n] = values_of(parameters[first + n], kind, step.device());
    with_backend(step.device(), "optimize", [&](const auto& backend) { optimize(backend, kind, args); });
  }
}

}  // namespace bitgraph
