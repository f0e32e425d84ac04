// SPDX-License-Identifier: Apache-2.0
// Stands in for runtime.cu in a build without CUDA: no CUDA device can be made, so nothing else is ever called.
#include "core/cuda/runtime.hpp"

#include <bitgraph/core/error.hpp>

#include <string>

namespace bitgraph::cuda_runtime {

namespace {

[[noreturn]] void refuse(int index) {
  fail(ErrorCode::not_possible,
       "cuda:" + std::to_string(index) +
           ": this bitgraph was built without CUDA; use the device 'cpu', or build with the preset 'cuda'");
}

}  // namespace

const bool built = false;

int device_count() noexcept { return 0; }
void require_device(int index) { refuse(index); }
void* create_stream(int index) { refuse(index); }
void destroy_stream(int, void*) noexcept {}
std::size_t available(int index, std::size_t) { refuse(index); }
std::size_t total_memory(int index) { refuse(index); }
void* allocate(int index, void*, std::size_t) { refuse(index); }
void deallocate(int, void*, void*) noexcept {}
void* allocate_plain(int index, std::size_t) { refuse(index); }
void deallocate_plain(int, void*, void*) noexcept {}
void fill(int index, void*, void*, std::size_t, const void*, std::size_t) { refuse(index); }
void copy(int index, void*, void*, const void*, std::size_t) { refuse(index); }
void* allocate_pinned(int index, std::size_t) { refuse(index); }
void deallocate_pinned(void*) noexcept {}
void* create_event(int index) { refuse(index); }
void destroy_event(void*) noexcept {}
void record_event(int index, void*, void*) { refuse(index); }
void wait_for_event(void*) noexcept {}
void copy_ahead(int index, void*, void*, const void*, std::size_t) { refuse(index); }
void copy_pinned(int index, void*, void*, const void*, std::size_t, void*) { refuse(index); }
void order(Place, Place later) { refuse(later.index); }
void copy_between(Place target, void*, Place, const void*, std::size_t) { refuse(target.index); }
void synchronize(int index, void*) { refuse(index); }
void begin_recording(int index, void*) { refuse(index); }
bool is_recording(int index, void*) { refuse(index); }
void* end_recording(int index, void*, bool) { refuse(index); }
void launch_recording(int index, void*, void*) { refuse(index); }
void destroy_recording(void*) noexcept {}

}  // namespace bitgraph::cuda_runtime
