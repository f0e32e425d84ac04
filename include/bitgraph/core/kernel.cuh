// SPDX-License-Identifier: Apache-2.0
// What every kernel and its launch share: checked calls, the stream of a device, the current device, the lanes of a
// warp. For nvcc only.
#pragma once

#include <bitgraph/core/device.hpp>
#include <bitgraph/core/error.hpp>

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

/// Throws internal if the launch just before failed; `what` names the kernel.
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

inline constexpr unsigned full_warp = 0xFFFFFFFFU;  ///< the mask of all lanes

/// The mask of the lanes below this thread's lane.
[[nodiscard]] __device__ inline unsigned lanes_below() { return (1U << (threadIdx.x % 32)) - 1; }

/// Sums over groups of `lanes` consecutive lanes, a power of two; every lane gets the sum of its group. Values of lanes
/// `lanes / 2` apart are added first, which decides how sums of floats round.
template <class T>
[[nodiscard]] __device__ T warp_sum(T value, unsigned lanes = 32) {
  for (unsigned step = lanes / 2; step != 0; step /= 2) value += __shfl_xor_sync(full_warp, value, step);
  return value;
}

/// The sum of this lane's value and the values of all lanes below.
template <class T>
[[nodiscard]] __device__ T warp_inclusive_sum(T value) {
  for (unsigned step = 1; step < 32; step *= 2) {
    const T other = __shfl_up_sync(full_warp, value, step);
    if (threadIdx.x % 32 >= step) value += other;
  }
  return value;
}

}  // namespace bitgraph
