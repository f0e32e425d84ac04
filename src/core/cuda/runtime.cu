// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/runtime.hpp"

#include <bitgraph/core/kernel.cuh>
#include "core/preconditions.hpp"

#include <algorithm>
#include <cstring>

namespace bitgraph::cuda_runtime {

namespace {

constexpr int oldest_major = 8;

/// Freed memory stays in the pool: a repeated call takes it from there without asking the driver.
void keep_freed_memory(int index) {
  cudaMemPool_t pool = nullptr;
  cuda_check(cudaDeviceGetDefaultMemPool(&pool, index), "cudaDeviceGetDefaultMemPool");
  std::uint64_t threshold = UINT64_MAX;
  cuda_check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold), "cudaMemPoolSetAttribute");
}

template <class Word>
__global__ void fill_words(Word* data, std::size_t size, Word value) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < size; i += step) data[i] = value;
}

template <class Word>
void launch_fill(void* stream, void* data, std::size_t bytes, const void* pattern) {
  Word value;
  std::memcpy(&value, pattern, sizeof(Word));
  const std::size_t size = bytes / sizeof(Word);
  const unsigned blocks = std::min(blocks_for(size, 256), 4096U);
  fill_words<Word><<<blocks, 256, 0, static_cast<cudaStream_t>(stream)>>>(static_cast<Word*>(data), size, value);
  cuda_check_launch("fill");
}

}  // namespace

const bool built = true;

int device_count() noexcept {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  static_cast<void>(cudaGetLastError());
  return 0;
}

void require_device(int index) {
  const std::string name = "cuda:" + std::to_string(index);
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    fail(ErrorCode::not_possible,
         name + ": " + cudaGetErrorString(error) + "; install NVIDIA's driver, or use the device 'cpu'");
  }
  if (index < 0 || index >= count) {
    fail(ErrorCode::not_possible, name + ": this machine has " + std::to_string(count) +
                                      " CUDA devices, counted from 0; use one of them, or the device 'cpu'");
  }
  int major = 0;
  int minor = 0;
  cuda_check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, index), "cudaDeviceGetAttribute");
  cuda_check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, index), "cudaDeviceGetAttribute");
  if (major < oldest_major) {
    fail(ErrorCode::not_possible, name + ": compute capability " + std::to_string(major) + "." + std::to_string(minor) +
                                      ", and 8.0 is needed (Ampere or later); use the device 'cpu'");
  }
}

void* create_stream(int index) {
  const ScopedCudaDevice scope(index);
  keep_freed_memory(index);
  cudaStream_t stream = nullptr;
  cuda_check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  return stream;
}

void destroy_stream(int index, void* stream) noexcept {
  int before = 0;
  static_cast<void>(cudaGetDevice(&before));
  static_cast<void>(cudaSetDevice(index));
  static_cast<void>(cudaStreamDestroy(static_cast<cudaStream_t>(stream)));
  static_cast<void>(cudaSetDevice(before));
}

std::size_t available(int index, std::size_t enough) {
  const ScopedCudaDevice scope(index);
  cudaMemPool_t pool = nullptr;
  std::uint64_t reserved = 0;
  std::uint64_t used = 0;
  cuda_check(cudaDeviceGetDefaultMemPool(&pool, index), "cudaDeviceGetDefaultMemPool");
  cuda_check(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved), "cudaMemPoolGetAttribute");
  cuda_check(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used), "cudaMemPoolGetAttribute");
  const auto in_pool = static_cast<std::size_t>(reserved - std::min(used, reserved));
  if (in_pool >= enough) return in_pool;  // the driver takes its time to say what is free
  std::size_t free_bytes = 0;
  std::size_t total = 0;
  cuda_check(cudaMemGetInfo(&free_bytes, &total), "cudaMemGetInfo");
  return free_bytes + in_pool;
}

std::size_t total_memory(int index) {
  const ScopedCudaDevice scope(index);
  std::size_t free_bytes = 0;
  std::size_t total = 0;
  cuda_check(cudaMemGetInfo(&free_bytes, &total), "cudaMemGetInfo");
  return total;
}

