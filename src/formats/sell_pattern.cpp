// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/formats/sell_pattern.hpp>

#include "core/parallel.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace bitgraph {

namespace {

constexpr std::size_t lanes = SellView::lanes;

NodeId degree_of(const CsrPattern& a, std::size_t row) {
  return static_cast<NodeId>(a.row_ptr()[row + 1] - a.row_ptr()[row]);
}

Range window_rows(const CsrPattern& a, std::size_t window) {
  const std::size_t begin = window * SellPattern::sort_window;
  return {begin, std::min<std::size_t>(a.nrows(), begin + SellPattern::sort_window)};
}

/// How many of a window's rows are long.
std::size_t count_long(const CsrPattern& a, Range rows) {
  std::size_t count = 0;
  for (std::size_t i = rows.begin; i < rows.end; ++i) count += degree_of(a, i) >= SellPattern::long_degree;
  return count;
}

/// The short rows of a window by falling degree, rows of one degree as they were: order, as many as there are.
void sort_window(const CsrPattern& a, Range window, NodeId* order) {
  std::array<std::uint32_t, SellPattern::long_degree + 1> next{};
  const auto key = [&](std::size_t i) { return SellPattern::long_degree - 1 - degree_of(a, i); };
  for (std::size_t i = window.begin; i < window.end; ++i) {
    if (degree_of(a, i) < SellPattern::long_degree) ++next[key(i) + 1];
  }
  for (std::size_t d = 1; d < next.size(); ++d) next[d] += next[d - 1];
  for (std::size_t i = window.begin; i < window.end; ++i) {
    if (degree_of(a, i) < SellPattern::long_degree) order[next[key(i)]++] = static_cast<NodeId>(i);
  }
}

/// Puts the entries of a chunk's rows side by side; places beyond a row's end are zero.
void fill_chunk(const CsrPattern& a, const SellView& sell, std::size_t chunk, NodeId* out) {
  const NodeId* rows = sell.rows + chunk * lanes;
  const NodeId slots = sell.degrees[chunk * lanes];
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const NodeId degree = sell.degrees[chunk * lanes + lane];
    for (NodeId e = 0; e < degree; ++e) out[e * lanes + lane] = a.row(rows[lane])[e];
    for (NodeId e = degree; e < slots; ++e) out[e * lanes + lane] = 0;
  }
}

}  // namespace

std::size_t SellPattern::bytes() const noexcept {
  return rows_.bytes() + degrees_.bytes() + chunk_ptr_.bytes() + col_ind_.bytes() + long_rows_.bytes() +
         long_ptr_.bytes() + long_col_ind_.bytes();
}

SellView SellPattern::view() const noexcept {
  return {.nrows = nrows_,
          .ncols = ncols_,
          .num_chunks = rows_.size() / lanes,
          .rows = rows_.data(),
          .degrees = degrees_.data(),
          .chunk_ptr = chunk_ptr_.data(),
          .col_ind = col_ind_.data(),
          .num_long_rows = long_rows_.size(),
          .long_rows = long_rows_.data(),
          .long_ptr = long_ptr_.data(),
          .long_col_ind = long_col_ind_.data()};
}

