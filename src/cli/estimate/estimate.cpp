// SPDX-License-Identifier: Apache-2.0
#include "cli/estimate/estimate.hpp"

#include <bitgraph/core/error.hpp>

#include "cli/estimate/estimate_rates.hpp"
#include "cli/help.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <thread>

namespace bitgraph::cli {

namespace {

/// Bytes a second that one thread copies: the best of some passes, since others may use the machine.
double copy_bandwidth() {
  using Clock = std::chrono::steady_clock;
  constexpr std::size_t size = std::size_t{32} << 20;  // beyond most caches
  std::vector<char> from(size, 1);
  std::vector<char> to(size);
  double best = 1e9;
  const auto start = Clock::now();
  for (int pass = 0; pass < 3 || Clock::now() - start < std::chrono::milliseconds(20); ++pass) {
    const auto begin = Clock::now();
    std::memcpy(to.data(), from.data(), size);
    from[0] = to[size - 1];  // the copy is needed
    best = std::min(best, std::chrono::duration<double>(Clock::now() - begin).count());
  }
  return 2.0 * size / best;
}

Json json_of(const Estimate& estimate) {
  Json what = Json::array();
  for (const EstimateStep& step : estimate.steps) {
    what.push_back({{"step", step.step}, {"seconds", step.seconds}, {"bytes", std::llround(step.bytes)}});
  }
  return {{"estimate",
           {{"seconds", estimate.seconds()},
            {"host_bytes", std::llround(estimate.host_bytes())},
            {"device_bytes", std::llround(estimate.device_bytes)},
            {"what", what},
            {"assumptions", estimate.assumptions}}}};
}

void print(const Estimate& estimate) {
  fmt::print("estimate: {:.3g} s, {} at the peak{}; nothing was run\n", estimate.seconds(),
             human_bytes(estimate.host_bytes()),
             estimate.device_bytes > 0 ? fmt::format(", {} on the device", human_bytes(estimate.device_bytes)) : "");
  std::size_t width = 4;
  for (const EstimateStep& step : estimate.steps) width = std::max(width, step.step.size());
  fmt::print("\n  {:<{}}{:>12}{:>14}\n", "step", width, "seconds", "memory");
  for (const EstimateStep& step : estimate.steps)
    fmt::print("  {:<{}}{:>12.3g}{:>14}\n", step.step, width, step.seconds, human_bytes(step.bytes));
  if (!estimate.assumptions.empty()) fmt::print("\n");
  for (const std::string& assumption : estimate.assumptions) fmt::print("{}\n", wrapped("  assumes " + assumption, 4));
}

}  // namespace

double Estimate::seconds() const {
  double sum = 0;
  for (const EstimateStep& step : steps) sum += step.seconds;
  return sum;
}

double Estimate::host_bytes() const {
  double most = 0;
  for (const EstimateStep& step : steps) most = std::max(most, step.bytes);
  return most;
}

Machine::Machine(const Common& common) : cuda_(common.device.starts_with("cuda")) {
  threads_ = (cuda_ ? Device::host(common.threads) : common.make_device()).threads();
  const double cores = std::max(1U, std::thread::hardware_concurrency());
  speedup_ = 1 + (std::min(threads_, cores) - 1) * rates::thread_gain;
  slowness_ = std::clamp(rates::copy_bandwidth / copy_bandwidth(), 0.5, 4.0);
}

void add_start(Estimate& estimate, const Machine& machine) {
  const double seconds = rates::start_seconds + (machine.cuda() ? rates::device_start_seconds : 0);
  estimate.steps.push_back({"start", machine.serial(seconds), rates::program_bytes});
}

void add_actions(CLI::App& command, const Common& common, std::function<void()> run,
                 std::function<Estimate()> estimate) {
  auto wanted = std::make_shared<bool>(false);
  command.add_flag("--estimate", *wanted, "print the predicted time and memory, and run nothing");
  command.callback([wanted, &common, run = std::move(run), estimate = std::move(estimate)] {
    if (!*wanted) return run();
    const Estimate predicted = estimate();
    if (common.json) {
      fmt::print("{}\n", json_of(predicted).dump(2));
    } else {
      print(predicted);
    }
  });
}

}  // namespace bitgraph::cli
