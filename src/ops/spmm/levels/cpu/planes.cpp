// SPDX-License-Identifier: Apache-2.0
// Sums of levels of two bits in planes over neighbours, levels of two bits in planes out. A vector has pieces of a row
// of X: words of lower bits and of upper bits side by side. Carry-save adders count the bits of all columns at once,
// two instructions a neighbour; the counts of upper bits are then added to those of lower bits, one place higher.
//
// What a sum becomes depends on its column, and on the row's number of neighbours and scale, which rows of one length
// mostly have in common: such rows have thresholds (plane_table.hpp), and no sum becomes a number. A row of another
// scale, and one of more neighbours, has its sums as numbers.
//
// Rows of one length are added side by side, as many as a vector has room for, and the processor foresees where they
// end. Where X lies in a core's cache they come from all over the graph, else from a block of rows that follow.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/spmm/levels/cpu/planes.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "core/threads/parallel.hpp"
#include "ops/cpu_levels-inl.hpp"
#include "ops/spmm/cpu/vote-inl.hpp"
#include "ops/spmm/levels/cpu/plane_table.hpp"
#include "ops/spmm/levels/levels.hpp"

#include <bit>
#include <optional>
#include <span>

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t piece_words = PlaneTable::piece_words;

#if HWY_TARGET == HWY_SCALAR

void sum_planes(const LevelSpmmArgs& args, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) level_spmm_row(args, static_cast<NodeId>(i));
}

#else

/// Pieces that a vector has at most, and rows that it has room for where they have fewer.
constexpr std::size_t most_pieces = HWY_MIN(HWY_LANES(std::uint64_t), 8) / piece_words;
template <std::size_t pieces>
constexpr std::size_t rows_together = most_pieces / pieces;

/// Rows of more neighbours are counted in parts.
constexpr std::size_t most_slices = 10, most_counted = (std::size_t{1} << most_slices) - 1;

/// Rows that are sorted by their length where X does not lie in a core's cache.
constexpr std::size_t block_rows = 256;
/// Bytes of X beyond which its rows are asked for so many entries of A ahead. Rows of A then come as they are.
constexpr std::size_t prefetched_bytes = std::size_t{3} << 20;
constexpr std::size_t prefetched_entries = 32;

/// Loads `pieces` pieces of the rows of X of one neighbour each of `rows` rows; `prefetches`: of one row, and asks for
/// what it will load so many entries later.
template <std::size_t pieces, std::size_t rows, bool prefetches = false>
struct NeighborPieces {
  static_assert(rows == 1 || !prefetches);
  const NodeId* neighbors[rows];
  const std::uint64_t* x;
  std::size_t row_words;

  HWY_INLINE const std::uint64_t* row_of(NodeId j) const { return x + std::size_t{j} * row_words; }
  HWY_INLINE auto operator()(std::size_t e) const {
    if constexpr (prefetches) hwy::Prefetch(row_of(neighbors[0][e + prefetched_entries]));
    return load_rows<pieces * piece_words, rows>([&](std::size_t r) HWY_ATTR { return row_of(neighbors[r][e]); });
  }
};

/// The planes of the sums, in the words of lower and of upper bits alike. S bits hold the count of neighbours.
template <std::size_t S, class Loader, class V>
HWY_INLINE void sum_neighbors(const Loader& neighbor, std::size_t length, V (&sums)[S + 2]) {
  const hn::DFromV<V> d;
  V slices[S];
  count_bits(neighbor, length, slices);
  V carry = hn::Zero(d);
  sums[0] = hn::InterleaveLower(d, slices[0], slices[0]);
  for (std::size_t k = 1; k < S; ++k) {
    sums[k] = hn::InterleaveLower(d, slices[k], slices[k]);
    carry = full_add(sums[k], hn::InterleaveUpper(d, slices[k - 1], slices[k - 1]), carry);
  }
  const V last = hn::InterleaveUpper(d, slices[S - 1], slices[S - 1]);
  sums[S] = hn::Xor(last, carry);
  sums[S + 1] = hn::And(last, carry);
}

/// The same words for each of `rows` rows.
template <std::size_t pieces, std::size_t rows>
HWY_INLINE auto repeated(const std::uint64_t* words) {
  if constexpr (pieces == 1 && rows > 1) {
    return hn::LoadDup128(Lanes<piece_words, rows>(), words);
  } else {
    return load_rows<pieces * piece_words, rows>([&](std::size_t) HWY_ATTR { return words; });
  }
}

