// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/formats/sell_pattern.hpp>

#include <bitgraph/core/error.hpp>

#include "core/preconditions.hpp"
#include "core/threads/parallel.hpp"
#include "formats/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <span>

namespace bitgraph {

namespace {

constexpr std::size_t lanes = SellView::lanes;

/// The indices of a view: not null where they have this width, though there be none.
template <class Index>
const Index* indices_of(bool has_width, const Buffer<Index>& indices) {
  static constexpr Index none = 0;
  if (!has_width) return nullptr;
  return indices.empty() ? &none : indices.data();
}

/// The part of each row in each strip.
class Pieces {
 public:
  Pieces(const CsrPattern& a, const SellStrips& strips, const Device& device) : a_(a), strips_(strips) {
    if (strips.count == 1) return;
    inner_ = Buffer<EdgeOffset>(std::size_t{a.nrows()} * (strips.count - 1), device);
    parallel_for(device, a.nrows(), 256, [&](std::size_t i) {
      const auto row = a.row(static_cast<NodeId>(i));
      auto at = row.begin();
      for (std::size_t s = 1; s < strips.count; ++s) {
        at = std::lower_bound(at, row.end(), s * strips.columns);
        inner_[i * (strips.count - 1) + s - 1] = a.row_ptr()[i] + static_cast<std::size_t>(at - row.begin());
      }
    });
  }

  [[nodiscard]] std::span<const NodeId> of(std::size_t row, std::size_t strip) const {
    return a_.col_ind().subspan(begin(row, strip), begin(row, strip + 1) - begin(row, strip));
  }
  [[nodiscard]] NodeId size(std::size_t row, std::size_t strip) const {
    return static_cast<NodeId>(begin(row, strip + 1) - begin(row, strip));
  }

 private:
  [[nodiscard]] EdgeOffset begin(std::size_t row, std::size_t strip) const {
    if (strip == 0) return a_.row_ptr()[row];
    if (strip == strips_.count) return a_.row_ptr()[row + 1];
    return inner_[row * (strips_.count - 1) + strip - 1];
  }

  const CsrPattern& a_;
  const SellStrips& strips_;
  Buffer<EdgeOffset> inner_;  ///< where strips 1, 2 .. of a row begin
};

void check(const CsrPattern& a, const SellStrips& strips) {
  const bool covered = strips.count >= 1 && strips.count * strips.columns >= a.ncols();
  if (!covered || (strips.count > 1 && !strips.short_indices) ||
      (strips.short_indices && strips.columns > SellStrips::most_columns)) {
    fail(ErrorCode::usage,
         fmt::format("to_sell: {} strips of {} columns for {}; several have indices of 16 bits, which name 65,536",
                     strips.count, strips.columns, a.ncols()));
  }
}

}  // namespace

/// Makes a SellPattern, section by section: the rows of a window in a strip.
class SellBuilder {
 public:
  SellBuilder(const CsrPattern& a, const SellStrips& strips, const Device& device)
      : a_(a), device_(device), pieces_(a, strips, device) {
    sell_.nrows_ = a.nrows();
    sell_.ncols_ = a.ncols();
    sell_.nvals_ = a.nvals();
    sell_.strips_ = strips;
    sell_.window_rows_ = strips.count == 1 ? SellPattern::sort_window : SellPattern::strip_window;
    num_sections_ = (a.nrows() + sell_.window_rows_ - 1) / sell_.window_rows_ * strips.count;
  }

  SellPattern make() {
    place_sections();
    for_each_section([&](std::size_t section) { arrange(section); });
    const EdgeOffset places = exclusive_scan(device_, sell_.chunk_ptr_.span());
    const EdgeOffset long_entries = exclusive_scan(device_, sell_.long_ptr_.span());
    if (sell_.strips_.short_indices) {
      sell_.short_col_ind_ = Buffer<std::uint16_t>(places, device_);
      sell_.short_long_col_ind_ = Buffer<std::uint16_t>(long_entries, device_);
      fill(sell_.short_col_ind_.data(), sell_.short_long_col_ind_.data());
    } else {
      sell_.col_ind_ = Buffer<NodeId>(places, device_);
      sell_.long_col_ind_ = Buffer<NodeId>(long_entries, device_);
      fill(sell_.col_ind_.data(), sell_.long_col_ind_.data());
    }
    note_degrees();
    return std::move(sell_);
  }

 private:
  template <class Fn>
  void for_each_section(Fn&& fn) const {
    parallel_chunks(device_, num_sections_, 1, [&](Range sections) {
      for (std::size_t section = sections.begin; section < sections.end; ++section) fn(section);
    });
  }

