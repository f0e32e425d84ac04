// SPDX-License-Identifier: Apache-2.0
// Products by signs on a processor's matrix unit, tiles of 16 rows of 64 bytes (AMX). plan.hpp says where they are
// worth it; elsewhere they are not called.
#pragma once

#include "ops/gemm/cpu/plan.hpp"
#include "ops/gemm/gemm.hpp"

#include <cstddef>

namespace bitgraph {

void gemm_by_tiles(const Cpu& backend, const GemmToBits& args);

/// Whether the first row of x holds whole numbers from -2^15 to 2^15 - 1, such as counts. There has to be a matrix
/// unit.
[[nodiscard]] bool begins_with_whole_numbers(const GemmOfFloats& args);

/// Of such numbers, at most 512 a row, every sum is a whole number that a float holds, however it is reached. Rows that
/// hold others go through rest(args, begin, end).
void gemm_of_whole_numbers(const Cpu& backend, const GemmOfFloats& args,
                           void (*rest)(const GemmOfFloats&, std::size_t, std::size_t));

namespace gemm_cpu {

inline Problem problem_of(const GemmToBits& args) {
  return {.factors = Factors::bits,
          .rows = args.x.nrows,
          .words = args.x.words_per_row,
          .outputs = args.w.nrows,
          .bits_out = true,
          .masked = args.keep.words != nullptr,
          .isa = active_isa()};
}

/// The first row is looked at where it decides.
inline Problem problem_of(const GemmOfFloats& args) {
  Problem problem{.factors = Factors::floats_and_bits,
                  .rows = args.x.nrows,
                  .words = args.w.words_per_row,
                  .outputs = args.w.nrows,
                  .begins_with_whole = true,
                  .isa = active_isa()};
  if (plan(problem) == Kernel::numbers_by_tiles) problem.begins_with_whole = begins_with_whole_numbers(args);
  return problem;
}

}  // namespace gemm_cpu

}  // namespace bitgraph
