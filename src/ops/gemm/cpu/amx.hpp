// SPDX-License-Identifier: Apache-2.0
// Products of floats by signs on a processor's matrix unit.
#pragma once

#include "ops/gemm/gemm.hpp"

#include <cstddef>

namespace bitgraph {

/// Where x holds whole numbers from -2^15 to 2^15 - 1, such as counts, and at most 512 a row: every sum is a whole
/// number that a float holds, however it is reached. Rows that hold others go through rest(args, begin, end). False
/// where there is no such unit, or kernels are held to another instruction set, or it is not worth it: nothing was
/// done.
[[nodiscard]] bool gemm_of_whole_numbers(const Cpu& backend, const GemmOfFloats& args,
                                         void (*rest)(const GemmOfFloats&, std::size_t, std::size_t));

}  // namespace bitgraph
