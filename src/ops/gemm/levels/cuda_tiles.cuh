// SPDX-License-Identifier: Apache-2.0
// What the kernel of products of levels on a CUDA device is made of: copies into shared memory, matrix instructions of
// bytes, and where everything lies. A row in shared memory is cut into blocks of 128 bytes; within a block its pieces
// of 16 bytes change places by the row's number, so that eight rows of one piece lie in different banks.
#pragma once

#include "core/cuda/bulk_copy.cuh"
#include "core/cuda/matrix_products.cuh"
#include "ops/gemm/levels/args.hpp"

#include <cstddef>
#include <cstdint>

namespace bitgraph::level_cuda {

constexpr unsigned piece = 16;  ///< bytes that are copied, and that a row of a matrix instruction has, at a time
constexpr unsigned block_bytes = 128;
constexpr unsigned block_pieces = block_bytes / piece;

/// Where piece `p` of a row lies from the row's first byte on.
__device__ inline unsigned place_of_piece(unsigned row, unsigned p) {
  return p / block_pieces * block_bytes + ((p % block_pieces) ^ (row % block_pieces)) * piece;
}

using bulk_copy::shared_address;

/// A piece of a row into shared memory.
__device__ inline void store_piece(unsigned to, const uint4& value) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(value.x), "r"(value.y), "r"(value.z),
               "r"(value.w)
               : "memory");
}

/// Copies `Bytes` bytes, 8 or 16, into shared memory some time before wait_for_copies(); zeros unless `exists`.
template <unsigned Bytes>
__device__ void copy_later(unsigned to, const std::uint8_t* from, bool exists) {
  const unsigned count = exists ? Bytes : 0;
  if constexpr (Bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(count));
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to), "l"(from), "r"(count));
  }
}
__device__ inline void end_copies() { asm volatile("cp.async.commit_group;"); }
/// Until all but the last `Left` groups of copies of this thread are there.
template <unsigned Left>
__device__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Left) : "memory");
}

__device__ inline void wait_for_all_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

/// A barrier of `count` of the block's threads.
__device__ inline void barrier(unsigned id, unsigned count) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(count) : "memory");
}
/// Counts for it, and does not wait.
__device__ inline void arrive_at_barrier(unsigned id, unsigned count) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(count) : "memory");
}

/// A piece of a row out of shared memory.
__device__ inline uint4 load_piece(unsigned from) {
  uint4 value;
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "r"(from));
  return value;
}

/// Four matrices of eight rows of 16 bytes: lane l has the row of matrix l / 8 that begins at its address.
__device__ inline void load_matrices(std::uint32_t (&to)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address));
}

/// Of 32 bytes those whose places `selected` names in each eight: the even or the odd ones. Nibbles of X are multiplied
/// in this order.
__device__ inline uint4 every_second(const uint4& first, const uint4& second, unsigned selected) {
  return {__byte_perm(first.x, first.y, selected), __byte_perm(first.z, first.w, selected),
          __byte_perm(second.x, second.y, selected), __byte_perm(second.z, second.w, selected)};
}
constexpr unsigned even_places = 0x6420, odd_places = 0x7531;

constexpr unsigned step = 32;  ///< columns of one matrix instruction

/// Columns of a step of a row of W.
using StepOfW = uint4[2];

/// Columns of step `s` of a row of W; zeros where there are none.
__device__ inline void load_step_of_w(StepOfW& to, const LevelGemmArgs& args, std::size_t output, unsigned s) {
  to[0] = to[1] = {};
  if (output >= args.outputs || s * step >= args.w_row_bytes) return;
  const auto* from = reinterpret_cast<const uint4*>(args.w_rows + output * args.w_row_bytes + s * step);
  to[0] = __ldg(from);
  to[1] = __ldg(from + 1);
}

/// Brings them into the order in which levels of `XBits` bits meet them.
template <unsigned XBits>
__device__ void order_step_of_w(StepOfW& of_w) {
  if constexpr (XBits != 4) return;
  const uint4 even = every_second(of_w[0], of_w[1], even_places);
  of_w[1] = every_second(of_w[0], of_w[1], odd_places);
  of_w[0] = even;
}

}  // namespace bitgraph::level_cuda
