// SPDX-License-Identifier: Apache-2.0
// Plain storage is what other processes can map.
#include <bitgraph/core/buffer.hpp>

#include "support/cuda_device.hpp"

#include <cuda_runtime.h>

#include <gtest/gtest.h>

namespace bitgraph {
namespace {

TEST(Storage, OtherProcessesCanMapWhatIsPlain) {
  BITGRAPH_REQUIRE_CUDA();
  Buffer<std::uint32_t> plain(1000, *test::cuda_device(), Storage::plain);
  cudaIpcMemHandle_t handle;
  EXPECT_EQ(cudaIpcGetMemHandle(&handle, plain.data()), cudaSuccess);
}

}  // namespace
}  // namespace bitgraph