template <std::size_t rows, class V>
HWY_INLINE void store_rows(V v, std::uint64_t* const* to) {
  if constexpr (rows == 1) {
    hn::StoreU(v, hn::DFromV<V>(), *to);
  } else {
    const hn::Half<hn::DFromV<V> > half;
    store_rows<rows / 2>(hn::LowerHalf(half, v), to);
    store_rows<rows / 2>(hn::UpperHalf(half, v), to + rows / 2);
  }
}

/// Rows of one length, by thresholds. `table` has the first part of the lowest plane, `part` words before the second.
template <std::size_t S, std::size_t pieces, std::size_t rows, class Loader>
HWY_INLINE void store_levels_of(const Loader& neighbor, std::size_t length, const std::uint64_t* table,
                                std::size_t part, std::uint64_t* const (&to)[rows]) {
  using V = hn::Vec<Lanes<pieces * piece_words, rows> >;
  V sums[S + 2];
  sum_neighbors<S>(neighbor, length, sums);
  V reaches = hn::Set(hn::DFromV<V>(), ~std::uint64_t{0}), reaches_last = reaches;  // levels 1 and 2; 3 and 2
  for (std::size_t p = 0; p < S + 2; ++p) {
    reaches = majority(sums[p], repeated<pieces, rows>(table + 2 * p * part), reaches);
    reaches_last = majority(sums[p], repeated<pieces, rows>(table + (2 * p + 1) * part), reaches_last);
  }
  // Lower bits: 1 but not 2, or 3. Upper bits: 2.
  store_rows<rows>(hn::Or(hn::AndNot(hn::Shuffle01(reaches), reaches), reaches_last), to);
}

/// Pieces of rows whose sums become numbers.
template <std::size_t pieces>
class NumberedRows {
 public:
  NumberedRows(const LevelSpmmArgs& args, std::size_t first_piece) : args_(args), first_piece_(first_piece) {}

  template <class Loader>
  HWY_NOINLINE void add(std::size_t i, const Loader& neighbor, std::size_t length) {
    if (!slice_)
      slice_.emplace(args_, args_.x.ncols, first_piece_ * plane_piece_columns, columns,
                     [](std::size_t n) { return n; });
    HWY_ALIGN std::uint16_t sums[columns];
    number(neighbor, HWY_MIN(length, most_counted), sums);
    if (length <= most_counted) return finish_sums(args_, *slice_, i, length, sums);
    HWY_ALIGN std::int32_t totals[columns];
    for (std::size_t c = 0; c < columns; ++c) totals[c] = sums[c];
    for (std::size_t at = most_counted; at < length; at += most_counted) {
      const Loader rest{{neighbor.neighbors[0] + at}, neighbor.x, neighbor.row_words};
      number(rest, HWY_MIN(length - at, most_counted), sums);
      for (std::size_t c = 0; c < columns; ++c) totals[c] += sums[c];
    }
    finish_sums(args_, *slice_, i, length, totals);
  }

 private:
  static constexpr std::size_t columns = pieces * plane_piece_columns;

  /// sums[c], of 16 bits, of up to most_counted neighbours.
  template <class Loader>
  static HWY_INLINE void number(const Loader& neighbor, std::size_t length, std::uint16_t* sums) {
    constexpr std::size_t planes = most_slices + 2;
    const hn::CappedTag<std::uint16_t, 32> words;
    const Lanes<pieces * piece_words, 1> d;
    hn::Vec<Lanes<pieces * piece_words, 1> > of_planes[planes];
    sum_neighbors<most_slices>(neighbor, length, of_planes);
    HWY_ALIGN std::uint64_t bits[planes][pieces * piece_words];
    for (std::size_t p = 0; p < planes; ++p) hn::Store(of_planes[p], d, bits[p]);
    for (std::size_t c = 0; c < columns; c += hn::Lanes(words)) {
      auto total = hn::Zero(words);
      for (std::size_t p = 0; p < planes; ++p) {
        const std::uint64_t word = bits[p][c / 64 * piece_words] >> (c % 64);
        const auto is_set = hn::LoadMaskBits(words, reinterpret_cast<const std::uint8_t*>(&word));
        total = hn::Add(total, hn::IfThenElseZero(is_set, hn::Set(words, static_cast<std::uint16_t>(1U << p))));
      }
      hn::StoreU(total, words, sums + c);
    }
  }

  const LevelSpmmArgs& args_;
  std::size_t first_piece_;
  std::optional<SumSlice> slice_;
};

/// `pieces` pieces of rows; `alone`: they have no more.
template <std::size_t pieces, bool alone>
class PieceSums {
 public:
  PieceSums(const LevelSpmmArgs& args, std::size_t first_piece)
      : args_(args),
        numbered_(args, first_piece),
        row_ptr_(args.a.row_ptr),
        col_ind_(args.a.col_ind),
        part_(args.x.row_bytes / sizeof(std::uint64_t)),
        x_(reinterpret_cast<const std::uint64_t*>(args.x.data) + first_piece * piece_words),
        out_(reinterpret_cast<std::uint64_t*>(args.out.levels.data) + first_piece * piece_words),
        known_(args),
        table_(args.planes.data() + first_piece * piece_words) {}

