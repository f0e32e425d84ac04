// SPDX-License-Identifier: Apache-2.0
// Two neighbouring numbers by one instruction. The compiler makes two stores of a pair whose halves come from a matrix
// instruction, and those take twice the time.
#pragma once

#include <bitgraph/formats/views.hpp>

#include <cstdint>

namespace bitgraph {

/// Whether pairs of an output that begin at even columns can be stored so.
template <class T>
[[nodiscard]] __device__ bool takes_pairs(const DenseView<T>& out) {
  return out.stride % 2 == 0 && reinterpret_cast<std::uintptr_t>(out.data) % (2 * sizeof(T)) == 0;
}

__device__ inline void store_pair(std::int32_t* to, std::int32_t first, std::int32_t second) {
  asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(to), "r"(first), "r"(second) : "memory");
}
__device__ inline void store_pair(float* to, float first, float second) {
  asm volatile("st.global.v2.f32 [%0], {%1, %2};" ::"l"(to), "f"(first), "f"(second) : "memory");
}
__device__ inline void store_pair(std::int64_t* to, std::int64_t first, std::int64_t second) {
  asm volatile("st.global.v2.b64 [%0], {%1, %2};" ::"l"(to), "l"(first), "l"(second) : "memory");
}

}  // namespace bitgraph