namespace {

/// `error` says whether there was memory for `bytes`.
void check_allocation(cudaError_t error, int index, std::size_t bytes, const char* call) {
  if (error == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());
    fail(ErrorCode::not_possible,
         "cuda:" + std::to_string(index) + ": not enough memory for " + std::to_string(bytes) + " bytes");
  }
  cuda_check(error, call);
}

}  // namespace

void* allocate(int index, void* stream, std::size_t bytes) {
  const ScopedCudaDevice scope(index);
  constexpr std::size_t harmless = std::size_t{64} << 20;
  if (bytes > harmless) require_memory("cuda:" + std::to_string(index), bytes, available(index, bytes));
  void* data = nullptr;
  check_allocation(cudaMallocAsync(&data, bytes, static_cast<cudaStream_t>(stream)), index, bytes, "cudaMallocAsync");
  return data;
}

void* allocate_plain(int index, std::size_t bytes) {
  const ScopedCudaDevice scope(index);
  void* data = nullptr;
  cudaError_t error = cudaMalloc(&data, bytes);
  if (error == cudaErrorMemoryAllocation) {  // what the pool keeps but does not use is free again
    static_cast<void>(cudaGetLastError());
    cudaMemPool_t pool = nullptr;
    cuda_check(cudaDeviceGetDefaultMemPool(&pool, index), "cudaDeviceGetDefaultMemPool");
    cuda_check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");  // what a stream still frees counts as used till then
    cuda_check(cudaMemPoolTrimTo(pool, 0), "cudaMemPoolTrimTo");
    error = cudaMalloc(&data, bytes);
  }
  check_allocation(error, index, bytes, "cudaMalloc");
  return data;
}

void deallocate_plain(int index, void* stream, void* data) noexcept {
  static_cast<void>(index);
  static_cast<void>(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)));
  static_cast<void>(cudaFree(data));
}

void deallocate(int index, void* stream, void* data) noexcept {
  static_cast<void>(index);
  static_cast<void>(cudaFreeAsync(data, static_cast<cudaStream_t>(stream)));
}

void fill(int index, void* stream, void* data, std::size_t bytes, const void* pattern, std::size_t pattern_size) {
  if (bytes == 0) return;
  const ScopedCudaDevice scope(index);
  switch (pattern_size) {
    case 1: return launch_fill<std::uint8_t>(stream, data, bytes, pattern);
    case 2: return launch_fill<std::uint16_t>(stream, data, bytes, pattern);
    case 4: return launch_fill<std::uint32_t>(stream, data, bytes, pattern);
    case 8: return launch_fill<std::uint64_t>(stream, data, bytes, pattern);
    default: fail(ErrorCode::usage, "fill: the pattern must have 1, 2, 4 or 8 bytes");
  }
}

void copy(int index, void* stream, void* to, const void* from, std::size_t bytes) {
  const ScopedCudaDevice scope(index);
  cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, static_cast<cudaStream_t>(stream)), "cudaMemcpyAsync");
  synchronize(index, stream);
}

void* allocate_pinned(int index, std::size_t bytes) {
  const ScopedCudaDevice scope(index);
  void* data = nullptr;
  const cudaError_t error = cudaHostAlloc(&data, bytes, cudaHostAllocPortable);
  if (error == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());
    return nullptr;
  }
  cuda_check(error, "cudaHostAlloc");
  return data;
}

void deallocate_pinned(void* data) noexcept { static_cast<void>(cudaFreeHost(data)); }

void* create_event(int index) {
  const ScopedCudaDevice scope(index);
  cudaEvent_t event = nullptr;
  cuda_check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
  return event;
}

void destroy_event(void* event) noexcept { static_cast<void>(cudaEventDestroy(static_cast<cudaEvent_t>(event))); }

void record_event(int index, void* stream, void* event) {
  const ScopedCudaDevice scope(index);
  cuda_check(cudaEventRecord(static_cast<cudaEvent_t>(event), static_cast<cudaStream_t>(stream)), "cudaEventRecord");
}

