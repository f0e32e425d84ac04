// SPDX-License-Identifier: Apache-2.0
#include "nn/updates/changing_rows.hpp"

#include "nn/model/some_rows.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace bitgraph::nn {

namespace {

template <class T>
void grow(Buffer<T>& array, std::size_t used, std::size_t size) {
  if (size <= array.size()) return;
  Buffer<T> larger(size, array.device());
  std::copy_n(array.data(), used, larger.data());
  array = std::move(larger);
}

}  // namespace

ChangingRows::ChangingRows(const CsrPattern& pattern, std::size_t rows, std::size_t entries, const Device& host)
    : row_ptr_(std::max<std::size_t>(rows, pattern.nrows()) + 1, host),
      col_ind_(std::max<std::size_t>({entries, pattern.nvals(), 1}), host) {
  const EdgeOffset used = pattern.nvals();
  const std::size_t pointers = pattern.nrows() + std::size_t{1};
  std::copy_n(pattern.row_ptr().data(), pointers, row_ptr_.data());
  std::copy_n(pattern.col_ind().data(), used, col_ind_.data());
  view_ = CsrPattern(pattern.nrows(), pattern.ncols(), lent(row_ptr_.data(), pointers, host),
                     lent(col_ind_.data(), used, host), trusted);
}

ChangingRows::ChangingRows(const CsrPattern& pattern, std::span<const float> values, std::size_t rows,
                           std::size_t entries, const Device& host)
    : ChangingRows(pattern, rows, entries, host) {
  values_ = Buffer<float>(col_ind_.size(), host);
  std::copy(values.begin(), values.end(), values_.data());
}

void ChangingRows::reserve(std::size_t rows, std::size_t entries) {
  const EdgeOffset used = view_.nvals();
  if (rows + 1 > row_ptr_.size()) grow(row_ptr_, view_.nrows() + std::size_t{1}, rows + 1 + rows / 8);
  if (entries <= col_ind_.size()) return;
  const std::size_t size = entries + entries / 8;
  grow(col_ind_, used, size);
  if (!values_.empty()) grow(values_, used, size);
}

void ChangingRows::move(EdgeOffset first, EdgeOffset last, EdgeOffset to) {
  if (first == last || first == to) return;
  std::memmove(col_ind_.data() + to, col_ind_.data() + first, (last - first) * sizeof(NodeId));
  if (!values_.empty()) std::memmove(values_.data() + to, values_.data() + first, (last - first) * sizeof(float));
}

void ChangingRows::replace(std::span<const Row> rows, NodeId nrows, NodeId ncols) {
  /// The entries between two rows that are replaced. They all move by one distance.
  struct Segment {
    EdgeOffset first, last, to;
  };
  const NodeId kept = std::min(nrows, view_.nrows());
  const EdgeOffset* const old_ptr = view_.row_ptr().data();
  std::vector<Segment> segments;
  EdgeOffset from = 0;
  EdgeOffset to = 0;
  for (const Row& row : rows) {
    const EdgeOffset begin = row.row < kept ? old_ptr[row.row] : old_ptr[kept];
    segments.push_back({from, begin, to});
    to += begin - from + row.columns.size();
    from = row.row < kept ? old_ptr[row.row + 1] : old_ptr[kept];
  }
  segments.push_back({from, old_ptr[kept], to});
  const EdgeOffset total = to + (old_ptr[kept] - from);
  reserve(nrows, total);
  // A segment that moves down meets no segment that stands before it, one that moves up none that stands behind it.
  for (const Segment& s : segments) {
    if (s.to < s.first) move(s.first, s.last, s.to);
  }
  for (std::size_t k = segments.size(); k > 0; --k) {
    const Segment& s = segments[k - 1];
    if (s.to > s.first) move(s.first, s.last, s.to);
  }
  std::fill(row_ptr_.data() + kept, row_ptr_.data() + nrows + 1, EdgeOffset{row_ptr_[kept]});
  std::size_t begin = 0;  // rows from here on begin where the segment begins that stands before them
  for (std::size_t k = 0; k < segments.size(); ++k) {
    const std::size_t end = k < rows.size() ? rows[k].row + std::size_t{1} : nrows + std::size_t{1};
    const EdgeOffset shift = segments[k].to - segments[k].first;  // may wrap around: so does the sum
    for (; begin < end; ++begin) row_ptr_[begin] += shift;
  }
  for (const Row& row : rows) {
    std::copy(row.columns.begin(), row.columns.end(), col_ind_.data() + row_ptr_[row.row]);
    if (!values_.empty()) std::copy(row.values.begin(), row.values.end(), values_.data() + row_ptr_[row.row]);
  }
  const Device& host = row_ptr_.device();
  view_ = CsrPattern(nrows, ncols, lent(row_ptr_.data(), nrows + std::size_t{1}, host),
                     lent(col_ind_.data(), total, host), trusted);
}

}  // namespace bitgraph::nn
