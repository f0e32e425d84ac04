// SPDX-License-Identifier: Apache-2.0
// Which kernel runs a product on a CUDA device: a list of kernels, the first of which that suits is taken. Plain host
// code: the choice can be tested, and explained, without a device.
#pragma once

#include <bitgraph/core/types.hpp>

#include "ops/prediction.hpp"
#include "ops/spmm/tuning.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace bitgraph::spmm_cuda {

// What kernels are built for.
constexpr EdgeOffset long_row = cuda_spmm_tuning().vote.long_row;
constexpr EdgeOffset mesh_longest_row = cuda_spmm_tuning().sum.mesh_longest_row;
constexpr unsigned usual_block = cuda_spmm_tuning().block_threads;
constexpr unsigned large_block = cuda_spmm_tuning().vote.ordered_many.threads;

/// What the choice depends on.
struct Problem {
  bool tiles = false;          ///< the graph is B2SR, else pattern CSR
  NodeId nrows = 0;            ///< of the graph
  NodeId ncols = 0;            ///< of the graph: rows of X
  EdgeOffset entries = 0;      ///< of the graph; of B2SR its tiles
  EdgeOffset longest_row = 0;  ///< entries
  std::size_t features = 0;    ///< columns of X
  bool bits_in = false;
  bool bits_out = false;
  std::size_t in_bytes = sizeof(float);   ///< of a number of X, which is not bits
  std::size_t out_bytes = sizeof(float);  ///< of a number of the output, which is not bits
  bool aligned = false;   ///< rows of X, and of a binary output, can be read and written 16 bytes at a time
  bool weighted = false;  ///< there is a col_scale
  bool ordered = false;   ///< there is a row order
  bool has_epilogue = false;
  unsigned multiprocessors = 0;

  [[nodiscard]] bool is_vote() const noexcept { return bits_in && !weighted; }
  /// Words of 32 bits of a row of bits.
  [[nodiscard]] std::size_t words() const noexcept { return 2 * ((features + 63) / 64); }
};

enum class Kernel : std::uint8_t {
  vote_short_rows,
  vote_ordered,
  vote_direct,
  vote_spans,
  vote_tiles,
  signs_of_fp16,
  sum_narrow,
  sum_mesh,
  sum_by_rows,
  sum_ordered,
  sum_stream,
  sum_tiles
};

/// How X is read.
enum class Copy : std::uint8_t {
  none,   ///< as it is
  fours,  ///< from a copy whose rows are whole fours of floats, multiplied by col_scale
  fp16    ///< from a copy in numbers of 16 bits
};

/// A kernel and the shape that it runs in.
struct Plan {
  Kernel kernel = Kernel::sum_stream;
  Copy copy = Copy::none;
  unsigned lanes = 32;             ///< of a warp that have a row together
  unsigned words = 1;              ///< of 32 bits that a lane of a vote has
  unsigned threads = usual_block;  ///< of a block
};

/// A row of the list.
struct KernelEntry {
  Kernel kernel;
  const char* name;
  bool (*suits)(const Problem&, const CudaSpmmTuning&);  ///< it can, and none behind it is quicker
  Plan (*shape)(const Problem&, const CudaSpmmTuning&);
  double bytes_a_gather;  ///< that an entry moves besides its row of X: its column, and what the kernel adds
};

/// In the order in which they are asked.
[[nodiscard]] std::span<const KernelEntry> kernels() noexcept;

/// The first kernel of the list that suits. There is one for every problem.
[[nodiscard]] Plan plan(const Problem& problem, const CudaSpmmTuning& tuning = cuda_spmm_tuning());

[[nodiscard]] const char* name_of(Kernel kernel) noexcept;

/// "spmm_vote_ordered, 2 lanes x 4 words, 768 threads"; the usual 256 threads are not said.
[[nodiscard]] std::string describe(const Plan& plan);

/// What a run costs, as far as its shape tells.
[[nodiscard]] Prediction predict(const Problem& problem, const Plan& plan);

/// Rows are short, or all of about one length.
[[nodiscard]] bool is_even(NodeId nrows, EdgeOffset entries, EdgeOffset longest_row) noexcept;

/// Whether a sum of so many features gains by an order of the rows: fewer have kernels that need none.
[[nodiscard]] bool sums_by_order(std::size_t features, const CudaSpmmTuning& tuning = cuda_spmm_tuning()) noexcept;

/// Whether a sum over so many entries is of a copy of X, which is small beside what is gathered: where X has few
/// features and has weights, or rows that do not begin with whole fours of floats; and where it has weights that a
/// great many entries would ask for.
[[nodiscard]] bool copies_features(std::size_t nrows, std::size_t ncols, EdgeOffset entries, bool in_fours,
                                   bool weighted, const CudaSpmmTuning& tuning = cuda_spmm_tuning()) noexcept;

/// Whether signs of sums come from a copy of X in fp16: where so many entries are gathered that half the bytes pay
/// for the copy.
[[nodiscard]] bool gathers_fp16(std::size_t nrows, std::size_t ncols, EdgeOffset entries,
                                const CudaSpmmTuning& tuning = cuda_spmm_tuning()) noexcept;

}  // namespace bitgraph::spmm_cuda
