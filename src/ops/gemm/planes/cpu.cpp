// SPDX-License-Identifier: Apache-2.0
// Products of bit planes by popcounts. Two words of a row of A are repeated across a vector and meet the two words that
// a slab of X has of each column: a vector has as many columns as it has pairs of words. Counts stay in the lanes until
// a plane of A has met a plane of X.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/gemm/planes/cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/cpu_levels-inl.hpp"
#include "ops/gemm/planes/row_pairs.hpp"

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t block_rows = 4;  ///< whose counts are in registers together
constexpr std::size_t slab_words = BitPlanesView<>::slab_words;

#if HWY_TARGET == HWY_SCALAR

/// Of one column.
void multiply_columns(const PlaneGemmArgs& args, const RowPairs& pairs, std::size_t row, std::size_t rows,
                      std::size_t column, std::uint64_t* sums) {
  for (std::size_t r = 0; r < rows; ++r) {
    sums[r] = 0;
    for (int p = 0; p < pairs.planes; ++p) {
      const std::uint64_t* const a = pairs.of(row + r, p);
      for (int q = 0; q < args.x.bits; ++q) {
        std::uint64_t count = 0;
        for (std::size_t s = 0; s < pairs.slabs.size(); ++s) {
          const std::uint64_t* const x = args.x.column(pairs.slabs[s], q, column);
          for (std::size_t w = 0; w < slab_words; ++w) count += hwy::PopCount(a[s * slab_words + w] & x[w]);
        }
        sums[r] += count << (p + q);
      }
    }
  }
}
constexpr std::size_t columns_at_once = 1;

#else

constexpr std::size_t most_lanes = HWY_MIN(HWY_LANES(std::uint64_t), 8);
using Words = hn::CappedTag<std::uint64_t, 8>;
constexpr std::size_t columns_at_once = most_lanes / slab_words;
static_assert(BitPlanesView<>::octet_columns % columns_at_once == 0);

/// The sums of so many rows from `row` on, and of the columns of a vector: sums[r][column].
template <std::size_t rows>
HWY_INLINE void multiply_rows(const PlaneGemmArgs& args, const RowPairs& pairs, std::size_t row, std::size_t column,
                              std::uint64_t* sums) {
  const Words d;
  hn::Vec<Words> total[rows];
  for (auto& each : total) each = hn::Zero(d);
  for (int p = 0; p < pairs.planes; ++p) {
    const std::uint64_t* a[rows];
    for (std::size_t r = 0; r < rows; ++r) a[r] = pairs.of(row + r, p);
    for (int q = 0; q < args.x.bits; ++q) {
      hn::Vec<Words> count[rows];
      for (auto& each : count) each = hn::Zero(d);
      for (std::size_t s = 0; s < pairs.slabs.size(); ++s) {
        const auto x = hn::LoadU(d, args.x.column(pairs.slabs[s], q, column));
        for (std::size_t r = 0; r < rows; ++r) {
          const auto both = hn::And(x, hn::LoadDup128(d, a[r] + s * slab_words));
          count[r] = hn::Add(count[r], hn::PopulationCount(both));
        }
      }
      for (std::size_t r = 0; r < rows; ++r) total[r] = hn::Add(total[r], hn::ShiftLeftSame(count[r], p + q));
    }
  }
  HWY_ALIGN std::uint64_t lanes[most_lanes];
  for (std::size_t r = 0; r < rows; ++r) {
    hn::Store(total[r], d, lanes);
    for (std::size_t c = 0; c < columns_at_once; ++c)
      sums[r * columns_at_once + c] = lanes[c * slab_words] + lanes[c * slab_words + 1];
  }
}

void multiply_columns(const PlaneGemmArgs& args, const RowPairs& pairs, std::size_t row, std::size_t rows,
                      std::size_t column, std::uint64_t* sums) {
  if (rows == block_rows) return multiply_rows<block_rows>(args, pairs, row, column, sums);
  for (std::size_t r = 0; r < rows; ++r) multiply_rows<1>(args, pairs, row + r, column, sums + r * columns_at_once);
}

