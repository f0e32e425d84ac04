// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/nn/train.hpp>

#include "core/names.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace bitgraph::nn {

namespace {

constexpr Names<Schedule, 3> schedules{
    {{Schedule::constant, "constant"}, {Schedule::linear, "linear"}, {Schedule::cosine, "cosine"}}};

}  // namespace

std::string_view to_string(Schedule schedule) noexcept { return name_of(schedules, schedule); }

Schedule schedule_from_string(std::string_view name) { return value_of(schedules, "schedule", name); }

float scheduled_rate(Schedule schedule, float learning_rate, std::size_t epoch, std::size_t epochs) {
  const double done = static_cast<double>(epoch - 1) / static_cast<double>(std::max<std::size_t>(1, epochs));
  double share = 1;
  if (schedule == Schedule::linear) share = 1 - done;
  if (schedule == Schedule::cosine) share = (1 + std::cos(done * std::numbers::pi)) / 2;
  return static_cast<float>(share * static_cast<double>(learning_rate));
}

}  // namespace bitgraph::nn