  [[nodiscard]] std::size_t strip_of(std::size_t section) const { return section % sell_.strips_.count; }
  [[nodiscard]] Range rows_of(std::size_t section) const {
    const std::size_t begin = section / sell_.strips_.count * sell_.window_rows_;
    return {begin, std::min<std::size_t>(a_.nrows(), begin + sell_.window_rows_)};
  }
  [[nodiscard]] NodeId size(std::size_t row, std::size_t section) const { return pieces_.size(row, strip_of(section)); }

  void place_sections() {
    sell_.section_chunks_ = Buffer<std::size_t>(num_sections_ + 1, std::size_t{0}, device_);
    sell_.section_long_rows_ = Buffer<std::size_t>(num_sections_ + 1, std::size_t{0}, device_);
    for_each_section([&](std::size_t section) {
      const Range rows = rows_of(section);
      std::size_t count = 0;
      for (std::size_t i = rows.begin; i < rows.end; ++i) count += size(i, section) >= SellPattern::long_degree;
      sell_.section_long_rows_[section] = count;
      sell_.section_chunks_[section] = (rows.size() - count + lanes - 1) / lanes;
    });
    const std::size_t num_chunks = exclusive_scan(device_, sell_.section_chunks_.span());
    const std::size_t num_long = exclusive_scan(device_, sell_.section_long_rows_.span());
    sell_.rows_ = Buffer<NodeId>(num_chunks * lanes, device_);
    sell_.degrees_ = Buffer<NodeId>(num_chunks * lanes, device_);
    sell_.chunk_ptr_ = Buffer<EdgeOffset>(num_chunks + 1, EdgeOffset{0}, device_);
    sell_.long_rows_ = Buffer<NodeId>(num_long, device_);
    sell_.long_ptr_ = Buffer<EdgeOffset>(num_long + 1, EdgeOffset{0}, device_);
  }

  /// The short rows by falling degree, rows of one degree as they were; returns how many they are.
  std::size_t sort(std::size_t section, NodeId* order) const {
    const Range rows = rows_of(section);
    std::array<std::uint32_t, SellPattern::long_degree + 1> next{};
    const auto key = [&](std::size_t i) { return SellPattern::long_degree - 1 - size(i, section); };
    std::size_t count = 0;
    for (std::size_t i = rows.begin; i < rows.end; ++i) {
      if (size(i, section) >= SellPattern::long_degree) continue;
      ++next[key(i) + 1];
      ++count;
    }
    for (std::size_t d = 1; d < next.size(); ++d) next[d] += next[d - 1];
    for (std::size_t i = rows.begin; i < rows.end; ++i) {
      if (size(i, section) < SellPattern::long_degree) order[next[key(i)]++] = static_cast<NodeId>(i);
    }
    return count;
  }

  /// Which rows stand where, and how many places they take.
  void arrange(std::size_t section) {
    const std::size_t first = sell_.section_chunks_[section] * lanes;
    const std::size_t places = sell_.section_chunks_[section + 1] * lanes - first;
    const std::size_t num_short = sort(section, sell_.rows_.data() + first);
    std::fill_n(sell_.rows_.data() + first + num_short, places - num_short, a_.nrows());
    for (std::size_t n = first; n < first + places; ++n) {
      sell_.degrees_[n] = n < first + num_short ? size(sell_.rows_[n], section) : 0;
      if (n % lanes == 0) sell_.chunk_ptr_[n / lanes] = EdgeOffset{sell_.degrees_[n]} * lanes;
    }
    std::size_t next_long = sell_.section_long_rows_[section];
    const Range rows = rows_of(section);
    for (std::size_t i = rows.begin; i < rows.end; ++i) {
      if (size(i, section) < SellPattern::long_degree) continue;
      sell_.long_ptr_[next_long] = size(i, section);
      sell_.long_rows_[next_long++] = static_cast<NodeId>(i);
    }
  }

  /// Puts the entries of a chunk's rows side by side; places beyond a row's end are zero.
  template <class Index>
  void fill(Index* col_ind, Index* long_col_ind) const {
    for_each_section([&](std::size_t section) {
      const std::size_t strip = strip_of(section);
      const std::size_t first_column = strip * sell_.strips_.columns;
      const auto index = [&](NodeId column) { return static_cast<Index>(column - first_column); };
      for (std::size_t c = sell_.section_chunks_[section]; c < sell_.section_chunks_[section + 1]; ++c) {
        Index* const out = col_ind + sell_.chunk_ptr_[c];
        const std::size_t slots = (sell_.chunk_ptr_[c + 1] - sell_.chunk_ptr_[c]) / lanes;
        for (std::size_t lane = 0; lane < lanes; ++lane) {
          const NodeId degree = sell_.degrees_[c * lanes + lane];
          const NodeId* from = degree == 0 ? nullptr : pieces_.of(sell_.rows_[c * lanes + lane], strip).data();
          for (NodeId e = 0; e < degree; ++e) out[e * lanes + lane] = index(from[e]);
          for (std::size_t e = degree; e < slots; ++e) out[e * lanes + lane] = 0;
        }
      }
      for (std::size_t n = sell_.section_long_rows_[section]; n < sell_.section_long_rows_[section + 1]; ++n)
        std::ranges::transform(pieces_.of(sell_.long_rows_[n], strip), long_col_ind + sell_.long_ptr_[n], index);
    });
  }

