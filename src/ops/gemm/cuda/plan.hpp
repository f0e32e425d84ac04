// SPDX-License-Identifier: Apache-2.0
// Which kernel multiplies on a CUDA device: a list of kernels, the first of which that suits is taken. Plain host code:
// the choice can be tested, and explained, without a device.
#pragma once

#include "ops/gemm/tuning.hpp"
#include "ops/prediction.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace bitgraph::gemm_cuda {

constexpr std::size_t most_short_words = cuda_gemm_tuning().most_short_words;
constexpr unsigned step_words = 4;  ///< words of an instruction
constexpr unsigned block_outputs = cuda_gemm_tuning().block_outputs;

/// What the factors are.
enum class Factors : std::uint8_t {
  bits,             ///< both
  signs_of_floats,  ///< X is floats, of which signs and scales are made on the way; W is bits
  floats_and_bits,  ///< X is floats as they are, W bits
  floats            ///< both
};

/// What the choice depends on.
struct Problem {
  Factors factors = Factors::bits;
  std::size_t rows = 0;     ///< of X
  std::size_t columns = 0;  ///< of X
  std::size_t words = 0;    ///< of 64 bits of a row of bits
  std::size_t outputs = 0;  ///< rows of W
  bool bits_out = false;
  bool float_weights = false;  ///< W is floats that go through binarize first, where the kernel takes bits
  bool masked = false;         ///< some elements of X do not count
  bool row_scaled = false;     ///< there is a row_scale, or one is made of X
  bool col_scaled = false;     ///< there is a col_scale
  bool has_bias = false;
  bool rows_in_sequence = false;  ///< rows of floats follow one another, from a multiple of 16 bytes on
  bool has_blas = true;           ///< cuBLAS is there, and sizes fit its int32
  unsigned multiprocessors = 0;
};

enum class Kernel : std::uint8_t {
  blas,
  float_tiles,
  float_rows,
  binarized_rows,
  masked_bits,
  short_rows,
  few_rows,
  many_rows
};

/// How rows of bits in registers are finished.
enum class Finish : std::uint8_t {
  scaled,
  scaled_of_many,      ///< the same for bits, of more outputs than a block has: fewer, larger blocks load weights less
                       ///< often
  signs,               ///< bits: signs of sums, or whether they are large enough
  signs_of_many,       ///< the same, of so many outputs that one block a multiprocessor loads their weights but once
  by_way_of_an_image,  ///< floats of short rows, which begin anywhere: 16 rows are put side by side in shared memory
};
constexpr bool of_many(Finish finish) { return finish == Finish::signs_of_many || finish == Finish::scaled_of_many; }
constexpr bool signs_alone(Finish finish) { return finish == Finish::signs || finish == Finish::signs_of_many; }

/// A kernel and the shape that it runs in.
struct Plan {
  Kernel kernel = Kernel::many_rows;
  unsigned steps = 0;              ///< of rows in registers: instructions for a row's words
  Finish finish = Finish::scaled;  ///< of rows in registers
  unsigned tiles = 0;              ///< of float_rows: of 8 outputs each, side by side
};

/// A row of the list.
struct KernelEntry {
  Kernel kernel;
  const char* name;
  bool (*suits)(const Problem&, const CudaGemmTuning&);  ///< it can, and none behind it is quicker
  Plan (*shape)(const Problem&, const CudaGemmTuning&);
  Cost (*cost)(const Problem&);  ///< binarize included
};

/// In the order in which they are asked.
[[nodiscard]] std::span<const KernelEntry> kernels() noexcept;

/// The first kernel of the list that suits. There is one for every problem. Signs of floats that binarized_rows does
/// not suit go through binarize first: the kernel is that of the bits.
[[nodiscard]] Plan plan(const Problem& problem, const CudaGemmTuning& tuning = cuda_gemm_tuning());

/// What a run costs, as far as its shape tells.
[[nodiscard]] Prediction predict(const Problem& problem, const Plan& plan);
/// The same of bfloat16 by bfloat16, with numbers of `out_bytes`, by cuBLAS.
[[nodiscard]] Prediction predict_bfloats(std::size_t rows, std::size_t columns, std::size_t outputs,
                                         std::size_t out_bytes);

/// "gemm_short_rows, 4 steps, signs, many outputs".
[[nodiscard]] std::string describe(const Plan& plan);

}  // namespace bitgraph::gemm_cuda
