// SPDX-License-Identifier: Apache-2.0
// The row of a lane: where its entries are.
#pragma once

#include "ops/spmm/cuda/block.hpp"

#include <cstddef>
#include <cstdint>

namespace bitgraph::spmm_cuda {

/// A row that a lane takes part in; of no entries where there is none.
struct TakenRow {
  NodeId row = no_row;
  std::uint32_t n = 0;
  const NodeId* columns = nullptr;

  TakenRow() = default;
  /// A row, no_row for none.
  template <class Args>
  __device__ TakenRow(const Args& args, NodeId taken) : row(taken) {
    if (row == no_row) return;
    const EdgeOffset begin = __ldg(args.a.row_ptr + row);
    n = static_cast<std::uint32_t>(__ldg(args.a.row_ptr + row + 1) - begin);
    columns = args.a.col_ind + begin;
  }
  /// The row at a place of the order, below `end`.
  template <class Args>
  __device__ TakenRow(const Args& args, std::size_t place, std::size_t end) {
    if (place >= end) return;
    if (args.row_order.place == nullptr) {
      *this = TakenRow(args, __ldg(args.row_order.row + place));
      return;
    }
    const uint4 found = __ldg(reinterpret_cast<const uint4*>(args.row_order.place + place));
    row = found.z;
    n = found.w;
    columns = args.a.col_ind + (EdgeOffset{found.y} << 32 | found.x);
  }

  /// Leaves one of `runs` equal runs of its entries.
  __device__ void keep_run(unsigned run, unsigned runs) {
    const std::uint32_t length = (n + runs - 1) / runs;
    const std::uint32_t begin = min(run * length, n);
    n = min(length, n - begin);
    columns += begin;
  }
};

}  // namespace bitgraph::spmm_cuda
