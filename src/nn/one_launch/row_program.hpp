// SPDX-License-Identifier: Apache-2.0
// A list of steps, seen from one row: what it keeps, what it tells other rows, and which warp has it.
#pragma once

#include <bitgraph/core/types.hpp>

#include "ops/level_views.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace bitgraph::nn {

inline constexpr std::uint32_t no_matrix = ~std::uint32_t{0};

/// What a step of levels has besides.
struct LevelStep {
  int in_bits = 0;                            ///< of the input's levels
  int out_bits = 0;                           ///< 0: floats
  std::uint32_t pitch = 0;                    ///< bytes from one row of `weight` to the next
  const std::uint8_t* weight = nullptr;       ///< of a product: W's levels as bytes, by its inputs where the input is
                                              ///< entries, else by its outputs
  const std::int64_t* weight_sums = nullptr;  ///< of each output's levels
  const std::uint16_t* entries = nullptr;     ///< of a product of entries: their levels
  LevelScaleView in;                          ///< of the input: for all or by rows; of a sum for all or by columns
  LevelScaleView weight_scale;
  LevelEpilogue epilogue;            ///< without a tanh
  const NodeId* out_rows = nullptr;  ///< of floats: where each row goes; null: to its own place
};

/// One step, on every row of its output. What a kind does not use is null or no_matrix. Matrices that steps make have
/// names, not memory: a row keeps what it makes on chip. Bits have `width` columns in rows of whole 64-bit words.
struct LaunchStep {
  enum class Kind : std::uint8_t {
    product,         ///< the input times `weight`, rows of bits; y = row_scale (col_scale s) + bias
    sparse_product,  ///< the sum of rows of `weight` over the pattern; y = row_scale (col_scale v + col_offset) + bias
    vote,            ///< the majority of the input's bits over the pattern, a tie being +1
    sum,             ///< of the input times neighbor_scale over the pattern; y = row_scale v + bias
    binarize,        ///< signs of the input, and their mean magnitude as the row's scale
    either,          ///< out |= in
    add,             ///< out += in
    place,           ///< the input to columns first_column ... of the output; the first to be placed is at column 0
    level_product,   ///< of levels of up to 8 bits, of the input or its entries, by level_gemm.hpp; row_scale times the
                     ///< steps and offsets of the input's rows
    level_sum        ///< of levels of up to 8 bits over the pattern, by level_spmm.hpp
  };
  Kind kind = Kind::product;
  std::size_t in_width = 0;
  std::size_t out_width = 0;
  std::size_t first_column = 0;
  std::uint32_t in = no_matrix;
  std::uint32_t out = no_matrix;
  bool makes_bits = false;
  std::uint32_t row_scale_of = no_matrix;  ///< of a product: the scales that a binarize made with this matrix
  const EdgeOffset* row_ptr = nullptr;
  const NodeId* col_ind = nullptr;
  const std::uint64_t* bits_in = nullptr;  ///< input of a product that no step makes
  const std::uint64_t* weight = nullptr;
  const float* row_scale = nullptr;
  const float* neighbor_scale = nullptr;
  const float* col_scale = nullptr;
  const float* col_offset = nullptr;
  const float* bias = nullptr;
  LevelStep level;
};

[[nodiscard]] constexpr bool is_of_levels(LaunchStep::Kind kind) noexcept {
  return kind == LaunchStep::Kind::level_product || kind == LaunchStep::Kind::level_sum;
}

struct LaunchSteps {
  std::vector<LaunchStep> steps;
  std::size_t num_rows = 0;
  std::uint32_t result = no_matrix;  ///< the only output that is asked for
  float* result_data = nullptr;      ///< where it goes
};

inline constexpr std::size_t most_row_steps = 24;
inline constexpr std::size_t most_patterns = 4;
inline constexpr std::uint32_t not_kept = ~std::uint32_t{0};
inline constexpr std::size_t narrow_columns = 8;  ///< rows of floats up to there are exchanged in less room

