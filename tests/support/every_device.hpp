// SPDX-License-Identifier: Apache-2.0
// Runs a check of an operator on all there is to run it on, for all odd shapes.
#pragma once

#include "support/cuda_device.hpp"
#include "support/everywhere.hpp"
#include "support/shapes.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace bitgraph::test {

/// body(device, shape) on the host with several numbers of threads and, where there is one, on a CUDA device.
template <class Body>
void on_all_devices(Body&& body) {
  std::vector<Device> devices;
  for (const int threads : thread_counts) devices.push_back(Device::host(threads));
  if (cuda_device()) devices.push_back(*cuda_device());
  for (const Device& device : devices) {
    SCOPED_TRACE(device.name());
    for (const Shape& shape : odd_shapes()) {
      SCOPED_TRACE(testing::Message() << shape);
      body(device, shape);
    }
  }
}

}  // namespace bitgraph::test
