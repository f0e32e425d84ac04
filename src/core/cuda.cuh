// SPDX-License-Identifier: Apache-2.0
// What every .cu file shares: checked calls, the stream of a device, the shape of a launch.
#pragma once

#include <bitgraph/core/device.hpp>
#include <bitgraph/core/error.hpp>

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace bitgraph {

/// Throws internal with CUDA's words unless a call of its runtime succeeded.
inline void cuda_check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // an error that is not sticky must not be reported again
  fail(ErrorCode::internal, std::string("CUDA: ") + what + ": " + cudaGetErrorString(error));
}

/// After a launch.
inline void cuda_check_launch(const char* kernel) { cuda_check(cudaGetLastError(), kernel); }

[[nodiscard]] inline cudaStream_t stream_of(const Device& device) noexcept {
  return static_cast<cudaStream_t>(device.stream());
}

/// Makes a device current for the length of a scope.
class ScopedCudaDevice {
 public:
  explicit ScopedCudaDevice(int index) {
    cuda_check(cudaGetDevice(&before_), "cudaGetDevice");
    if (index != before_) cuda_check(cudaSetDevice(index), "cudaSetDevice");
    changed_ = index != before_;
  }
  ~ScopedCudaDevice() {
    if (changed_) static_cast<void>(cudaSetDevice(before_));
  }
  ScopedCudaDevice(const ScopedCudaDevice&) = delete;
  ScopedCudaDevice& operator=(const ScopedCudaDevice&) = delete;

 private:
  int before_ = 0;
  bool changed_ = false;
};

/// Blocks of `block` threads for `items` items, one a thread; at least one block.
[[nodiscard]] inline unsigned blocks_for(std::size_t items, unsigned block) noexcept {
  return static_cast<unsigned>(items == 0 ? 1 : (items + block - 1) / block);
}

}  // namespace bitgraph
