// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/bench_estimate.hpp"

#include "cli/bench/graph_spec.hpp"
#include "cli/estimate/estimate_rates.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace bitgraph::cli {

Estimate estimate_bench(const std::vector<std::string>& graphs, double figures, double limit, const Common& common) {
  const Machine machine(common);
  Estimate estimate;
  add_start(estimate, machine);
  for (const std::string& name : graphs) {
    const double bytes = spec_bytes(name);
    const double seconds = figures * std::min(limit, 1e-8 * bytes * 20);
    estimate.steps.push_back({name, machine.parallel(seconds), rates::program_bytes + 6 * bytes});
    if (machine.cuda()) estimate.device_bytes = std::max(estimate.device_bytes, 4 * bytes);
  }
  estimate.assumptions.push_back(fmt::format("at most {:g} s a figure, and no account of the peer's own time", limit));
  return estimate;
}

}  // namespace bitgraph::cli
