// SPDX-License-Identifier: Apache-2.0
// Common entries of pairs of rows. The row of x is marked in a bit vector, and each row of b that the mask names is
// looked up there, as many columns at a time as a vector has lanes, or, where it is a bit row too, ANDed with it. Of
// tiles, the tile row of x is marked, and tiles that meet are compared row by row with AND and popcount.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/mxm/cpu/sum.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "formats/graph_views.hpp"
#include "ops/cpu_marks-inl.hpp"
#include "ops/mxm/cpu/kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// How much longer a row must be for its columns to be searched for instead of walked over.
constexpr std::size_t search_factor = cpu_mxm_tuning().search_factor;

bool contains(const NodeId* row, std::size_t size, NodeId column) {
  while (size > 1) {
    const std::size_t half = size / 2;
    if (row[half] <= column) row += half;
    size -= half;
  }
  return size == 1 && *row == column;
}

/// Bits that two rows of whole blocks share.
HWY_INLINE std::uint64_t count_both(const std::uint64_t* x, const std::uint64_t* y, std::size_t words) {
  const hn::CappedTag<std::uint64_t, long_row_block> d;
  auto counts = hn::Zero(d);
  for (std::size_t w = 0; w < words; w += hn::Lanes(d)) {
    counts = hn::Add(counts, hn::PopulationCount(hn::And(hn::LoadU(d, x + w), hn::LoadU(d, y + w))));
  }
  return hn::GetLane(hn::SumOfLanes(d, counts));
}

/// Whether they share one.
HWY_INLINE bool meet(const std::uint64_t* x, const std::uint64_t* y, std::size_t words) {
  const hn::CappedTag<std::uint64_t, long_row_block> d;
  for (std::size_t w = 0; w < words; w += hn::Lanes(d)) {
    if (!hn::AllFalse(d, hn::Ne(hn::And(hn::LoadU(d, x + w), hn::LoadU(d, y + w)), hn::Zero(d)))) return true;
  }
  return false;
}

struct Row {
  const NodeId* columns;
  std::size_t size;
};

HWY_INLINE Row row_of(const CsrPatternView& a, std::size_t i) {
  return {a.col_ind + a.row_ptr[i], static_cast<std::size_t>(a.row_ptr[i + 1] - a.row_ptr[i])};
}

/// Shorter rows are looked up one by one.
constexpr std::size_t vector_row = cpu_mxm_tuning().vector_row;

/// How many of the columns of x, which are marked, row j of b has, but for what is left in `counter`.
HWY_INLINE std::uint64_t count_pair(const MaskedSumArgs<CsrPatternView>& args, const Row& x, const std::uint64_t* marks,
                                    NodeId j, MarkCounter& counter) {
  const Row row = row_of(args.b, j);
  std::uint64_t found = 0;
  if (row.size < vector_row) {
    for (std::size_t n = 0; n < row.size; ++n) found += (marks[row.columns[n] / 64] >> (row.columns[n] % 64)) & 1U;
  } else if (row.size > search_factor * x.size) {
    for (std::size_t n = 0; n < x.size; ++n) found += contains(row.columns, row.size, x.columns[n]) ? 1U : 0U;
  } else if (args.b_long.place != nullptr && args.b_long.place[j] != 0) {
    found = count_both(marks, args.b_long.bits + (args.b_long.place[j] - 1) * args.b_long.words, args.b_long.words);
  } else {
    counter.add(row.columns, row.size);
  }
  return found;
}

/// Whether row j of b has a column of x, which are marked.
HWY_INLINE bool meets(const MaskedSumArgs<CsrPatternView>& args, const Row& x, const std::uint64_t* marks, NodeId j) {
  const Row row = row_of(args.b, j);
  if (row.size > search_factor * x.size) {
    for (std::size_t n = 0; n < x.size; ++n) {
      if (contains(row.columns, row.size, x.columns[n])) return true;
    }
    return false;
  }
  if (args.b_long.place != nullptr && args.b_long.place[j] != 0) {
    return meet(marks, args.b_long.bits + (args.b_long.place[j] - 1) * args.b_long.words, args.b_long.words);
  }
  return MarkCounter(marks).has_any(row.columns, row.size);
}

