// SPDX-License-Identifier: Apache-2.0
// mxv with x of bits over pattern CSR. It goes through all entries of a strip of rows, a vector of entries at a time:
// it tests the bit of x of each entry's column, and stores the result as one bit an entry (a hit). A row then reads the
// hits of its own entries. Included once for each instruction set (Highway's convention: the guard toggles).
#if defined(BITGRAPH_OPS_MXV_CPU_BIT_ROWS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef BITGRAPH_OPS_MXV_CPU_BIT_ROWS_INL_HPP
#undef BITGRAPH_OPS_MXV_CPU_BIT_ROWS_INL_HPP
#else
#define BITGRAPH_OPS_MXV_CPU_BIT_ROWS_INL_HPP
#endif

#include <hwy/highway.h>

#include "ops/mxv/cpu/strip-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

/// One bit for each entry that was tested, and 16 bytes more, because whole words are read.
struct Hits {
  static constexpr std::size_t capacity = cpu_mxv_tuning().tested_entries;
  std::uint8_t bytes[capacity / 8 + 16];

  /// The bits from `at` on; at least 57 of the word are valid.
  HWY_INLINE std::uint64_t from(std::size_t at) const {
    std::uint64_t word;
    hwy::CopyBytes<sizeof(word)>(bytes + at / 8, &word);
    return word >> (at % 8);
  }
  HWY_INLINE std::uint64_t part(std::size_t at, std::size_t size) const {
    return from(at) & ((std::uint64_t{1} << size) - 1);
  }
  HWY_INLINE bool any(std::size_t begin, std::size_t end) const {
    for (; begin + 56 < end; begin += 56) {
      if (part(begin, 56) != 0) return true;
    }
    return part(begin, end - begin) != 0;
  }
  HWY_INLINE std::uint32_t count(std::size_t begin, std::size_t end) const {
    int total = 0;
    for (; begin + 56 < end; begin += 56) total += __builtin_popcountll(part(begin, 56));
    return static_cast<std::uint32_t>(total + __builtin_popcountll(part(begin, end - begin)));
  }
};

/// Tests n entries, at most `Most` in one vector. It reads x as words of 32 bits, which needs a little-endian
/// processor; all targets of Highway are.
template <std::size_t Most = 16>
HWY_INLINE void test_entries(const NodeId* cols, std::size_t n, const std::uint64_t* x, Hits& hits) {
  constexpr std::size_t N = HWY_MIN(HWY_LANES(std::uint32_t), Most);
  const hn::CappedTag<std::uint32_t, N> d;
  std::size_t e = 0;
  if constexpr (N >= 8) {
    const hn::RebindToSigned<decltype(d)> di;
    const auto* words = reinterpret_cast<const std::uint32_t*>(x);
    const auto test = [&](auto columns) HWY_ATTR {
      const auto bits = hn::GatherIndex(d, words, hn::BitCast(di, hn::ShiftRight<5>(columns)));
      const auto bit = hn::Shl(hn::Set(d, 1U), hn::And(columns, hn::Set(d, 31U)));
      hn::StoreMaskBits(d, hn::TestBit(bits, bit), hits.bytes + e / 8);
    };
    for (; e + N <= n; e += N) test(hn::LoadU(d, cols + e));
    if (masked_memory && e < n) {
      test(hn::MaskedLoad(hn::FirstN(d, n - e), d, cols + e));
      return;
    }
  }
  const BitVectorView<> vector{0, x};
  for (; e < n; e += 8) {
    unsigned byte = 0;
    for (std::size_t k = 0; k < 8 && e + k < n; ++k) byte |= static_cast<unsigned>(vector.bit(cols[e + k])) << k;
    hits.bytes[e / 8] = static_cast<std::uint8_t>(byte);
  }
}

using RowLanes = hn::CappedTag<std::uint64_t, 8>;
inline constexpr std::size_t row_lanes = HWY_MIN(HWY_LANES(std::uint64_t), std::size_t{8});

/// Gives each row of a strip its hits. Several rows at a time, one a lane, where none of them has more than 56 entries:
/// calls short_rows(first row, the hits of each). Otherwise it calls long_row(row, from, to) for one row, whose hits
/// lie at from .. to - 1.
template <class Short, class Long>
HWY_INLINE void for_each_stretch(const EdgeOffset* ptr, std::size_t rows, const Hits& hits, const Short& short_rows,
                                 const Long& long_row) {
  std::size_t r = 0;
  if constexpr (row_lanes >= 4) {
    const RowLanes d;
    const hn::RebindToSigned<RowLanes> di;
    const auto base = hn::Set(d, ptr[0]);
    const auto one = hn::Set(d, std::uint64_t{1});
    for (; r + row_lanes <= rows; r += row_lanes) {
      const auto begin = hn::Sub(hn::LoadU(d, ptr + r), base);
      const auto size = hn::Sub(hn::Sub(hn::LoadU(d, ptr + r + 1), base), begin);
      if (HWY_UNLIKELY(!hn::AllTrue(di, hn::Lt(hn::BitCast(di, size), hn::Set(di, 57))))) {
        for (std::size_t n = r; n < r + row_lanes; ++n) long_row(n, ptr[n] - ptr[0], ptr[n + 1] - ptr[0]);
        continue;
      }
      const auto* words = reinterpret_cast<const std::uint64_t*>(hits.bytes);
      const auto word = hn::GatherOffset(d, words, hn::BitCast(di, hn::ShiftRight<3>(begin)));
      const auto part = hn::Shr(word, hn::And(begin, hn::Set(d, std::uint64_t{7})));
      short_rows(r, hn::And(part, hn::Sub(hn::Shl(one, size), one)));
    }
  }
  for (; r < rows; ++r) long_row(r, ptr[r] - ptr[0], ptr[r + 1] - ptr[0]);
}

