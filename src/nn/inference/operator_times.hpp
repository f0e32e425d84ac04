// SPDX-License-Identifier: Apache-2.0
// What the operators of a program cost when they run, for those who ask for an explanation.
#pragma once

#include <bitgraph/nn/infer.hpp>

#include "core/trace.hpp"
#include "nn/program/operators.hpp"

#include <chrono>
#include <utility>
#include <vector>

namespace bitgraph::nn {

/// Each operator runs several times: the first run says which kernels it has, the others how long they take.
class OperatorTimes {
 public:
  OperatorTimes(std::size_t operators, Device device) : device_(std::move(device)), times_(operators) {}

  /// Runs operator `n`, and waits for it.
  template <class Work>
  void run(std::size_t n, Work&& work) {
    Times& times = times_[n];
    const TraceScope scope(times.runs == 0 ? &times.kernels : nullptr);
    const auto start = std::chrono::steady_clock::now();
    work();
    device_.synchronize();
    if (times.runs++ > 0)
      times.seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }

  /// A row an operator of the program, and behind these, in the order of the way back, one a gradient that ran: those
  /// have numbers behind the operators'.
  [[nodiscard]] std::vector<ExplainedOperator> explain(const Program& program, const GraphFacts& graph) const;

 private:
  struct Times {
    std::size_t runs = 0;
    std::vector<TracedKernel> kernels;
    std::vector<double> seconds;
  };

  [[nodiscard]] ExplainedOperator row(const Program& program, const GraphFacts& graph, std::size_t n) const;

  Device device_;
  std::vector<Times> times_;
};

}  // namespace bitgraph::nn
