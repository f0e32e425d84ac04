// SPDX-License-Identifier: Apache-2.0
// Which kernel runs a fused vote on a CUDA device, in which shape, and which rows have how many threads. Plain host
// code: the choice can be tested, and explained, without a device.
#pragma once

#include "ops/fused_vote/tuning.hpp"
#include "ops/prediction.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace bitgraph::fused_cuda {

enum class Operation : std::uint8_t { vote, score_sum, counts, score_rows, scaled_sum };

/// What the choice depends on.
struct Problem {
  Operation operation = Operation::vote;
  EdgeOffset entries = 0;
  std::size_t words = 0;    ///< of 64 bits of a row of X, or of scaled scores
  bool multiplied = false;  ///< votes: there are products

  // What the prediction depends on besides.
  std::size_t nrows = 0;           ///< of the graph, and of X
  std::size_t gathered_bytes = 0;  ///< for an entry: a row of X, or of scores
  std::size_t row_bytes = 0;       ///< read and written for a row, the graph's and the order's besides
  std::size_t weights = 0;         ///< rows of weights that a row's bits, or counts, are multiplied by
};

enum class Kernel : std::uint8_t { vote, score_sum, counts, score_rows, scaled_sum };

/// A kernel, the shape that it runs in, and where its classes of rows begin.
struct Plan {
  Kernel kernel = Kernel::vote;
  unsigned lanes = 1;         ///< of a warp that have a row of X together
  unsigned words = 2;         ///< of 32 bits that a lane has
  unsigned threads = 256;     ///< of a block
  std::size_t hub_power = 0;  ///< rows of 2^hub_power entries have a block,
  std::size_t warp_power = 0;
  std::size_t group_power = 0;  ///< and of fewer than 2^group_power one set of lanes
};

inline constexpr unsigned large_block = cuda_fused_vote_tuning().large_block;

/// A row of the list.
struct KernelEntry {
  Kernel kernel;
  const char* name;
  bool (*suits)(const Problem&);
  Plan (*shape)(const Problem&, const CudaFusedVoteTuning&);
  Cost (*cost)(const Problem&);
};

/// In the order in which they are asked.
[[nodiscard]] std::span<const KernelEntry> kernels() noexcept;

/// The first kernel of the list that suits. There is one for every problem.
[[nodiscard]] Plan plan(const Problem& problem, const CudaFusedVoteTuning& tuning = cuda_fused_vote_tuning());

/// What a run costs, as far as its shape tells.
[[nodiscard]] Prediction predict(const Problem& problem, const Plan& plan);

/// "fused_vote, 2 lanes x 4 words, 256 threads".
[[nodiscard]] std::string describe(const Plan& plan);

/// Lanes of a warp that have a row of X of so many words of 64 bits.
[[nodiscard]] constexpr unsigned lanes_of(std::size_t words) noexcept {
  return words <= 2 ? 1U : static_cast<unsigned>(words / 2);
}

}  // namespace bitgraph::fused_cuda
