// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/ratios.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace bitgraph::cli {

void Ratios::add(const std::string& name, double rival, double ours) {
  const double ratio = std::log(rival / ours);
  Logarithms& found = found_[name];
  found.least = found.shapes == 0 ? ratio : std::min(found.least, ratio);
  found.sum += ratio;
  ++found.shapes;
}

Json Ratios::json() const {
  Json ratios = Json::object();
  for (const auto& [name, found] : found_)
    ratios[name] = {{"geometric_mean", std::exp(found.sum / found.shapes)}, {"least", std::exp(found.least)}};
  return ratios;
}

void print_ratios(const Json& ratios, const std::string& operation) {
  if (ratios.empty()) return;
  fmt::print("{} of all shapes, times as fast: geometric mean (least)\n", operation);
  for (const auto& [name, found] : ratios.items()) {
    fmt::print("    {:<6}{:>9.2f} x ({:.2f})\n", name, found["geometric_mean"].get<double>(),
               found["least"].get<double>());
  }
}

}  // namespace bitgraph::cli
