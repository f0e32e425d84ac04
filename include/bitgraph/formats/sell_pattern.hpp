// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/core/types.hpp>
#include <bitgraph/formats/csr_pattern.hpp>

#include <cstddef>

namespace bitgraph {

/// What a kernel sees of a SellPattern.
struct SellView {
  static constexpr std::size_t lanes = 8;  ///< rows side by side in a chunk

  NodeId nrows = 0;
  NodeId ncols = 0;
  std::size_t num_chunks = 0;
  const NodeId* rows = nullptr;           ///< lanes a chunk: which row is there; nrows where there is none
  const NodeId* degrees = nullptr;        ///< lanes a chunk: its entries; never rising within a chunk
  const EdgeOffset* chunk_ptr = nullptr;  ///< num_chunks + 1 positions in col_ind
  const NodeId* col_ind = nullptr;        ///< entry e of lane r of chunk c at chunk_ptr[c] + lanes * e + r
  std::size_t num_long_rows = 0;
  const NodeId* long_rows = nullptr;
  const EdgeOffset* long_ptr = nullptr;  ///< num_long_rows + 1 positions in long_col_ind
  const NodeId* long_col_ind = nullptr;
};

/// The pattern in sliced ELLPACK with sorted rows, SELL-C-sigma of Kreutzer, Hager, Wellein, Fehske and Bishop (SIAM J.
/// Sci. Comput. 36, 2014): the rows of a window are sorted by degree and eight rows of nearly one degree have their
/// column indices side by side, so that a kernel walks one stream of indices with eight rows in the lanes of a vector.
/// Rows of long_degree entries or more, which nothing stands beside, are kept one by one.
///
/// Made once for a graph that is multiplied many times: see spmm. Square or not; rows are found in `rows`, not by
/// number.
class SellPattern {
 public:
  static constexpr std::size_t sort_window = 2048;
  static constexpr NodeId long_degree = 512;

  SellPattern() = default;

  [[nodiscard]] NodeId nrows() const noexcept { return nrows_; }
  [[nodiscard]] NodeId ncols() const noexcept { return ncols_; }
  [[nodiscard]] EdgeOffset nvals() const noexcept { return nvals_; }

  /// Exact size of the arrays: 8 a row, 8 a chunk, 4 an entry and a place left empty, 12 a long row.
  [[nodiscard]] std::size_t bytes() const noexcept;
  [[nodiscard]] SellView view() const noexcept;

 private:
  friend SellPattern to_sell(const CsrPattern& a, const Device& device);

  NodeId nrows_ = 0;
  NodeId ncols_ = 0;
  EdgeOffset nvals_ = 0;
  Buffer<NodeId> rows_;
  Buffer<NodeId> degrees_;
  Buffer<EdgeOffset> chunk_ptr_;
  Buffer<NodeId> col_ind_;
  Buffer<NodeId> long_rows_;
  Buffer<EdgeOffset> long_ptr_;
  Buffer<NodeId> long_col_ind_;
};

/// O(nrows + nvals), parallel over windows; the result does not depend on the number of threads.
[[nodiscard]] SellPattern to_sell(const CsrPattern& a, const Device& device = {});

/// The way back. O(nrows + nvals).
[[nodiscard]] CsrPattern to_csr(const SellPattern& a, const Device& device = {});

}  // namespace bitgraph