  /// Rows in the order of their length.
  HWY_INLINE void add_in_order(std::span<const NodeId> order) {
    constexpr std::size_t together = rows_together<pieces>;
    std::size_t n = 0;
    for (; n + together <= order.size(); n += together) {
      const std::size_t length = length_of(order[n]);
      bool alike = length == length_of(order[n + together - 1]);
      for (std::size_t r = 0; r < together; ++r) alike = alike && known_.of(order[n + r], length) != nullptr;
      if (HWY_LIKELY(alike)) {
        add_alike<NeighborPieces<pieces, together>, together>(&order[n], length, known_.of(order[n], length)->first);
      } else {
        for (std::size_t r = 0; r < together; ++r) add_one<NeighborPieces<pieces, 1> >(order[n + r]);
      }
    }
    for (; n < order.size(); ++n) add_one<NeighborPieces<pieces, 1> >(order[n]);
  }

  /// Rows as they are, with rows of X asked for ahead.
  HWY_INLINE void add_range(std::size_t begin, std::size_t end) {
    const EdgeOffset entries = row_ptr_[args_.a.nrows];
    std::size_t i = begin;
    for (; i < end && row_ptr_[i + 1] + prefetched_entries <= entries; ++i)
      add_one<NeighborPieces<pieces, 1, true> >(static_cast<NodeId>(i));
    for (; i < end; ++i) add_one<NeighborPieces<pieces, 1> >(static_cast<NodeId>(i));
  }

 private:
  HWY_INLINE std::size_t length_of(NodeId i) const { return static_cast<std::size_t>(row_ptr_[i + 1] - row_ptr_[i]); }
  HWY_INLINE std::size_t row_words() const { return alone ? pieces * piece_words : part_; }

  template <class Loader, std::size_t rows>
  HWY_INLINE void add_alike(const NodeId* row, std::size_t length, std::size_t first) const {
    Loader neighbor;
    neighbor.x = x_, neighbor.row_words = row_words();
    std::uint64_t* to[rows];
    for (std::size_t r = 0; r < rows; ++r) {
      neighbor.neighbors[r] = col_ind_ + row_ptr_[row[r]];
      to[r] = out_ + row[r] * row_words();
    }
    const std::uint64_t* const table = table_ + first;
    switch (count_bits_of(length)) {
      case 2: return store_levels_of<2, pieces>(neighbor, length, table, row_words(), to);
      case 3: return store_levels_of<3, pieces>(neighbor, length, table, row_words(), to);
      case 4: return store_levels_of<4, pieces>(neighbor, length, table, row_words(), to);
      case 5: return store_levels_of<5, pieces>(neighbor, length, table, row_words(), to);
      case 6: return store_levels_of<6, pieces>(neighbor, length, table, row_words(), to);
      case 7: return store_levels_of<7, pieces>(neighbor, length, table, row_words(), to);
      default: return store_levels_of<8, pieces>(neighbor, length, table, row_words(), to);
    }
  }

  template <class Loader>
  HWY_INLINE void add_one(NodeId i) {
    const std::size_t length = length_of(i);
    const PlaneTable::Rows* const its = known_.of(i, length);
    if (HWY_LIKELY(its != nullptr)) return add_alike<Loader, 1>(&i, length, its->first);
    numbered_.add(i, Loader{{col_ind_ + row_ptr_[i]}, x_, row_words()}, length);
  }

  const LevelSpmmArgs& args_;
  NumberedRows<pieces> numbered_;
  // What every row needs.
  const EdgeOffset* row_ptr_;
  const NodeId* col_ind_;
  std::size_t part_;  ///< words of a row
  const std::uint64_t* x_;
  std::uint64_t* out_;
  KnownRows known_;
  const std::uint64_t* table_;
};

template <std::size_t pieces, bool alone>
HWY_NOINLINE void sum_pieces(const LevelSpmmArgs& args, std::span<const NodeId> order, std::size_t first) {
  PieceSums<pieces, alone>(args, first).add_in_order(order);
}
template <std::size_t pieces, bool alone>
HWY_NOINLINE void sum_pieces(const LevelSpmmArgs& args, Range rows, std::size_t first) {
  PieceSums<pieces, alone>(args, first).add_range(rows.begin, rows.end);
}

