// SPDX-License-Identifier: Apache-2.0
// The CUDA device that tests run on, where there is one.
#pragma once

#include <bitgraph/core/device.hpp>
#include <bitgraph/core/error.hpp>

#include <gtest/gtest.h>

#include <optional>

namespace bitgraph::test {

/// cuda:0, or nothing in a build or on a machine without CUDA. One handle for all tests: its pool stays warm.
inline const std::optional<Device>& cuda_device() {
  static const std::optional<Device> device = []() -> std::optional<Device> {
    if (Device::best().is_host()) return std::nullopt;
    return Device::cuda();
  }();
  return device;
}

}  // namespace bitgraph::test

/// Skips a test, loudly, where there is no CUDA device.
#define BITGRAPH_REQUIRE_CUDA() \
  if (!bitgraph::test::cuda_device()) GTEST_SKIP() << "no CUDA device here: the kernels were not run"
