// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/formats/csr_pattern.hpp>

#include "core/devices/backend.hpp"
#include "core/preconditions.hpp"
#include "core/threads/parallel.hpp"
#include "formats/cuda/formats.hpp"
#include "formats/pattern/csr_chunks.hpp"
#include "formats/pattern/sorted_row.hpp"
#include "formats/pattern/transpose_index.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>

namespace bitgraph {

namespace {

constexpr std::size_t row_grain = 1024;

std::uint64_t next_id() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

/// Keeps the lowest failing row of a parallel check.
class FirstFailure {
 public:
  void report(std::size_t row) noexcept {
    std::size_t first = row_.load();
    while (row < first && !row_.compare_exchange_weak(first, row)) {
    }
  }
  [[nodiscard]] bool any() const noexcept { return row_.load() != none; }
  [[nodiscard]] std::size_t row() const noexcept { return row_.load(); }

 private:
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  std::atomic<std::size_t> row_{none};
};

/// Rows rewritten one by one: `count(i)` says how long row i becomes, `fill(i, to)` writes it.
template <class Count, class Fill>
CsrPattern rewritten(NodeId nrows, NodeId ncols, const Device& device, Count&& count, Fill&& fill) {
  Buffer<EdgeOffset> row_ptr(std::size_t{nrows} + 1, device);
  parallel_for(device, nrows, row_grain, [&](std::size_t i) { row_ptr[i] = count(static_cast<NodeId>(i)); });
  row_ptr[nrows] = 0;
  const EdgeOffset nvals = exclusive_scan(device, row_ptr.span());
  Buffer<NodeId> col_ind(nvals, device);
  parallel_chunks(device, nrows, row_grain, [&](Range rows) {
    for (std::size_t i = rows.begin; i < rows.end; ++i) fill(static_cast<NodeId>(i), col_ind.data() + row_ptr[i]);
  });
  return {nrows, ncols, std::move(row_ptr), std::move(col_ind), trusted};
}

void require_square(const CsrPattern& a, const char* what) {
  if (a.nrows() != a.ncols()) {
    fail(ErrorCode::usage,
         fmt::format("{}: the matrix is {} x {}, a square one is needed", what, a.nrows(), a.ncols()));
  }
}

}  // namespace

CsrPattern::CsrPattern() : row_ptr_(1, EdgeOffset{0}), id_(next_id()) {}

CsrPattern::CsrPattern(NodeId nrows, NodeId ncols, Buffer<EdgeOffset> row_ptr, Buffer<NodeId> col_ind)
    : CsrPattern(nrows, ncols, std::move(row_ptr), std::move(col_ind), trusted) {
  if (device().is_host()) validate();
}

CsrPattern::CsrPattern(NodeId nrows, NodeId ncols, Buffer<EdgeOffset> row_ptr, Buffer<NodeId> col_ind, Trusted)
    : nrows_(nrows), ncols_(ncols), row_ptr_(std::move(row_ptr)), col_ind_(std::move(col_ind)), id_(next_id()) {
  // Elsewhere the last pointer would cost a copy.
  const bool on_host = col_ind_.device().is_host() && row_ptr_.device().is_host();
  if (row_ptr_.size() != std::size_t{nrows} + 1 || (on_host && row_ptr_[nrows] != col_ind_.size())) {
    fail(ErrorCode::usage, fmt::format("pattern CSR: {} rows with {} row pointers and {} column indices do not fit",
                                       nrows, row_ptr_.size(), col_ind_.size()));
  }
  require_same_stream("pattern CSR", "row_ptr", row_ptr_.device(), "col_ind", col_ind_.device());
  if (on_host) return;
  chunk_row_ = with_cuda<Buffer<NodeId>>(device(), "csr_chunk_rows", [&](const auto& cuda) {
    return cuda_formats::csr_chunk_rows(cuda, nrows, col_ind_.size(), row_ptr_.data());
  });
  longest_row_ = with_cuda<EdgeOffset>(device(), "csr_longest_row", [&](const auto& cuda) {
    return cuda_formats::csr_longest_row(cuda, nrows, row_ptr_.data());
  });
}

CsrPattern::CsrPattern(NodeId nrows, NodeId ncols, Buffer<EdgeOffset> row_ptr, Buffer<NodeId> col_ind,
                       Buffer<NodeId> chunk_row, EdgeOffset longest_row, Trusted)
    : nrows_(nrows),
      ncols_(ncols),
      row_ptr_(std::move(row_ptr)),
      col_ind_(std::move(col_ind)),
      chunk_row_(std::move(chunk_row)),
      longest_row_(longest_row),
      id_(next_id()) {
  if (row_ptr_.size() != std::size_t{nrows} + 1 || chunk_row_.size() != csr_chunk_bounds(nrows, col_ind_.size())) {
    fail(ErrorCode::usage,
         fmt::format("pattern CSR: {} rows and {} entries with {} row pointers and {} bounds of chunks do not fit",
                     nrows, col_ind_.size(), row_ptr_.size(), chunk_row_.size()));
  }
}

void CsrPattern::validate() const {
  require_on_host("checking a pattern", device());
  FirstFailure failure;
  if (row_ptr_[0] != 0)
    fail(ErrorCode::bad_input, fmt::format("pattern CSR: row_ptr starts at {}, expected 0", row_ptr_[0]));
  parallel_for(device(), nrows_, row_grain, [&](std::size_t i) {
    if (row_ptr_[i] > row_ptr_[i + 1] || row_ptr_[i + 1] > col_ind_.size()) failure.report(i);
  });
  if (failure.any()) fail(ErrorCode::bad_input, fmt::format("pattern CSR: row {}: row_ptr falls", failure.row()));
  parallel_for(device(), nrows_, row_grain, [&](std::size_t i) {
    NodeId least = 0;
    for (const NodeId j : row(static_cast<NodeId>(i))) {
      if (j < least || j >= ncols_) return failure.report(i);
      least = j + 1;
    }
  });
  if (failure.any()) {
    fail(ErrorCode::bad_input,
         fmt::format("pattern CSR: row {}: columns are not increasing and below {}", failure.row(), ncols_));
  }
}

CsrPattern CsrPattern::clone() const { return to(device()); }

CsrPattern CsrPattern::to(const Device& device) const {
  return {nrows_, ncols_, row_ptr_.to(device), col_ind_.to(device), trusted};
}

CsrPattern CsrPattern::share(const Device& device) const {
  CsrPattern shared;
  shared.nrows_ = nrows_;
  shared.ncols_ = ncols_;
  shared.row_ptr_ = row_ptr_.share(device);
  shared.col_ind_ = col_ind_.share(device);
  shared.chunk_row_ = chunk_row_.share(device);
  shared.longest_row_ = longest_row_;
  return shared;
}

bool operator==(const CsrPattern& a, const CsrPattern& b) {
  require_on_host("comparing patterns", a.device());
  require_on_host("comparing patterns", b.device());
  return a.nrows_ == b.nrows_ && a.ncols_ == b.ncols_ && std::ranges::equal(a.row_ptr(), b.row_ptr()) &&
         std::ranges::equal(a.col_ind(), b.col_ind());
}

std::size_t csr_float32_bytes(NodeId nrows, EdgeOffset nvals) noexcept {
  const std::size_t pointer = nvals < (EdgeOffset{1} << 31) ? 4 : 8;
  return pointer * (std::size_t{nrows} + 1) + 8 * nvals;
}

CsrPattern transpose(const CsrPattern& a) {
  if (!a.device().is_host())
    return with_cuda<CsrPattern>(a.device(), "transpose",
                                 [&](const auto& cuda) { return cuda_formats::transpose(cuda, a); });
  Buffer<NodeId> col_ind(a.nvals(), a.device());
  const CompressedRows rows{a.nrows(), a.ncols(), a.row_ptr(), a.col_ind()};
  Buffer<EdgeOffset> row_ptr =
      transpose_index(a.device(), rows, [&](EdgeOffset, EdgeOffset to, NodeId i) { col_ind[to] = i; });
  return {a.ncols(), a.nrows(), std::move(row_ptr), std::move(col_ind), trusted};
}

CsrPattern symmetrized(const CsrPattern& a) {
  require_square(a, "symmetrized");
  if (!a.device().is_host())
    return with_cuda<CsrPattern>(a.device(), "symmetrized",
                                 [&](const auto& cuda) { return cuda_formats::symmetrized(cuda, a); });
  const CsrPattern b = transpose(a);
  const auto merge = [&](NodeId i, NodeId* to) {
    const auto left = a.row(i);
    const auto right = b.row(i);
    return static_cast<EdgeOffset>(std::set_union(left.begin(), left.end(), right.begin(), right.end(), to) - to);
  };
  const auto count = [&](NodeId i) {
    const auto left = a.row(i);
    const auto right = b.row(i);
    EdgeOffset common = 0;
    for (std::size_t l = 0, r = 0; l < left.size() && r < right.size();) {
      const NodeId x = left[l];
      const NodeId y = right[r];
      common += x == y ? 1U : 0U;
      l += x <= y ? 1U : 0U;
      r += y <= x ? 1U : 0U;
    }
    return left.size() + right.size() - common;
  };
  return rewritten(a.nrows(), a.ncols(), a.device(), count, merge);
}

bool is_symmetric(const CsrPattern& a) {
  if (a.nrows() != a.ncols()) return false;
  const Device& device = a.device();
  if (!device.is_host())
    return with_cuda<bool>(a.device(), "equal", [&](const auto& cuda) {
      return cuda_formats::equal(cuda, a, cuda_formats::transpose(cuda, a));
    });
  const CompressedRows rows{a.nrows(), a.ncols(), a.row_ptr(), a.col_ind()};
  // Row j's columns below j, in order, must be the rows above j that have an entry in column j, in order. Each thread
  // sees to a range of such j; `matched` counts what has been met of each row.
  Buffer<NodeId> matched(a.nrows(), device);
  std::atomic<bool> symmetric{true};
  const auto check = [&](NodeId begin, NodeId end) {
    std::fill(matched.begin() + begin, matched.begin() + end, NodeId{0});
    for (NodeId i = 0; i < end && symmetric.load(std::memory_order_relaxed); ++i) {
      for (const NodeId j : columns_between(a.row(i), std::max(begin, i + 1), end)) {
        const auto mirror = a.row(j);
        const NodeId next = matched[j]++;
        if (next >= mirror.size() || mirror[next] != i) return symmetric.store(false);
      }
    }
    for (NodeId j = begin; j < end; ++j) {
      const auto mirror = a.row(j);
      if (matched[j] < mirror.size() && mirror[matched[j]] < j) return symmetric.store(false);
    }
  };
  for_column_ranges(device, balanced_columns(rows, worthwhile_parts(device, a.nvals() + a.nrows())), check);
  return symmetric;
}

CsrPattern with_self_loops(const CsrPattern& a) {
  require_host(a.device(), "with_self_loops");
  const auto missing = [&](NodeId i) { return i < a.ncols() && !has_column(a.row(i), i); };
  return rewritten(
      a.nrows(), a.ncols(), a.device(), [&](NodeId i) { return a.row(i).size() + (missing(i) ? 1U : 0U); },
      [&](NodeId i, NodeId* to) {
        const auto row = a.row(i);
        const auto middle = std::lower_bound(row.begin(), row.end(), i);
        to = std::copy(row.begin(), middle, to);
        if (missing(i)) *to++ = i;
        std::copy(middle, row.end(), to);
      });
}

CsrPattern without_self_loops(const CsrPattern& a) {
  require_host(a.device(), "without_self_loops");
  return rewritten(
      a.nrows(), a.ncols(), a.device(), [&](NodeId i) { return a.row(i).size() - (has_column(a.row(i), i) ? 1U : 0U); },
      [&](NodeId i, NodeId* to) {
        for (const NodeId j : a.row(i)) {
          if (j != i) *to++ = j;
        }
      });
}

EdgeOffset num_self_loops(const CsrPattern& a) {
  require_host(a.device(), "num_self_loops");
  std::atomic<EdgeOffset> loops{0};
  parallel_ranges(a.device(), std::min(a.nrows(), a.ncols()), row_grain, [&](Range rows) {
    EdgeOffset found = 0;
    for (std::size_t i = rows.begin; i < rows.end; ++i) {
      found += has_column(a.row(static_cast<NodeId>(i)), static_cast<NodeId>(i)) ? 1U : 0U;
    }
    loops += found;
  });
  return loops;
}

CsrPattern permuted(const CsrPattern& a, std::span<const NodeId> new_id) {
  require_square(a, "permuted");
  if (new_id.size() != a.nrows()) {
    fail(ErrorCode::usage, fmt::format("permuted: {} new ids for {} nodes", new_id.size(), a.nrows()));
  }
  constexpr NodeId unset = std::numeric_limits<NodeId>::max();
  Buffer<NodeId> old_id(a.nrows(), unset, a.device().is_host() ? a.device() : Device{});
  for (NodeId i = 0; i < a.nrows(); ++i) {
    if (new_id[i] >= a.nrows() || old_id[new_id[i]] != unset) {
      fail(ErrorCode::usage, fmt::format("permuted: new id {} of node {} is out of range or taken", new_id[i], i));
    }
    old_id[new_id[i]] = i;
  }
  if (!a.device().is_host())
    return with_cuda<CsrPattern>(a.device(), "permuted",
                                 [&](const auto& cuda) { return cuda_formats::permuted(cuda, a, new_id); });
  return rewritten(
      a.nrows(), a.ncols(), a.device(), [&](NodeId i) { return a.row(old_id[i]).size(); },
      [&](NodeId i, NodeId* to) {
        const auto row = a.row(old_id[i]);
        std::array<NodeId, most_by_rank> few;
        const bool by_rank = row.size() <= most_by_rank;
        NodeId* const mapped = by_rank ? few.data() : to;
        for (std::size_t e = 0; e < row.size(); ++e) mapped[e] = new_id[row[e]];
        if (by_rank) {
          rank_sort(mapped, row.size(), to);
        } else {
          std::sort(to, to + row.size());
        }
      });
}

}  // namespace bitgraph
