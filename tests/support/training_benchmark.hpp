// SPDX-License-Identifier: Apache-2.0
// Benchmarks of an operator at the shapes of a training epoch, beside the scalar loop that defines it.
#pragma once

#include "support/shapes.hpp"

#include <bitgraph/core/device.hpp>

#include <benchmark/benchmark.h>

#include <string>

namespace bitgraph::test {

/// Registers `<name>/reference` as run(state, shape, nullptr) and `<name>/cpu` as run(state, shape, &device) with 1 and
/// 2 threads, for each training shape. Returns true, to stand at namespace scope.
template <class Run>
bool register_training_benchmark(const std::string& name, Run run, bool reference = true) {
  const auto add = [](const std::string& full_name, auto body) {
    benchmark::RegisterBenchmark(full_name.c_str(), body)->UseRealTime()->Unit(benchmark::kMicrosecond);
  };
  for (const Shape& shape : training_shapes()) {
    const std::string tail = "/" + std::to_string(shape.nrows) + "x" + std::to_string(shape.ncols);
    if (reference) add(name + tail + "/reference", [=](benchmark::State& state) { run(state, shape, nullptr); });
    for (const int threads : {1, 2}) {
      add(name + tail + "/cpu/threads:" + std::to_string(threads), [=](benchmark::State& state) {
        const Device device = Device::host(threads);
        run(state, shape, &device);
      });
    }
  }
  return true;
}

}  // namespace bitgraph::test
