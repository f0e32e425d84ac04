// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/core/types.hpp>
#include <bitgraph/formats/views.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace bitgraph {

/// Pattern CSR: a sparse 0/1 matrix as the sorted column indices of its ones, row after row, without values.
///
/// Invariants: row_ptr has nrows + 1 elements, starts at 0 and never falls; each row's column indices are below ncols
/// and strictly increasing.
class CsrPattern {
 public:
  /// 0 x 0, no entries.
  CsrPattern();

  /// Takes the arrays. Throws usage where their sizes or devices do not fit; on the host bad_input where they break an
  /// invariant: see validate(). O(nrows + nvals). Arrays on a CUDA device are trusted.
  CsrPattern(NodeId nrows, NodeId ncols, Buffer<EdgeOffset> row_ptr, Buffer<NodeId> col_ind);

  /// The same without looking at the arrays. O(1) on the host.
  CsrPattern(NodeId nrows, NodeId ncols, Buffer<EdgeOffset> row_ptr, Buffer<NodeId> col_ind, Trusted);

  /// The same of arrays on a CUDA device whose chunks and longest row (formats/pattern/csr_chunks.hpp) are known: the
  /// other constructor waits for the device to find them.
  CsrPattern(NodeId nrows, NodeId ncols, Buffer<EdgeOffset> row_ptr, Buffer<NodeId> col_ind, Buffer<NodeId> chunk_row,
             EdgeOffset longest_row, Trusted);

  /// Checks every invariant, in parallel: O(nrows + nvals). Throws bad_input naming the row, usage where the arrays are
  /// not on the host.
  void validate() const;

  [[nodiscard]] NodeId nrows() const noexcept { return nrows_; }
  [[nodiscard]] NodeId ncols() const noexcept { return ncols_; }
  [[nodiscard]] EdgeOffset nvals() const noexcept { return col_ind_.size(); }
  [[nodiscard]] std::span<const EdgeOffset> row_ptr() const noexcept { return row_ptr_.span(); }
  [[nodiscard]] std::span<const NodeId> col_ind() const noexcept { return col_ind_.span(); }
  /// The columns of row i. Throws usage where the arrays are not on the host.
  [[nodiscard]] std::span<const NodeId> row(NodeId i) const {
    require_on_host("reading a row of a pattern", device());
    return view().row(i);
  }
  [[nodiscard]] const Device& device() const noexcept { return col_ind_.device(); }

  /// A number that no other pattern of the process has, copies neither; it goes along when a pattern is moved.
  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }

  /// Exact size of the arrays: 8 (nrows + 1) + 4 nvals; on a CUDA device 4 for each 512 rows and entries more.
  [[nodiscard]] std::size_t bytes() const noexcept { return row_ptr_.bytes() + col_ind_.bytes() + chunk_row_.bytes(); }

  [[nodiscard]] CsrPatternView view() const noexcept {
    return {nrows_,
            ncols_,
            row_ptr_.data(),
            col_ind_.data(),
            chunk_row_.data(),
            static_cast<NodeId>(chunk_row_.empty() ? 0 : chunk_row_.size() - 1),
            col_ind_.size(),
            longest_row_};
  }
  [[nodiscard]] CsrPattern clone() const;
  [[nodiscard]] CsrPattern to(const Device& device) const;  ///< a copy on `device`

  /// The same storage, not copied, under a handle of the same place: see Buffer::share. It has an id of its own.
  [[nodiscard]] CsrPattern share(const Device& device) const;
  [[nodiscard]] CsrPattern share() const { return share(device()); }

  /// Throws usage where a pattern is not on the host.
  friend bool operator==(const CsrPattern& a, const CsrPattern& b);

 private:
  NodeId nrows_ = 0;
  NodeId ncols_ = 0;
  Buffer<EdgeOffset> row_ptr_;
  Buffer<NodeId> col_ind_;
  Buffer<NodeId> chunk_row_;  ///< on a CUDA device only, as the next
  EdgeOffset longest_row_ = 0;
  std::uint64_t id_;
};

/// Size in bytes of the usual float32 CSR of the same matrix, with 4-byte indices (8-byte row pointers only from 2^31
/// entries on): the format that everything here is compared with.
[[nodiscard]] std::size_t csr_float32_bytes(NodeId nrows, EdgeOffset nvals) noexcept;

struct EdgeListOptions {
  bool symmetrize = false;  ///< add (j, i) for every (i, j)
  bool drop_loops = false;  ///< leave out (i, i)
};

/// The pattern of a list of (row, column) pairs in any order; duplicates are merged.
/// Throws usage where the lists differ in length or an index is out of range. O(n + m log d), parallel.
[[nodiscard]] CsrPattern csr_from_edges(NodeId nrows, NodeId ncols, std::span<const NodeId> rows,
                                        std::span<const NodeId> cols, const EdgeListOptions& options = {},
                                        const Device& device = {});

/// A^T. O(nrows + ncols + nvals), parallel; the result does not depend on the number of threads.
[[nodiscard]] CsrPattern transpose(const CsrPattern& a);

/// A or A^T (square only).
[[nodiscard]] CsrPattern symmetrized(const CsrPattern& a);

/// True where A equals A^T.
[[nodiscard]] bool is_symmetric(const CsrPattern& a);

/// A + I: every (i, i) with i below both sides is present.
[[nodiscard]] CsrPattern with_self_loops(const CsrPattern& a);
[[nodiscard]] CsrPattern without_self_loops(const CsrPattern& a);
[[nodiscard]] EdgeOffset num_self_loops(const CsrPattern& a);

/// Renumbers rows and columns of a square pattern alike: entry (i, j) becomes (new_id[i], new_id[j]).
/// Throws usage unless new_id is a permutation of 0 .. n-1.
[[nodiscard]] CsrPattern permuted(const CsrPattern& a, std::span<const NodeId> new_id);

}  // namespace bitgraph
