// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/cpu/plan.hpp"

#include <bitgraph/core/error.hpp>

#include "ops/level_views.hpp"

#include <algorithm>
#include <array>

namespace bitgraph::gemm_cpu {

namespace {

bool suits_library(const Problem& p, const CpuGemmTuning&) { return p.factors == Factors::floats; }

/// Floats as output are bound by their memory, and gain nothing.
bool suits_bits_by_tiles(const Problem& p, const CpuGemmTuning& t) {
  return p.factors == Factors::bits && p.bits_out && !p.masked && p.isa == Isa::amx && p.rows >= t.rows_for_tiles &&
         p.outputs >= t.bit_outputs_for_tiles && p.words != 0 && p.words <= most_words_of_bits;
}

bool suits_numbers_by_tiles(const Problem& p, const CpuGemmTuning& t) {
  const std::size_t tiles = (p.outputs + tile_side - 1) / tile_side * p.words;
  return p.factors == Factors::floats_and_bits && p.isa == Isa::amx && p.rows >= t.rows_for_tiles &&
         p.outputs >= t.float_outputs_for_tiles && p.words != 0 && p.words <= most_words_of_numbers &&
         tiles <= weight_tiles && p.begins_with_whole;
}

/// Sums of bytes are of 32 bits.
bool suits_levels_by_tiles(const Problem& p, const CpuGemmTuning& t) {
  return p.factors == Factors::levels && p.isa == Isa::amx && p.x_bits <= 8 && p.w_bits <= 8 &&
         sums_fit(p.x_bits, p.w_bits, p.columns, 31) && p.rows >= t.level_rows_for_tiles &&
         p.rows * p.columns * p.outputs >= t.level_multiplications_for_tiles;
}

bool suits_bits(const Problem& p, const CpuGemmTuning&) { return p.factors == Factors::bits; }
bool suits_float_rows(const Problem& p, const CpuGemmTuning&) { return p.factors == Factors::floats_and_bits; }
bool suits_levels(const Problem& p, const CpuGemmTuning&) { return p.factors == Factors::levels; }

constexpr std::array<KernelEntry, 7> all_kernels{{
    {Kernel::library, "gemm_openblas", suits_library},
    {Kernel::bits_by_tiles, "gemm_bits_by_tiles", suits_bits_by_tiles},
    {Kernel::numbers_by_tiles, "gemm_numbers_by_tiles", suits_numbers_by_tiles},
    {Kernel::levels_by_tiles, "level_gemm_by_tiles", suits_levels_by_tiles},
    {Kernel::bits, "gemm_bits", suits_bits},
    {Kernel::float_rows, "gemm_float_rows", suits_float_rows},
    {Kernel::levels, "level_gemm", suits_levels},
}};

}  // namespace

std::span<const KernelEntry> kernels() noexcept { return all_kernels; }

Kernel plan(const Problem& problem, const CpuGemmTuning& tuning) {
  for (const KernelEntry& entry : all_kernels) {
    if (entry.suits(problem, tuning)) return entry.kernel;
  }
  fail(ErrorCode::internal, "gemm: no kernel of the list suits");
}

const char* name_of(Kernel kernel) noexcept {
  const auto* const entry =
      std::find_if(all_kernels.begin(), all_kernels.end(), [&](const KernelEntry& e) { return e.kernel == kernel; });
  return entry->name;
}

}  // namespace bitgraph::gemm_cpu
