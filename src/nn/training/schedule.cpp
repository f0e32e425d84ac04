// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/core/error.hpp>
#include <bitgraph/nn/train.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

namespace bitgraph::nn {

namespace {

constexpr std::array<std::pair<Schedule, std::string_view>, 3> schedules{
    {{Schedule::constant, "constant"}, {Schedule::linear, "linear"}, {Schedule::cosine, "cosine"}}};

}  // namespace

std::string_view to_string(Schedule schedule) noexcept { return schedules[static_cast<std::size_t>(schedule)].second; }

Schedule schedule_from_string(std::string_view name) {
  for (const auto& [schedule, text] : schedules) {
    if (text == name) return schedule;
  }
  fail(ErrorCode::usage, fmt::format("unknown schedule '{}': use constant, linear or cosine", name));
}

float scheduled_rate(Schedule schedule, float learning_rate, std::size_t epoch, std::size_t epochs) {
  const double done = static_cast<double>(epoch - 1) / static_cast<double>(std::max<std::size_t>(1, epochs));
  double share = 1;
  if (schedule == Schedule::linear) share = 1 - done;
  if (schedule == Schedule::cosine) share = (1 + std::cos(done * std::numbers::pi)) / 2;
  return static_cast<float>(share * static_cast<double>(learning_rate));
}

}  // namespace bitgraph::nn
