// SPDX-License-Identifier: Apache-2.0
// Two kernels of one stream at a time, where neither needs what the other one does: the second fills the
// multiprocessors that the first leaves idle towards its end. Programmatic dependent launch, from compute capability
// 9.0 on; on older devices the second waits for the first.
#pragma once

#include "core/cuda.cuh"

namespace bitgraph {

/// Called by the first kernel, at its start.
__device__ inline void let_the_next_kernel_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

/// Called by all threads of the second kernel, at their start: its last block waits for the first kernel, so that what
/// comes after the second comes after both.
__device__ inline void outlast_the_kernel_beside() {
#if __CUDA_ARCH__ >= 900
  if (blockIdx.x + 1 == gridDim.x) asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// Launches the second kernel; the first one is the last that was launched on the stream.
template <class... Parameters, class... Args>
void launch_beside(const Device& device, unsigned blocks, unsigned threads, void (*kernel)(Parameters...),
                   const char* name, const Args&... args) {
  int major = 0;
  cuda_check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device.index()), name);
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.stream = stream_of(device);
  config.attrs = &attribute;
  config.numAttrs = major >= 9 ? 1 : 0;
  cuda_check(cudaLaunchKernelEx(&config, kernel, args...), name);
}

}  // namespace bitgraph