#endif

/// put(row of the chunk, column, sum) of columns first .. last - 1. Columns are the outer loop: their slabs stay in the
/// first cache for all rows.
template <class Put>
void for_each_sum(const PlaneGemmArgs& args, const RowPairs& pairs, std::size_t rows, std::size_t first,
                  std::size_t last, const Put& put) {
  std::uint64_t sums[block_rows * columns_at_once];
  for (std::size_t j = first; j < last; j += columns_at_once) {
    const std::size_t columns = std::min(columns_at_once, last - j);
    for (std::size_t r = 0; r < rows; r += block_rows) {
      const std::size_t count = std::min(block_rows, rows - r);
      multiply_columns(args, pairs, r, count, j, sums);
      for (std::size_t n = 0; n < count * columns; ++n)
        put(r + n / columns, j + n % columns, sums[n / columns * columns_at_once + n % columns]);
    }
  }
}

/// Sums of the rows of a chunk as they are.
void multiply_chunk(const PlaneGemmArgs& args, const RowPairs& pairs, Range rows) {
  for_each_sum(args, pairs, rows.size(), 0, args.x.ncols, [&](std::size_t r, std::size_t column, std::uint64_t sum) {
    if (args.out.sums.data != nullptr) {
      args.out.sums(rows.begin + r, column) = static_cast<std::int32_t>(sum);
    } else {
      args.out.wide_sums(rows.begin + r, column) = static_cast<std::int64_t>(sum);
    }
  });
}

constexpr std::size_t slice_columns = 64;  ///< whose sums are there before they end
static_assert(slice_columns <= slice_outputs && slice_columns % 2 == 0 && slice_columns % columns_at_once == 0);

/// Sums over neighbours of the rows of a chunk, and their end.
template <class Total>
void aggregate_chunk(const PlaneGemmArgs& args, const RowPairs& pairs, Range rows) {
  std::size_t neighbors[RowPairs::chunk_rows] = {};
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const std::uint64_t* const words = pairs.of(r, 0);
    for (std::size_t w = 0; w < pairs.plane_words(); ++w) neighbors[r] += hwy::PopCount(words[w]);
  }
  HWY_ALIGN Total sums[RowPairs::chunk_rows * slice_columns] = {};
  for (std::size_t first = 0; first < args.x.ncols; first += slice_columns) {
    const SumSlice slice(args, args.x.ncols, first, slice_columns, [](std::size_t n) { return n; });
    for_each_sum(args, pairs, rows.size(), first, first + slice.columns,
                 [&](std::size_t r, std::size_t column, std::uint64_t sum) {
                   sums[r * slice_columns + column - first] = static_cast<Total>(sum);
                 });
    for (std::size_t r = 0; r < rows.size(); ++r)
      finish_sums(args, slice, rows.begin + r, neighbors[r], sums + r * slice_columns);
  }
}

/// Chunks of rows.
void multiply_planes(const PlaneGemmArgs& args, std::size_t begin, std::size_t end) {
  RowPairs pairs;
  for (std::size_t c = begin; c < end; ++c) {
    const Range rows{c * RowPairs::chunk_rows, std::min((c + 1) * RowPairs::chunk_rows, args.a.nrows)};
    pairs.take(args, rows);
    if (!args.ends()) {
      multiply_chunk(args, pairs, rows);
    } else if (args.wide) {
      aggregate_chunk<std::int64_t>(args, pairs, rows);
    } else {
      aggregate_chunk<std::int32_t>(args, pairs, rows);
    }
  }
}

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bitgraph {

namespace {
HWY_EXPORT(multiply_planes);
}

void plane_gemm(const Cpu& backend, const PlaneGemmArgs& args) {
  const std::size_t chunks = (args.a.nrows + RowPairs::chunk_rows - 1) / RowPairs::chunk_rows;
  parallel_ranges(backend.device, chunks, 1, [&](Range mine) {
    HWY_DYNAMIC_DISPATCH(multiply_planes)(args, mine.begin, mine.end);
  });
}

}  // namespace bitgraph
#endif  // HWY_ONCE