/// All pieces of such rows from `first` on, as many at a time as a vector has.
template <std::size_t pieces, class Rows>
HWY_INLINE void sum_all_pieces(const LevelSpmmArgs& args, const Rows& rows, std::size_t first = 0) {
  const std::size_t all = args.x.row_bytes / plane_piece_bytes;
  if (all == pieces) return sum_pieces<pieces, true>(args, rows, first);
  for (; first + pieces <= all; first += pieces) sum_pieces<pieces, false>(args, rows, first);
  if constexpr (pieces > 1) sum_all_pieces<pieces / 2>(args, rows, first);
}

/// Rows begin .. end by rising length, those of one length as they come.
HWY_INLINE void sort_block(const LevelSpmmArgs& args, std::size_t begin, std::size_t end, NodeId* order) {
  constexpr std::size_t places = PlaneTable::lengths + 1;
  std::uint16_t first[places + 1] = {};
  const auto place_of = [&](std::size_t i) {
    return HWY_MIN(static_cast<std::size_t>(args.a.row_ptr[i + 1] - args.a.row_ptr[i]), places - 1);
  };
  for (std::size_t i = begin; i < end; ++i) ++first[place_of(i) + 1];
  for (std::size_t p = 0; p < places; ++p) first[p + 1] = static_cast<std::uint16_t>(first[p + 1] + first[p]);
  for (std::size_t i = begin; i < end; ++i) order[first[place_of(i)]++] = static_cast<NodeId>(i);
}

void sum_planes(const LevelSpmmArgs& args, std::size_t begin, std::size_t end) {
  if (lies_in_cache(args.x))
    return sum_all_pieces<most_pieces>(args, std::span(args.row_order.row + begin, end - begin));
  if (args.x.nrows * args.x.row_bytes > prefetched_bytes) return sum_all_pieces<most_pieces>(args, Range{begin, end});
  for (std::size_t first = begin; first < end; first += block_rows) {
    NodeId order[block_rows];
    const std::size_t count = HWY_MIN(block_rows, end - first);
    sort_block(args, first, first + count, order);
    sum_all_pieces<most_pieces>(args, std::span<const NodeId>(order, count));
  }
}

#endif

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "ops/spmm/levels/planes.hpp"

#include <vector>

namespace bitgraph {

namespace {

HWY_EXPORT(sum_planes);

constexpr std::uint32_t most_level = 3;

/// Those of rows of `length` neighbours that have the scales of `row`, from word `first` of the table on.
void find_thresholds(const LevelSpmmArgs& args, const PlaneTable& table, std::size_t row, std::size_t length,
                     std::uint32_t first) {
  table.rows()[length] = {ScalesOfRow::of(args, row), first};
  const std::size_t part = table.row_words(), planes = sum_bits_of(length);
  std::uint64_t* const words = table.words() + first;
  std::fill_n(words, planes * 2 * part, ~std::uint64_t{0});
  for (std::size_t column = 0; column < args.x.ncols; ++column) {
    const LevelOfSum level_of(args, row, length, column);
    std::size_t least[most_level];
    for (std::uint32_t k = 0; k < most_level; ++k)
      least[k] = level_of.least_sum(k + 1, k == 0 ? 0 : least[k - 1], most_level * length + 1);
    const std::size_t lower = column / 64 * PlaneTable::piece_words, upper = lower + 1;
    const std::uint64_t bit = std::uint64_t{1} << column % 64;
    const auto put = [&](std::size_t sum, std::size_t word) {
      for (std::size_t p = 0; p < planes; ++p) {
        if ((sum >> p & 1U) != 0) words[2 * p * part + word] &= ~bit;
      }
    };
    put(least[0], lower), put(least[2], part + lower), put(least[1], upper), put(least[1], part + upper);
  }
}

}  // namespace

void level_spmm_prepare(const Cpu& backend, const LevelSpmmArgs& args) {
  const PlaneTable table(args);
  const std::vector<NodeId> row_of = rows_of_lengths(args, PlaneTable::lengths);
  const auto places = table.places();
  parallel_for(backend.device, PlaneTable::lengths, 1, [&](std::size_t length) {
    table.rows()[length] = {};
    if (row_of[length] != no_row) find_thresholds(args, table, row_of[length], length, places[length]);
  });
}

void level_spmm_by_planes(const Cpu& backend, const LevelSpmmArgs& args) {
  if (!args.prepared) level_spmm_prepare(backend, args);
  parallel_chunks(backend.device, args.a.nrows, level_spmm_chunk(backend.device, args.a.nrows), [&](Range rows) {
    HWY_DYNAMIC_DISPATCH(sum_planes)(args, rows.begin, rows.end);
  });
}

}  // namespace bitgraph
#endif  // HWY_ONCE