/// A step as a kernel has it. Places are of 8-byte words: in what a row keeps, or from the exchange's beginning.
struct RowStep {
  LaunchStep::Kind kind = LaunchStep::Kind::product;
  bool makes_bits = false;
  std::uint32_t in_width = 0;
  std::uint32_t out_width = 0;
  std::uint32_t first_column = 0;
  std::uint32_t pattern = 0;
  std::uint32_t in = not_kept;
  std::uint32_t out = not_kept;
  std::uint32_t scale = not_kept;      ///< of the row, in what it keeps: a binarize writes it, a product reads it
  std::uint32_t gathered = not_kept;   ///< where neighbours tell what is gathered
  std::uint32_t published = not_kept;  ///< where the row tells its output
  const NodeId* col_ind = nullptr;
  const std::uint64_t* bits_in = nullptr;  ///< of memory; null where the row keeps them
  const std::uint64_t* weight = nullptr;
  const float* row_scale = nullptr;
  const float* published_scale = nullptr;  ///< of the row, times floats that are told
  const float* col_scale = nullptr;
  const float* col_offset = nullptr;
  const float* bias = nullptr;
  float* floats_out = nullptr;  ///< of the result
  LevelStep level;
  std::uint32_t columns = 0;  ///< of levels: the first of its FourColumns
};

/// What four columns that steps of levels make need behind their sums: see level_cuda::ProductPlace and SumPlace.
struct alignas(16) FourColumns {
  float by_step[4], by_offset[4], of_w[4], shift[4], least[4];
  std::uint32_t w_sum[4];  ///< of a product: the sums of W's levels
};

/// That a row of so many columns takes in the exchange.
[[nodiscard]] constexpr std::size_t published_words(std::size_t width, bool bits) noexcept {
  const std::size_t blocks = (width + 63) / 64;
  if (bits) return 2 * blocks;
  return width <= narrow_columns ? narrow_columns : 64 * blocks;
}

/// Lanes that have 64 columns of a row of levels, four each, or as many as there are.
[[nodiscard]] constexpr unsigned level_lanes(std::size_t width) noexcept {
  return width <= 8 ? 2 : width <= 16 ? 4 : width <= 32 ? 8 : 16;
}

/// The same of levels: four in a word. As many FourColumns their step has.
[[nodiscard]] constexpr std::size_t published_level_words(std::size_t width) noexcept {
  return (width + 63) / 64 * level_lanes(width);
}

/// A bit row is told in two words a 64 columns, a float in one: half a word is the value, half the number of the run
/// that it is of. So a reader needs no other sign that it is there, and nobody waits for more than what he reads.
struct RowProgram {
  std::vector<RowStep> steps;
  std::vector<const EdgeOffset*> row_ptrs;  ///< of the patterns
  std::size_t aggregation = 0;              ///< the pattern that votes and sums take
  std::size_t row_words = 0;                ///< that a row keeps
  std::size_t exchange_words = 0;
  std::size_t columns = 0;  ///< FourColumns of all steps
};

/// None where a step needs what no row has, or there are too many of something. Steps that need no other rows go ahead
/// of those that would keep them waiting.
[[nodiscard]] std::optional<RowProgram> row_program(const LaunchSteps& steps);

struct RowRange {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

inline constexpr NodeId no_row = ~NodeId{0};

/// What a warp has to do with a row: alone, or as one of several that share its entries.
struct Place {
  NodeId row = no_row;
  std::uint8_t rank = 0;
  std::uint8_t size = 1;
  std::uint8_t barrier = 0;  ///< of the team in its block, from 1 on
  std::uint8_t unused = 0;
};

/// Who has which rows: place (slot s, warp w, block b) is at (s warps + w) blocks + b.
struct Placement {
  unsigned blocks = 0;
  unsigned warps = 0;
  unsigned slots = 0;
  std::vector<Place> places;
};

inline constexpr unsigned most_block_warps = 32;

/// Rows go to blocks in turn; a row of more than 32 entries gets a warp for each 32 of them, in one block, as far as
/// there are warps.
[[nodiscard]] Placement place_rows(std::span<const EdgeOffset> row_ptr, unsigned blocks);

}  // namespace bitgraph::nn
