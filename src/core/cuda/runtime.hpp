// SPDX-License-Identifier: Apache-2.0
// What Device needs of the CUDA runtime, without its headers: runtime.cu, or absent.cpp in a build without
// CUDA.
#pragma once

#include <cstddef>

namespace bitgraph::cuda_runtime {

extern const bool built;

/// Usable devices; 0 where there is no driver.
[[nodiscard]] int device_count() noexcept;

/// Throws not_possible, saying what to do, unless device `index` exists and is new enough.
void require_device(int index);

[[nodiscard]] void* create_stream(int index);
void destroy_stream(int index, void* stream) noexcept;

/// Bytes that allocations could get: free on the device, and reserved by the pool but not in use.
/// Where that is more than `enough`, perhaps only a part of it.
[[nodiscard]] std::size_t available(int index, std::size_t enough);

/// Bytes of memory that the device has, used or free.
[[nodiscard]] std::size_t total_memory(int index);

/// From the device's stream-ordered pool. Throws not_possible naming the bytes that are missing.
[[nodiscard]] void* allocate(int index, void* stream, std::size_t bytes);
void deallocate(int index, void* stream, void* data) noexcept;

/// From cudaMalloc, so that other processes can map it. It is freed when the stream's work is done.
[[nodiscard]] void* allocate_plain(int index, std::size_t bytes);
void deallocate_plain(int index, void* stream, void* data) noexcept;

void fill(int index, void* stream, void* data, std::size_t bytes, const void* pattern, std::size_t pattern_size);
/// Between the host and a device. Returns when the host may read `to` or write `from`.
void copy(int index, void* stream, void* to, const void* from, std::size_t bytes);

/// Host memory that devices read by themselves; null where there is too little of it.
[[nodiscard]] void* allocate_pinned(int index, std::size_t bytes);
void deallocate_pinned(void* data) noexcept;

[[nodiscard]] void* create_event(int index);
void destroy_event(void* event) noexcept;
/// The event happens when all that the stream was asked for is done.
void record_event(int index, void* stream, void* event);
/// Returns at once where the event was never recorded. A kernel's failure is for the next call to tell.
void wait_for_event(void* event) noexcept;

/// From the host to a device, in the order of the stream. From pinned memory it returns at once, and the host may write
/// `from` again when the stream has done it; from other memory it returns when the host may.
void copy_ahead(int index, void* stream, void* to, const void* from, std::size_t bytes);

/// The same; `copied` happens when the host may write `from` again.
void copy_pinned(int index, void* stream, void* to, const void* from, std::size_t bytes, void* copied);

/// A stream of a device.
struct Place {
  int index = 0;
  void* stream = nullptr;
};

/// What `later` is asked for from now on begins when all that `earlier` was asked for is done.
void order(Place earlier, Place later);

/// Within a device or from one to another: behind what `source` was asked for before, and ahead of what it and `target`
/// are asked for later. Returns at once.
void copy_between(Place target, void* to, Place source, const void* from, std::size_t bytes);

void synchronize(int index, void* stream);

/// What is asked of the stream between these two is not done but kept, as a CUDA graph; nothing may wait for the
/// stream. end_recording gives the graph, ready to launch, or null where `keep` is false.
void begin_recording(int index, void* stream);
[[nodiscard]] bool is_recording(int index, void* stream);
[[nodiscard]] void* end_recording(int index, void* stream, bool keep);
void launch_recording(int index, void* stream, void* recording);
void destroy_recording(void* recording) noexcept;

}  // namespace bitgraph::cuda_runtime
