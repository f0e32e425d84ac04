// SPDX-License-Identifier: Apache-2.0
// Which kernel multiplies a graph and a vector on a CUDA device: a list of kernels, the first of which that suits is
// taken. Plain host code: the choice can be tested, and explained, without a device.
#pragma once

#include "ops/mxv/tuning.hpp"
#include "ops/prediction.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace bitgraph::mxv_cuda {

/// What the choice depends on.
struct Problem {
  bool transposed = false;     ///< vxm: rows of A are pushed
  bool tiles = false;          ///< the graph is B2SR, else pattern CSR
  NodeId nrows = 0;            ///< of A
  EdgeOffset entries = 0;      ///< of pattern CSR
  EdgeOffset longest_row = 0;  ///< entries, of pattern CSR
  bool bits_in = false;
  bool bits_out = false;

  // What the prediction depends on besides.
  std::size_t graph_bytes = 0;
  std::size_t gathers = 0;         ///< entries, or tiles
  std::size_t gathered_bytes = 0;  ///< of x, or where rows are pushed of the output, for an entry or a tile
  std::size_t x_bytes = 0;
  std::size_t out_bytes = 0;
};

enum class Kernel : std::uint8_t { push, tiles, short_rows, chunks };

/// A kernel and the shape that it runs in.
struct Plan {
  Kernel kernel = Kernel::chunks;
  unsigned lanes = 0;  ///< of short_rows: that have a row together
  unsigned items = 0;  ///< of chunks: rows and entries of one
};

inline constexpr unsigned small_chunk = cuda_mxv_tuning().small_chunk;
inline constexpr unsigned chunk_of_values = cuda_mxv_tuning().chunk_of_values;
inline constexpr unsigned chunk_of_bits = cuda_mxv_tuning().chunk_of_bits;

/// A row of the list.
struct KernelEntry {
  Kernel kernel;
  const char* name;
  bool (*suits)(const Problem&, const CudaMxvTuning&);  ///< it can, and none behind it is quicker
  Plan (*shape)(const Problem&, const CudaMxvTuning&);
  Cost (*cost)(const Problem&);
};

/// In the order in which they are asked.
[[nodiscard]] std::span<const KernelEntry> kernels() noexcept;

/// The first kernel of the list that suits. There is one for every problem that has rows.
[[nodiscard]] Plan plan(const Problem& problem, const CudaMxvTuning& tuning = cuda_mxv_tuning());

/// What a run costs, as far as its shape tells; without a mask.
[[nodiscard]] Prediction predict(const Problem& problem, const Plan& plan);

/// "mxv_short_rows, 4 lanes", "mxv_chunks of 512".
[[nodiscard]] std::string describe(const Plan& plan);

}  // namespace bitgraph::mxv_cuda