SellPattern to_sell(const CsrPattern& a, const Device& device) {
  const std::size_t num_windows = (a.nrows() + SellPattern::sort_window - 1) / SellPattern::sort_window;
  std::vector<std::size_t> first_long(num_windows + 1);
  std::vector<std::size_t> first_chunk(num_windows + 1);
  parallel_for(device, num_windows, 1, [&](std::size_t w) {
    const Range window = window_rows(a, w);
    first_long[w] = count_long(a, window);
    first_chunk[w] = (window.size() - first_long[w] + lanes - 1) / lanes;
  });
  const std::size_t num_long = exclusive_scan<std::size_t>(device, first_long);
  const std::size_t num_chunks = exclusive_scan<std::size_t>(device, first_chunk);

  SellPattern sell;
  sell.nrows_ = a.nrows();
  sell.ncols_ = a.ncols();
  sell.nvals_ = a.nvals();
  sell.rows_ = Buffer<NodeId>(num_chunks * lanes, device);
  sell.degrees_ = Buffer<NodeId>(num_chunks * lanes, device);
  sell.chunk_ptr_ = Buffer<EdgeOffset>(num_chunks + 1, EdgeOffset{0}, device);
  sell.long_rows_ = Buffer<NodeId>(num_long, device);
  sell.long_ptr_ = Buffer<EdgeOffset>(num_long + 1, EdgeOffset{0}, device);
  parallel_for(device, num_windows, 1, [&](std::size_t w) {
    const Range window = window_rows(a, w);
    NodeId* order = sell.rows_.data() + first_chunk[w] * lanes;
    sort_window(a, window, order);
    const std::size_t num_short = window.size() - (first_long[w + 1] - first_long[w]);
    const std::size_t places = (first_chunk[w + 1] - first_chunk[w]) * lanes;
    std::fill(order + num_short, order + places, a.nrows());
    for (std::size_t n = 0; n < places; ++n) {
      const NodeId degree = n < num_short ? degree_of(a, order[n]) : 0;
      sell.degrees_[first_chunk[w] * lanes + n] = degree;
      if (n % lanes == 0) sell.chunk_ptr_[first_chunk[w] + n / lanes] = EdgeOffset{degree} * lanes;
    }
    std::size_t next_long = first_long[w];
    for (std::size_t i = window.begin; i < window.end; ++i) {
      if (degree_of(a, i) < SellPattern::long_degree) continue;
      sell.long_ptr_[next_long] = degree_of(a, i);
      sell.long_rows_[next_long++] = static_cast<NodeId>(i);
    }
  });
  const EdgeOffset places = exclusive_scan(device, sell.chunk_ptr_.span());
  const EdgeOffset long_entries = exclusive_scan(device, sell.long_ptr_.span());

  sell.col_ind_ = Buffer<NodeId>(places, device);
  sell.long_col_ind_ = Buffer<NodeId>(long_entries, device);
  const SellView view = sell.view();
  parallel_chunks(device, num_chunks, 256, [&](Range chunks) {
    for (std::size_t c = chunks.begin; c < chunks.end; ++c)
      fill_chunk(a, view, c, sell.col_ind_.data() + view.chunk_ptr[c]);
  });
  parallel_chunks(device, num_long, 1, [&](Range rows) {
    for (std::size_t n = rows.begin; n < rows.end; ++n)
      std::ranges::copy(a.row(view.long_rows[n]), sell.long_col_ind_.data() + view.long_ptr[n]);
  });
  return sell;
}

CsrPattern to_csr(const SellPattern& a, const Device& device) {
  const SellView sell = a.view();
  Buffer<EdgeOffset> row_ptr(std::size_t{a.nrows()} + 1, EdgeOffset{0}, device);
  for (std::size_t n = 0; n < sell.num_chunks * lanes; ++n) {
    if (sell.rows[n] != a.nrows()) row_ptr[sell.rows[n]] = sell.degrees[n];
  }
  for (std::size_t n = 0; n < sell.num_long_rows; ++n)
    row_ptr[sell.long_rows[n]] = sell.long_ptr[n + 1] - sell.long_ptr[n];
  exclusive_scan(device, row_ptr.span());

  Buffer<NodeId> col_ind(a.nvals(), device);
  parallel_chunks(device, sell.num_chunks, 256, [&](Range chunks) {
    for (std::size_t n = chunks.begin * lanes; n < chunks.end * lanes; ++n) {
      if (sell.degrees[n] == 0) continue;
      const NodeId* from = sell.col_ind + sell.chunk_ptr[n / lanes] + n % lanes;
      NodeId* to = col_ind.data() + row_ptr[sell.rows[n]];
      for (NodeId e = 0; e < sell.degrees[n]; ++e) to[e] = from[e * lanes];
    }
  });
  parallel_chunks(device, sell.num_long_rows, 1, [&](Range rows) {
    for (std::size_t n = rows.begin; n < rows.end; ++n) {
      std::copy(sell.long_col_ind + sell.long_ptr[n], sell.long_col_ind + sell.long_ptr[n + 1],
                col_ind.data() + row_ptr[sell.long_rows[n]]);
    }
  });
  return {a.nrows(), a.ncols(), std::move(row_ptr), std::move(col_ind)};
}

}  // namespace bitgraph
