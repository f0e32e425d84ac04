// SPDX-License-Identifier: Apache-2.0
// How many times as fast as a rival something is, over several shapes.
#pragma once

#include "cli/command.hpp"

#include <map>
#include <string>

namespace bitgraph::cli {

class Ratios {
 public:
  /// One shape, in seconds or any other unit of both.
  void add(const std::string& name, double rival, double ours);

  /// {name: {"geometric_mean", "least"}}.
  [[nodiscard]] Json json() const;

 private:
  struct Logarithms {
    double sum = 0, least = 0;
    int shapes = 0;
  };
  std::map<std::string, Logarithms> found_;
};

/// Prints what json() has: "    BBB      14.70 x (3.94)". Nothing where there is nothing.
void print_ratios(const Json& ratios, const std::string& operation);

}  // namespace bitgraph::cli
