// SPDX-License-Identifier: Apache-2.0
// What kernels have to know of the device that they run on.
#pragma once

#include <bitgraph/core/device.hpp>

#include <cstddef>

namespace bitgraph {

struct CudaLimits {
  unsigned multiprocessors = 0;
  std::size_t shared_bytes_a_block = 0;           ///< with cudaFuncAttributeMaxDynamicSharedMemorySize
  std::size_t shared_bytes_a_multiprocessor = 0;  ///< of all its blocks, each of which keeps 1 KB for the system
  std::size_t cache_bytes = 0;                    ///< of the level 2 cache
  int major = 0;                                  ///< of the compute capability
  int minor = 0;
};

/// Asked of the driver once a device. Throws internal where the driver does not answer.
[[nodiscard]] const CudaLimits& cuda_limits(const Device& device);

}  // namespace bitgraph