/// Whether an entry of one row hits. It tests eight entries first, because an early hit is likely where many bits of x
/// are set, then 16 at a time until one hits.
HWY_INLINE bool any_in_row(const NodeId* cols, std::size_t n, const std::uint64_t* x, Hits& hits) {
  const std::size_t first = HWY_MIN(n, std::size_t{8});
  test_entries<8>(cols, first, x, hits);
  if (hits.part(0, first) != 0) return true;
  for (std::size_t e = first; e < n; e += 16) {
    const std::size_t piece = HWY_MIN(n - e, std::size_t{16});
    test_entries(cols + e, piece, x, hits);
    if (hits.part(0, piece) != 0) return true;
  }
  return false;
}

/// Whether all entries of a strip are tested together. Strips of few selected rows, or of long rows, are faster row by
/// row.
HWY_INLINE bool tested_together(EdgeOffset entries, std::size_t most, std::uint64_t selected) {
  return entries <= most && __builtin_popcountll(selected) >= 16;
}

HWY_INLINE std::uint64_t any_in_rows(const mxv_cpu::AnyArgs& args, std::size_t s, std::uint64_t selected) {
  const GraphRef& a = args.a;
  const std::uint64_t* x = args.x;
  std::uint64_t result = 0;
  const EdgeOffset* ptr = a.ptr + s * strip_rows;
  const std::size_t rows = rows_of_strip(a, s);
  Hits hits;
  if (tested_together(ptr[rows] - ptr[0], args.long_degree * rows, selected)) {
    test_entries(a.col_ind + ptr[0], ptr[rows] - ptr[0], x, hits);
    for_each_stretch(
        ptr, rows, hits,
        [&](std::size_t r, hn::Vec<RowLanes> words) HWY_ATTR {
          std::uint8_t bits = 0;
          hn::StoreMaskBits(RowLanes(), hn::Ne(words, hn::Zero(RowLanes())), &bits);
          result |= std::uint64_t{bits} << r;
        },
        [&](std::size_t r, std::size_t begin, std::size_t end)
            HWY_ATTR { result |= std::uint64_t{hits.any(begin, end)} << r; });
    return result;
  }
  for (; selected != 0; selected &= selected - 1) {
    const auto r = static_cast<std::size_t>(__builtin_ctzll(selected));
    result |= std::uint64_t{any_in_row(a.col_ind + ptr[r], ptr[r + 1] - ptr[r], x, hits)} << r;
  }
  return result;
}

HWY_INLINE void count_bits_in_rows(const GraphRef& a, const std::uint64_t* x, std::size_t s, std::uint64_t selected,
                                   std::uint32_t* counts) {
  const EdgeOffset* ptr = a.ptr + s * strip_rows;
  const std::size_t rows = rows_of_strip(a, s);
  Hits hits;
  if (tested_together(ptr[rows] - ptr[0], Hits::capacity, selected)) {
    test_entries(a.col_ind + ptr[0], ptr[rows] - ptr[0], x, hits);
    for_each_stretch(
        ptr, rows, hits,
        [&](std::size_t r, hn::Vec<RowLanes> words) HWY_ATTR {
          HWY_ALIGN std::uint64_t lanes[row_lanes];
          hn::Store(hn::PopulationCount(words), RowLanes(), lanes);
          for (std::size_t n = 0; n < row_lanes; ++n) counts[r + n] = static_cast<std::uint32_t>(lanes[n]);
        },
        [&](std::size_t r, std::size_t begin, std::size_t end) HWY_ATTR { counts[r] = hits.count(begin, end); });
    return;
  }
  for (; selected != 0; selected &= selected - 1) {
    const auto r = static_cast<std::size_t>(__builtin_ctzll(selected));
    counts[r] = 0;
    for (EdgeOffset e = ptr[r]; e < ptr[r + 1]; e += Hits::capacity) {
      const std::size_t n = HWY_MIN(Hits::capacity, ptr[r + 1] - e);
      test_entries(a.col_ind + e, n, x, hits);
      counts[r] += hits.count(0, n);
    }
  }
}

template <bool kAll>
HWY_INLINE void count_in_rows(const GraphRef& a, const std::uint64_t* x, std::size_t s, std::uint64_t selected,
                              std::uint32_t* counts) {
  if constexpr (kAll) {
    const EdgeOffset* ptr = a.ptr + s * strip_rows;
    const std::size_t rows = rows_of_strip(a, s);
    for (std::size_t r = 0; r < rows; ++r) counts[r] = static_cast<std::uint32_t>(ptr[r + 1] - ptr[r]);
  } else {
    count_bits_in_rows(a, x, s, selected, counts);
  }
}

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
