// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/core/types.hpp>
#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/formats/views.hpp>

#include <cstddef>
#include <cstdint>

namespace bitgraph {

/// How the columns of a SellPattern are cut.
struct SellStrips {
  static constexpr std::size_t most_columns = std::size_t{1} << 16;  ///< what 16 bits name

  std::size_t count = 1;
  std::size_t columns = 0;  ///< of a strip; the last may have fewer
  bool short_indices = true;

  /// One strip of 16-bit indices where they name all columns. More are cut into strips of 2^16, whose rows of X stay in
  /// a second-level cache, where a row has enough entries in each; else there is one strip, of 32-bit indices.
  [[nodiscard]] static SellStrips of(NodeId nrows, NodeId ncols, EdgeOffset nvals) noexcept;
};

/// The pattern in sliced ELLPACK with sorted rows, SELL-C-sigma of Kreutzer, Hager, Wellein, Fehske and Bishop (SIAM J.
/// Sci. Comput. 36, 2014): the rows of a window are sorted by degree and eight rows of nearly one degree have their
/// column indices side by side, so that a kernel walks one stream of indices with eight rows in the lanes of a vector.
/// Rows of long_degree entries or more, which nothing stands beside, are kept one by one. Many columns are cut into
/// strips, and each window is so arranged strip by strip.
///
/// Made once for a graph that is multiplied many times: see spmm. Square or not; rows are found in `rows`, not by
/// number.
class SellPattern {
 public:
  static constexpr std::size_t sort_window = 2048;
  static constexpr std::size_t strip_window = 512;  ///< where there are several strips
  static constexpr NodeId long_degree = 512;

  SellPattern() = default;

  [[nodiscard]] NodeId nrows() const noexcept { return nrows_; }
  [[nodiscard]] NodeId ncols() const noexcept { return ncols_; }
  [[nodiscard]] EdgeOffset nvals() const noexcept { return nvals_; }
  [[nodiscard]] const SellStrips& strips() const noexcept { return strips_; }

  /// Exact size of the arrays: for each strip 8 a row and 8 a chunk, 2 or 4 an entry and a place left empty, 12 a long
  /// row, 16 a window; 4 a row where there are several strips.
  [[nodiscard]] std::size_t bytes() const noexcept;
  [[nodiscard]] SellView view() const noexcept;

 private:
  friend class SellBuilder;

  NodeId nrows_ = 0;
  NodeId ncols_ = 0;
  EdgeOffset nvals_ = 0;
  SellStrips strips_;
  std::size_t window_rows_ = sort_window;
  unsigned counter_bits_ = 0;
  Buffer<NodeId> rows_;
  Buffer<NodeId> degrees_;
  Buffer<EdgeOffset> chunk_ptr_;
  Buffer<NodeId> col_ind_;
  Buffer<std::uint16_t> short_col_ind_;
  Buffer<NodeId> long_rows_;
  Buffer<EdgeOffset> long_ptr_;
  Buffer<NodeId> long_col_ind_;
  Buffer<std::uint16_t> short_long_col_ind_;
  Buffer<std::size_t> section_chunks_;
  Buffer<std::size_t> section_long_rows_;
  Buffer<NodeId> row_degrees_;
};

/// O(nrows + nvals), parallel over windows; the result does not depend on the number of threads.
[[nodiscard]] SellPattern to_sell(const CsrPattern& a, const Device& device = {});

/// The same, cut as the caller likes. Throws usage unless the strips cover the columns and 16 bits name those of a
/// strip where they are to.
[[nodiscard]] SellPattern to_sell(const CsrPattern& a, const SellStrips& strips, const Device& device = {});

/// The way back. O(nrows + nvals).
[[nodiscard]] CsrPattern to_csr(const SellPattern& a, const Device& device = {});

}  // namespace bitgraph