void wait_for_event(void* event) noexcept { static_cast<void>(cudaEventSynchronize(static_cast<cudaEvent_t>(event))); }

void copy_ahead(int index, void* stream, void* to, const void* from, std::size_t bytes) {
  const ScopedCudaDevice scope(index);
  cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, static_cast<cudaStream_t>(stream)),
             "cudaMemcpyAsync");
}

void copy_pinned(int index, void* stream, void* to, const void* from, std::size_t bytes, void* copied) {
  copy_ahead(index, stream, to, from, bytes);
  record_event(index, stream, copied);
}

void order(Place earlier, Place later) {
  cudaEvent_t done = nullptr;
  {
    const ScopedCudaDevice scope(earlier.index);
    cuda_check(cudaEventCreateWithFlags(&done, cudaEventDisableTiming), "cudaEventCreate");
    const cudaError_t error = cudaEventRecord(done, static_cast<cudaStream_t>(earlier.stream));
    if (error != cudaSuccess) static_cast<void>(cudaEventDestroy(done));
    cuda_check(error, "cudaEventRecord");
  }
  const ScopedCudaDevice scope(later.index);
  const cudaError_t error = cudaStreamWaitEvent(static_cast<cudaStream_t>(later.stream), done, 0);
  static_cast<void>(cudaEventDestroy(done));  // it goes when the streams are done with it
  cuda_check(error, "cudaStreamWaitEvent");
}

void copy_between(Place target, void* to, Place source, const void* from, std::size_t bytes) {
  const bool two_streams = target.stream != source.stream || target.index != source.index;
  if (two_streams) order(source, target);
  {
    const ScopedCudaDevice scope(target.index);
    auto* const stream = static_cast<cudaStream_t>(target.stream);
    if (target.index == source.index) {
      cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream), "cudaMemcpyAsync");
    } else {
      cuda_check(cudaMemcpyPeerAsync(to, target.index, from, source.index, bytes, stream), "cudaMemcpyPeerAsync");
    }
  }
  if (two_streams) order(target, source);  // it may write there, or free it
}

void synchronize(int index, void* stream) {
  const ScopedCudaDevice scope(index);
  cuda_check(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)), "a kernel");
}

void begin_recording(int index, void* stream) {
  const ScopedCudaDevice scope(index);
  cuda_check(cudaStreamBeginCapture(static_cast<cudaStream_t>(stream), cudaStreamCaptureModeThreadLocal),
             "cudaStreamBeginCapture");
}

bool is_recording(int index, void* stream) {
  const ScopedCudaDevice scope(index);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cuda_check(cudaStreamIsCapturing(static_cast<cudaStream_t>(stream), &status), "cudaStreamIsCapturing");
  return status == cudaStreamCaptureStatusActive;
}

void* end_recording(int index, void* stream, bool keep) {
  const ScopedCudaDevice scope(index);
  cudaGraph_t graph = nullptr;
  const cudaError_t error = cudaStreamEndCapture(static_cast<cudaStream_t>(stream), &graph);
  if (!keep) {
    static_cast<void>(cudaGetLastError());
    if (graph != nullptr) static_cast<void>(cudaGraphDestroy(graph));
    return nullptr;
  }
  cuda_check(error, "cudaStreamEndCapture");
  cudaGraphExec_t ready = nullptr;
  const cudaError_t made = cudaGraphInstantiate(&ready, graph, 0);
  static_cast<void>(cudaGraphDestroy(graph));
  cuda_check(made, "cudaGraphInstantiate");
  cuda_check(cudaGraphUpload(ready, static_cast<cudaStream_t>(stream)), "cudaGraphUpload");
  return ready;
}

void launch_recording(int index, void* stream, void* recording) {
  const ScopedCudaDevice scope(index);
  cuda_check(cudaGraphLaunch(static_cast<cudaGraphExec_t>(recording), static_cast<cudaStream_t>(stream)),
             "cudaGraphLaunch");
}

void destroy_recording(void* recording) noexcept {
  static_cast<void>(cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(recording)));
}

}  // namespace bitgraph::cuda_runtime
