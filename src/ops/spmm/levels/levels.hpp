// SPDX-License-Identifier: Apache-2.0
// The kernels of sums of levels over neighbours. See include/bitgraph/ops/level_spmm.hpp.
#pragma once

#include <bitgraph/ops/level_spmm.hpp>

#include "ops/level_epilogue.hpp"
#include "ops/spmm/levels/args.hpp"

#include <algorithm>
#include <cstddef>

namespace bitgraph {

/// Of operands that go together, without an output and an epilogue. Throws usage naming what does not.
[[nodiscard]] LevelSpmmArgs level_spmm_args(const CsrPattern& a, const QuantizedMatrix& x, std::size_t nrows,
                                            std::size_t ncols, const Device& device);

void level_spmm(const Reference& backend, const LevelSpmmArgs& args);
void level_spmm(const Cpu& backend, const LevelSpmmArgs& args);

/// Row i, one level after the other: the definition of right.
void level_spmm_row(const LevelSpmmArgs& args, NodeId i);

/// Whether X is taken to stay in a core's cache. Else its rows are prefetched.
[[nodiscard]] inline bool lies_in_cache(const QuantizedView<>& x) noexcept {
  constexpr std::size_t cached_bytes = std::size_t{3} << 18;
  return x.nrows * x.row_bytes <= cached_bytes;
}

/// Rows that a thread of the host takes at a time.
[[nodiscard]] inline std::size_t level_spmm_chunk(const Device& device, std::size_t nrows) noexcept {
  constexpr std::size_t turns = 16;  // that each thread has, at most: rows are uneven
  constexpr std::size_t least_rows = 64;
  const std::size_t wanted = static_cast<std::size_t>(device.threads()) * turns;
  return std::max(least_rows, (nrows + wanted - 1) / wanted);
}

}  // namespace bitgraph