  void note_degrees() {
    if (sell_.strips_.count == 1) return;
    sell_.row_degrees_ = Buffer<NodeId>(a_.nrows(), device_);
    NodeId longest = 0;
    for (NodeId i = 0; i < a_.nrows(); ++i) {
      sell_.row_degrees_[i] = static_cast<NodeId>(a_.row(i).size());
      longest = std::max(longest, sell_.row_degrees_[i]);
    }
    sell_.counter_bits_ = static_cast<unsigned>(std::bit_width(longest));
  }

  const CsrPattern& a_;
  const Device& device_;
  SellPattern sell_;
  Pieces pieces_;
  std::size_t num_sections_ = 0;
};

SellStrips SellStrips::of(NodeId nrows, NodeId ncols, EdgeOffset nvals) noexcept {
  constexpr std::size_t least_entries = 16;  // of a row in a strip: its counters are fetched and put back each time
  if (ncols <= most_columns) return {1, ncols, true};
  const std::size_t count = (ncols + most_columns - 1) / most_columns;
  if (nvals >= least_entries * count * nrows) return {count, most_columns, true};
  return {1, ncols, false};
}

std::size_t SellPattern::bytes() const noexcept {
  return rows_.bytes() + degrees_.bytes() + chunk_ptr_.bytes() + col_ind_.bytes() + short_col_ind_.bytes() +
         long_rows_.bytes() + long_ptr_.bytes() + long_col_ind_.bytes() + short_long_col_ind_.bytes() +
         section_chunks_.bytes() + section_long_rows_.bytes() + row_degrees_.bytes();
}

SellView SellPattern::view() const noexcept {
  const bool several = strips_.count > 1;
  return {.nrows = nrows_,
          .ncols = ncols_,
          .num_windows = (nrows_ + window_rows_ - 1) / window_rows_,
          .window_rows = window_rows_,
          .num_strips = strips_.count,
          .strip_columns = strips_.columns,
          .num_chunks = rows_.size() / lanes,
          .rows = rows_.data(),
          .degrees = degrees_.data(),
          .chunk_ptr = chunk_ptr_.data(),
          .col_ind = indices_of(!strips_.short_indices, col_ind_),
          .short_col_ind = indices_of(strips_.short_indices, short_col_ind_),
          .num_long_rows = long_rows_.size(),
          .long_rows = long_rows_.data(),
          .long_ptr = long_ptr_.data(),
          .long_col_ind = indices_of(!strips_.short_indices, long_col_ind_),
          .short_long_col_ind = indices_of(strips_.short_indices, short_long_col_ind_),
          .section_chunks = section_chunks_.data(),
          .section_long_rows = section_long_rows_.data(),
          .row_degrees = several ? row_degrees_.data() : nullptr,
          .counter_bits = counter_bits_};
}

SellPattern to_sell(const CsrPattern& a, const SellStrips& strips, const Device& device) {
  require_host(device, "to_sell");
  check(a, strips);
  return SellBuilder(a, strips, device).make();
}

SellPattern to_sell(const CsrPattern& a, const Device& device) {
  require_host(device, "to_sell");
  return to_sell(a, SellStrips::of(a.nrows(), a.ncols(), a.nvals()), device);
}

CsrPattern to_csr(const SellPattern& a, const Device& device) {
  require_host(device, "to_csr of a SellPattern");
  const SellView sell = a.view();
  Buffer<EdgeOffset> row_ptr(std::size_t{a.nrows()} + 1, EdgeOffset{0}, device);
  const auto for_each_window = [&](auto&& use) {
    parallel_chunks(device, sell.num_windows, 1, [&](Range windows) {
      for (std::size_t n = windows.begin * sell.num_strips; n < windows.end * sell.num_strips; ++n)
        for_each_piece(sell, n, use);
    });
  };
  for_each_window([&](NodeId row, const SellPiece& piece) { row_ptr[row] += piece.degree; });
  exclusive_scan(device, row_ptr.span());

  Buffer<NodeId> col_ind(a.nvals(), device);
  Buffer<EdgeOffset> next = row_ptr.clone();
  for_each_window([&](NodeId row, const SellPiece& piece) {
    for (NodeId e = 0; e < piece.degree; ++e) col_ind[next[row]++] = piece.column(e);
  });
  return {a.nrows(), a.ncols(), std::move(row_ptr), std::move(col_ind), trusted};
}

}  // namespace bitgraph
