// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/timing.hpp"

#include "cli/graph_command/graph_command.hpp"

#include <algorithm>
#include <ctime>
#include <vector>

namespace bitgraph::cli {

namespace {

double processor_seconds() {
  std::timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

double seconds_of(const std::function<void()>& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return seconds_since(start);
}

double usual_warm_up(const Device& device) { return device.is_host() ? 0 : 0.1; }

Spread measure(const Timing& timing, const std::function<void(int)>& call, const std::function<void()>& finish) {
  const auto time = [&](int sample, int calls) {
    const auto start = std::chrono::steady_clock::now();
    const double processor = timing.processor_time ? processor_seconds() : 0;
    for (int n = 0; n < calls; ++n) call(sample);
    finish();
    return (timing.processor_time ? processor_seconds() - processor : seconds_since(start)) / calls;
  };
  double first = time(0, 1);
  if (timing.warm > 0 && timing.limit > 0) first = std::min(first, time(0, 1));  // kernels are loaded when first called
  if (first >= timing.limit) return {first, first, first, 1};
  const auto warm_from = std::chrono::steady_clock::now();
  while (seconds_since(warm_from) < timing.warm)
    time(0, std::clamp(static_cast<int>(1e-3 / std::max(first, 1e-9)), 1, 100));
  double spent = first;
  int batch = 1;
  if (first < timing.batch) {
    const double once = std::min(time(0, 1), time(0, 1));
    batch = std::clamp(static_cast<int>(timing.batch / std::max(once, 1e-9)), 1, 4096);
  }
  std::vector<double> times;
  while (static_cast<int>(times.size()) < timing.repeats && (times.empty() || spent < timing.limit)) {
    times.push_back(time(static_cast<int>(times.size()), batch));
    spent += times.back() * batch;
  }
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times.front(), times.back(), static_cast<int>(times.size())};
}

}  // namespace bitgraph::cli