/// With `each`, the number of every entry is wanted.
template <bool each>
HWY_INLINE std::uint64_t sum_row(const MaskedSumArgs<CsrPatternView>& args, std::size_t i, std::uint64_t* marks) {
  const Row x = row_of(args.x, i);
  const Row rows = row_of(args.mask, i);
  if (x.size == 0 || rows.size == 0) return 0;
  constexpr std::size_t ahead = 4;
  MarkCounter counter(marks);
  std::uint64_t sum = 0;
  set_marks(marks, x.columns, x.size);
  for (std::size_t e = 0; e < rows.size; ++e) {
    if (e + 2 * ahead < rows.size) hwy::Prefetch(args.b.row_ptr + rows.columns[e + 2 * ahead]);
    if (e + ahead < rows.size) hwy::Prefetch(args.b.col_ind + args.b.row_ptr[rows.columns[e + ahead]]);
    if constexpr (each) {
      if (args.any) {
        args.counts[args.mask.row_ptr[i] + e] = meets(args, x, marks, rows.columns[e]) ? 1 : 0;
        continue;
      }
      MarkCounter own(marks);
      std::uint64_t found = count_pair(args, x, marks, rows.columns[e], own);
      if (found == 0) found = own.total();
      args.counts[args.mask.row_ptr[i] + e] = static_cast<std::uint32_t>(found);
      sum += found;
    } else {
      sum += count_pair(args, x, marks, rows.columns[e], counter);
    }
  }
  clear_marks(marks, x.columns, x.size);
  return sum + counter.total();
}

std::uint64_t sum_csr_rows(const MaskedSumArgs<CsrPatternView>& args, std::size_t begin, std::size_t end,
                           std::uint64_t* marks) {
  std::uint64_t sum = 0;
  if (args.counts != nullptr) {
    for (std::size_t i = begin; i < end; ++i) sum += sum_row<true>(args, i, marks);
  } else {
    for (std::size_t i = begin; i < end; ++i) sum += sum_row<false>(args, i, marks);
  }
  return sum;
}

/// Row r of a tile.
template <int K>
HWY_INLINE std::uint64_t tile_row(const BitTileView<K>& a, EdgeOffset t, std::size_t r) {
  if constexpr (K == 4) {
    return (static_cast<unsigned>(a.bit_tiles[t]) >> (4 * r)) & 0xFU;
  } else {
    return a.bit_tiles[t * K + r];
  }
}

/// Row r of the tile t of x with those rows of the tile s of b whose bits are set in `rows`.
template <int K>
HWY_INLINE std::uint64_t common_bits(std::uint64_t x_row, const BitTileView<K>& b, EdgeOffset s, std::uint64_t rows) {
  std::uint64_t sum = 0;
  if constexpr (K >= 32) {
    if (hwy::PopCount(rows) > 8) {  // all rows at once, those not asked for masked away
      const hn::CappedTag<TileWord<K>, K> d;
      const auto x = hn::Set(d, static_cast<TileWord<K>>(x_row));
      auto counts = hn::Zero(d);
      for (std::size_t r = 0; r < K; r += hn::Lanes(d)) {
        const std::uint64_t bits = rows >> r;
        const auto mask = hn::LoadMaskBits(d, reinterpret_cast<const std::uint8_t*>(&bits));
        const auto both = hn::And(x, hn::LoadU(d, b.bit_tiles + s * K + r));
        counts = hn::Add(counts, hn::IfThenElseZero(mask, hn::PopulationCount(both)));
      }
      return static_cast<std::uint64_t>(hn::GetLane(hn::SumOfLanes(d, counts)));
    }
  }
  for (; rows != 0; rows &= rows - 1) {
    sum += hwy::PopCount(x_row & tile_row(b, s, hwy::Num0BitsBelowLS1Bit_Nonzero64(rows)));
  }
  return sum;
}

