// SPDX-License-Identifier: Apache-2.0
// Which kernel multiplies on the host: a list of kernels, the first of which that suits is taken. The choice can be
// tested, and explained, without the processor that it is for.
#pragma once

#include "core/devices/isa.hpp"
#include "ops/gemm/tuning.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace bitgraph::gemm_cpu {

// What the kernels for matrix units are built for, so that what they unpack fits the stack.
inline constexpr std::size_t tile_side = 16;                                 ///< rows of a tile, and outputs
inline constexpr std::size_t weight_tiles = cpu_gemm_tuning().weight_tiles;  ///< unpacked at a time
inline constexpr std::size_t most_words_of_bits = 16;                        ///< of 64 bits, of a row of X
inline constexpr std::size_t most_words_of_numbers = 8;  ///< the same where X is whole numbers: sums stay below 2^24

enum class Factors : std::uint8_t {
  bits,             ///< both
  floats_and_bits,  ///< X is floats as they are, W bits
  floats,           ///< both
  levels            ///< both
};

/// What the choice depends on.
struct Problem {
  Factors factors = Factors::bits;
  std::size_t rows = 0;     ///< of X
  std::size_t words = 0;    ///< of 64 bits of a row of W
  std::size_t outputs = 0;  ///< rows of W
  bool bits_out = false;
  bool masked = false;             ///< some elements of X do not count
  bool begins_with_whole = false;  ///< the first row of X holds whole numbers of 16 bits
  std::size_t columns = 0;         ///< of X, where both are levels,
  int x_bits = 0, w_bits = 0;      ///< and their bits
  Isa isa = Isa::baseline;
};

enum class Kernel : std::uint8_t {
  library,
  bits_by_tiles,
  numbers_by_tiles,
  levels_by_tiles,
  bits,
  float_rows,
  levels
};

/// A row of the list.
struct KernelEntry {
  Kernel kernel;
  const char* name;
  bool (*suits)(const Problem&, const CpuGemmTuning&);  ///< it can, and none behind it is quicker
};

/// In the order in which they are asked.
[[nodiscard]] std::span<const KernelEntry> kernels() noexcept;

/// The first kernel of the list that suits. There is one for every problem.
[[nodiscard]] Kernel plan(const Problem& problem, const CpuGemmTuning& tuning = cpu_gemm_tuning());

/// "gemm_bits".
[[nodiscard]] const char* name_of(Kernel kernel) noexcept;

}  // namespace bitgraph::gemm_cpu
