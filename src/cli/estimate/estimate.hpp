// SPDX-License-Identifier: Apache-2.0
// --estimate: the time and memory that a command would take, predicted without running it. A command lists its steps;
// one function prints them. docs/cli.md says how near the predictions come.
#pragma once

#include "cli/command.hpp"

#include <functional>
#include <string>
#include <vector>

namespace bitgraph::cli {

/// One part of a command's work.
struct EstimateStep {
  std::string step;
  double seconds = 0;
  double bytes = 0;  ///< of the host, held at the peak of this step: not only by it
};

/// A prediction: steps, one behind another.
struct Estimate {
  std::vector<EstimateStep> steps;
  std::vector<std::string> assumptions;
  double device_bytes = 0;  ///< of a CUDA device, at the peak

  [[nodiscard]] double seconds() const;
  [[nodiscard]] double host_bytes() const;  ///< the largest of the steps
};

/// How fast this machine is beside the one that the rates were measured on.
class Machine {
 public:
  /// Measures the memory's bandwidth for about 20 ms. Throws usage for an unknown device; a CUDA device need not be
  /// there.
  explicit Machine(const Common& common);

  /// What a step takes here that took `seconds` on one thread there.
  [[nodiscard]] double serial(double seconds) const noexcept { return seconds * slowness_; }
  /// The same for a step that all threads share.
  [[nodiscard]] double parallel(double seconds) const noexcept { return seconds * slowness_ / speedup_; }
  [[nodiscard]] bool cuda() const noexcept { return cuda_; }
  [[nodiscard]] double threads() const noexcept { return threads_; }

 private:
  bool cuda_ = false;
  double threads_ = 1, slowness_ = 1, speedup_ = 1;
};

/// Adds the program's start; with a CUDA device, that of the device too.
void add_start(Estimate& estimate, const Machine& machine);

/// Adds --estimate, and sets what the command does: `run`, or with --estimate prints `estimate` and runs nothing.
void add_actions(CLI::App& command, const Common& common, std::function<void()> run,
                 std::function<Estimate()> estimate);

}  // namespace bitgraph::cli
