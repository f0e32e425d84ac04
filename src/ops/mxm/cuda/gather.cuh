// SPDX-License-Identifier: Apache-2.0
// What the kernels of gather.cu share. Each counts the entries of its rows or, with `fill`, writes them.
#pragma once

#include "ops/mxm/cuda/meet.cuh"
#include "ops/mxm/cuda/product.cuh"

namespace bitgraph::mxm_cuda {

constexpr unsigned half_products = 16;                           ///< of a row for half a warp
constexpr unsigned most_sorted = cuda_mxm_tuning().most_sorted;  ///< of a row that a block sorts
constexpr unsigned num_lists = 6;  ///< at most 32, 64, 128, 256, most_sorted products, and more
constexpr unsigned sorted_list = 4;
constexpr unsigned bits_list = 5;
constexpr std::uint8_t not_short = 0xFF;
constexpr EdgeOffset no_slot = ~EdgeOffset{0};
constexpr NodeId no_column = ~NodeId{0};  ///< no matrix has it

struct RowClasses {
  std::uint8_t* short_bound = nullptr;     ///< products of a row for half a warp, or not_short
  NodeId* lists = nullptr;                 ///< rows of the other classes; each list has space for all rows
  EdgeOffset* slot = nullptr;              ///< where the slot of each row begins; rows of bits_list have none
  unsigned* sizes = nullptr;               ///< of the lists; one more element: how far along bits_list is
  unsigned long long* products = nullptr;  ///< products of all rows that have a slot
};

struct GatherArgs {
  CsrPatternView a;
  CsrPatternView b;
  CsrPatternView hidden;  ///< without rows where nothing is hidden
  RowClasses classes;
  EdgeOffset* sizes = nullptr;     ///< of rows: written, where there is a place for them
  const EdgeOffset* at = nullptr;  ///< with fill: the position of each row
  NodeId* col_ind = nullptr;
  std::uint32_t* counts = nullptr;

  [[nodiscard]] __device__ bool hides(NodeId i, NodeId j) const {
    if (hidden.row_ptr == nullptr) return false;
    const EdgeOffset begin = __ldg(hidden.row_ptr + i);
    const auto size = static_cast<unsigned>(__ldg(hidden.row_ptr + i + 1) - begin);
    return place_of(hidden.col_ind + begin, size, j) != absent;
  }
};

}  // namespace bitgraph::mxm_cuda