template <int K>
HWY_INLINE std::uint64_t sum_tile_row(const MaskedSumArgs<BitTileView<K>>& args, std::size_t i, std::uint64_t* places) {
  const EdgeOffset x_begin = args.x.tile_row_ptr[i];
  const EdgeOffset x_end = args.x.tile_row_ptr[i + 1];
  if (x_begin == x_end) return 0;
  for (EdgeOffset t = x_begin; t < x_end; ++t) places[args.x.tile_col_ind[t]] = t + 1;
  std::uint64_t sum = 0;
  for (EdgeOffset m = args.mask.tile_row_ptr[i]; m < args.mask.tile_row_ptr[i + 1]; ++m) {
    const NodeId j = args.mask.tile_col_ind[m];
    for (EdgeOffset s = args.b.tile_row_ptr[j]; s < args.b.tile_row_ptr[j + 1]; ++s) {
      const EdgeOffset place = places[args.b.tile_col_ind[s]];
      if (place == 0) continue;
      for (std::size_t r = 0; r < K; ++r) {
        const std::uint64_t x_row = tile_row(args.x, place - 1, r);
        const std::uint64_t rows = tile_row(args.mask, m, r);
        if (x_row != 0 && rows != 0) sum += common_bits(x_row, args.b, s, rows);
      }
    }
  }
  for (EdgeOffset t = x_begin; t < x_end; ++t) places[args.x.tile_col_ind[t]] = 0;
  return sum;
}

template <int K>
HWY_INLINE std::uint64_t sum_tile_rows(const MaskedSumArgs<BitTileView<K>>& args, std::size_t begin, std::size_t end,
                                       std::uint64_t* places) {
  std::uint64_t sum = 0;
  for (std::size_t i = begin; i < end; ++i) sum += sum_tile_row<K>(args, i, places);
  return sum;
}

/// One kernel an instruction set for all sides: `args` are MaskedSumArgs<BitTileView<side>>.
std::uint64_t sum_tiles(int side, const void* args, std::size_t begin, std::size_t end, std::uint64_t* places) {
  const auto run = [&](auto k) HWY_ATTR {
    return sum_tile_rows<k()>(*static_cast<const MaskedSumArgs<BitTileView<k()>>*>(args), begin, end, places);
  };
  switch (side) {
    case 4: return run(std::integral_constant<int, 4>{});
    case 8: return run(std::integral_constant<int, 8>{});
    case 16: return run(std::integral_constant<int, 16>{});
    case 32: return run(std::integral_constant<int, 32>{});
    default: return run(std::integral_constant<int, 64>{});
  }
}

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bitgraph::mxm_cpu {
namespace {
HWY_EXPORT(sum_csr_rows);
HWY_EXPORT(sum_tiles);
}  // namespace

std::uint64_t sum_rows(const MaskedSumArgs<CsrPatternView>& args, std::size_t begin, std::size_t end,
                       std::size_t workspace) {
  return HWY_DYNAMIC_DISPATCH(sum_csr_rows)(args, begin, end, args.marks + workspace * args.marks_each);
}

template <int K>
std::uint64_t sum_rows(const MaskedSumArgs<BitTileView<K>>& args, std::size_t begin, std::size_t end,
                       std::size_t workspace) {
  return HWY_DYNAMIC_DISPATCH(sum_tiles)(K, &args, begin, end, args.marks + workspace * args.marks_each);
}

namespace {

[[gnu::used]] constexpr auto instances = for_types(TileViews(), [](auto type) {
  using Graph = TypeOf<decltype(type)>;
  return static_cast<std::uint64_t (*)(const MaskedSumArgs<Graph>&, std::size_t, std::size_t, std::size_t)>(&sum_rows);
});

}  // namespace

}  // namespace bitgraph::mxm_cpu
#endif  // HWY_ONCE
