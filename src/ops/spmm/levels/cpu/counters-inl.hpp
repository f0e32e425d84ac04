// SPDX-License-Identifier: Apache-2.0
// Counters of 16 bits for sums of levels in nibbles or bytes, and the rows of X that they add. Included once for each
// instruction set (Highway's convention: the guard toggles).
#if defined(BITGRAPH_OPS_SPMM_LEVELS_CPU_COUNTERS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef BITGRAPH_OPS_SPMM_LEVELS_CPU_COUNTERS_INL_HPP
#undef BITGRAPH_OPS_SPMM_LEVELS_CPU_COUNTERS_INL_HPP
#else
#define BITGRAPH_OPS_SPMM_LEVELS_CPU_COUNTERS_INL_HPP
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "ops/spmm/levels/levels.hpp"

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE std::size_t greatest_level(int bits) { return (std::size_t{1} << bits) - 1; }

/// Neighbours of whose levels, of up to 8 bits, counters of 16 bits hold the sum.
HWY_INLINE std::size_t neighbors_of_words(int bits) { return 65535 / greatest_level(bits); }

/// Bytes of a row that are taken at a time.
#if HWY_TARGET == HWY_SCALAR
inline constexpr std::size_t most_chunk_bytes = 8;
#else
inline constexpr std::size_t most_chunk_bytes = HWY_MIN(HWY_LANES(std::uint8_t), 64);

/// X from some byte of its rows on.
struct Source {
  const std::uint8_t* data;
  std::size_t row_bytes;
  std::size_t bytes;                           ///< of a row that are left
  std::size_t of_nibbles, of_bytes, of_words;  ///< neighbours of whose levels counters of 4, 8, 16 bits hold the sum
  const NodeId* prefetches_until = nullptr;    ///< entries of A before it prefetch the row of an entry after them

  static constexpr std::size_t prefetched_entries = 32;

  Source(const LevelSpmmArgs& args, std::size_t byte)
      : data(args.x.data + byte),
        row_bytes(args.x.row_bytes),
        bytes(args.x.row_bytes - byte),
        of_nibbles(15 / greatest_level(args.x.bits)),
        of_bytes(255 / greatest_level(args.x.bits)),
        of_words(neighbors_of_words(args.x.bits)) {
    const auto entries = static_cast<std::size_t>(args.a.row_ptr[args.a.nrows]);
    prefetches_until = args.a.col_ind + (entries - HWY_MIN(entries, prefetched_entries));
  }

  HWY_INLINE const std::uint8_t* row(NodeId j) const { return data + std::size_t{j} * row_bytes; }
};

/// Loads of neighbours: `chunks` of `chunk_bytes` bytes of a row. Without `whole` there are fewer bytes, whole words of
/// 8, and zeros behind them.
template <std::size_t chunk_bytes, std::size_t chunks, bool whole, bool prefetches>
struct Chunks {
  static_assert(whole || chunks == 1);
  using Bytes = hn::CappedTag<std::uint8_t, chunk_bytes>;
  using Words = hn::Repartition<std::uint16_t, Bytes>;

  static HWY_INLINE void prefetch(const Source& x, const NodeId* neighbor) {
    if (!prefetches || neighbor >= x.prefetches_until) return;
    const std::uint8_t* const ahead = x.row(neighbor[Source::prefetched_entries]);
    for (std::size_t byte = 0; byte < chunks * chunk_bytes; byte += 64) hwy::Prefetch(ahead + byte);
  }

  static HWY_INLINE hn::Vec<Bytes> load(const Source& x, const std::uint8_t* row, std::size_t chunk) {
    const Bytes d;
    if constexpr (whole) return hn::LoadU(d, row + chunk * chunk_bytes);
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
    return hn::MaskedLoad(hn::FirstN(d, x.bytes), d, row);
#else
    HWY_ALIGN std::uint8_t part[chunk_bytes] = {};
    for (std::size_t n = 0; n < x.bytes; n += 8) hwy::CopyBytes<8>(row + n, part + n);
    return hn::Load(d, part);
#endif
  }

  static HWY_INLINE void store(const Source& x, hn::Vec<Bytes> v, std::uint8_t* row, std::size_t chunk) {
    const Bytes d;
    if constexpr (whole) return hn::StoreU(v, d, row + chunk * chunk_bytes);
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
    hn::BlendedStore(v, hn::FirstN(d, x.bytes), d, row);
#else
    HWY_ALIGN std::uint8_t part[chunk_bytes];
    hn::Store(v, d, part);
    for (std::size_t n = 0; n < x.bytes; n += 8) hwy::CopyBytes<8>(part + n, row + n);
#endif
  }
};

/// Sums of nibbles or bytes in counters of 16 bits: lane n of counters[chunk][k] is that of the k-th level in the n-th
/// 16 bits of the chunk.
template <int place_bits, class From, std::size_t chunks>
struct Counters;

template <class From, std::size_t chunks>
struct Counters<4, From, chunks> {
  using Bytes = typename From::Bytes;
  using Words = typename From::Words;
  hn::Vec<Words> counters[chunks][4];

  /// The sums of up to x.of_words neighbours.
  HWY_INLINE Counters(const Source& x, const NodeId* neighbor, const NodeId* end) {
    if (x.of_nibbles > 1) {
      sum<true>(x, neighbor, end);
    } else {
      sum<false>(x, neighbor, end);
    }
  }

 private:
  using Sums = hn::Vec<Bytes>[chunks];

  static HWY_INLINE const NodeId* end_of(const NodeId* neighbor, const NodeId* end, std::size_t most) {
    return neighbor + HWY_MIN(static_cast<std::size_t>(end - neighbor), most);
  }

  /// Most rows fit counters of 8 bits, which become those of 16 bits without an addition.
  template <bool grouped>
  HWY_INLINE void sum(const Source& x, const NodeId* neighbor, const NodeId* end) {
    const NodeId* bytes_end = end_of(neighbor, end, x.of_bytes);
    take<grouped, true>(x, neighbor, bytes_end);
    while (bytes_end != end) {
      neighbor = bytes_end;
      bytes_end = end_of(neighbor, end, x.of_bytes);
      take<grouped, false>(x, neighbor, bytes_end);
    }
  }

  static HWY_INLINE hn::Vec<Bytes> upper_nibbles(hn::Vec<Bytes> pairs) {
    const Bytes d;
    return hn::And(hn::BitCast(d, hn::ShiftRight<4>(hn::BitCast(Words(), pairs))), hn::Set(d, std::uint8_t{0xF}));
  }
  static HWY_INLINE hn::Vec<Bytes> lower_nibbles(hn::Vec<Bytes> pairs) {
    return hn::And(pairs, hn::Set(Bytes(), std::uint8_t{0xF}));
  }

  /// The sums of neighbours that nibbles hold.
  static HWY_INLINE void sum_nibbles(const Source& x, const NodeId* neighbor, const NodeId* end, Sums& sum) {
    for (std::size_t c = 0; c < chunks; ++c) sum[c] = hn::Zero(Bytes());
    const auto add = [&](const NodeId* n) HWY_ATTR {
      From::prefetch(x, n);
      const std::uint8_t* const row = x.row(*n);
      for (std::size_t c = 0; c < chunks; ++c) sum[c] = hn::Add(sum[c], From::load(x, row, c));
    };
    // So many neighbours of 2 bits are without a loop: each is three instructions, and two more would count them.
    constexpr std::size_t of_two_bits = 5;
    for (; end - neighbor >= static_cast<std::ptrdiff_t>(of_two_bits); neighbor += of_two_bits) {
      for (std::size_t n = 0; n < of_two_bits; ++n) add(neighbor + n);
    }
    for (; neighbor != end; ++neighbor) add(neighbor);
  }

  /// The sums of neighbours that bytes hold, a group of them in nibbles first.
  static HWY_INLINE void sum_groups(const Source& x, const NodeId* neighbor, const NodeId* end, Sums& lower,
                                    Sums& upper) {
    Sums sum;
    const NodeId* group_end = end_of(neighbor, end, x.of_nibbles);
    sum_nibbles(x, neighbor, group_end, sum);
    for (std::size_t c = 0; c < chunks; ++c) lower[c] = lower_nibbles(sum[c]), upper[c] = upper_nibbles(sum[c]);
    while (group_end != end) {
      neighbor = group_end;
      group_end = end_of(neighbor, end, x.of_nibbles);
      sum_nibbles(x, neighbor, group_end, sum);
      for (std::size_t c = 0; c < chunks; ++c) {
        lower[c] = hn::Add(lower[c], lower_nibbles(sum[c]));
        upper[c] = hn::Add(upper[c], upper_nibbles(sum[c]));
      }
    }
  }

  /// The same one by one.
  static HWY_INLINE void sum_singles(const Source& x, const NodeId* neighbor, const NodeId* end, Sums& lower,
                                     Sums& upper) {
    const Bytes d;
    Sums both;  // both nibbles of each byte as one number, without what overflows
    for (std::size_t c = 0; c < chunks; ++c) both[c] = upper[c] = hn::Zero(d);
    for (; neighbor != end; ++neighbor) {
      From::prefetch(x, neighbor);
      const std::uint8_t* const row = x.row(*neighbor);
      for (std::size_t c = 0; c < chunks; ++c) {
        const auto pairs = From::load(x, row, c);
        both[c] = hn::Add(both[c], pairs);
        upper[c] = hn::Add(upper[c], upper_nibbles(pairs));
      }
    }
    for (std::size_t c = 0; c < chunks; ++c) {
      const auto shifted = hn::BitCast(d, hn::ShiftLeft<4>(hn::BitCast(Words(), upper[c])));
      lower[c] = hn::Sub(both[c], hn::And(shifted, hn::Set(d, std::uint8_t{0xF0})));
    }
  }

  /// Adds neighbours that counters of 8 bits hold; where `fresh` there is nothing to add to yet.
  template <bool grouped, bool fresh>
  HWY_INLINE void take(const Source& x, const NodeId* neighbor, const NodeId* end) {
    Sums lower, upper;
    if constexpr (grouped) {
      sum_groups(x, neighbor, end, lower, upper);
    } else {
      sum_singles(x, neighbor, end, lower, upper);
    }
    const Words words;
    const auto low_byte = hn::Set(words, std::uint16_t{0xFF});
    for (std::size_t c = 0; c < chunks; ++c) {
      const auto even = hn::BitCast(words, lower[c]), odd = hn::BitCast(words, upper[c]);
      const hn::Vec<Words> parts[4] = {hn::And(even, low_byte), hn::And(odd, low_byte), hn::ShiftRight<8>(even),
                                       hn::ShiftRight<8>(odd)};
      for (std::size_t k = 0; k < 4; ++k) counters[c][k] = fresh ? parts[k] : hn::Add(counters[c][k], parts[k]);
    }
  }
};

template <class From, std::size_t chunks>
struct Counters<8, From, chunks> {
  using Words = typename From::Words;
  hn::Vec<Words> counters[chunks][2];

  HWY_INLINE Counters(const Source& x, const NodeId* neighbor, const NodeId* end) {
    const Words words;
    hn::Vec<Words> both[chunks], upper[chunks];  // two bytes as one number, without what overflows; the upper byte
    for (std::size_t c = 0; c < chunks; ++c) both[c] = upper[c] = hn::Zero(words);
    for (; neighbor != end; ++neighbor) {
      From::prefetch(x, neighbor);
      const std::uint8_t* const row = x.row(*neighbor);
      for (std::size_t c = 0; c < chunks; ++c) {
        const auto pairs = hn::BitCast(words, From::load(x, row, c));
        both[c] = hn::Add(both[c], pairs);
        upper[c] = hn::Add(upper[c], hn::ShiftRight<8>(pairs));
      }
    }
    for (std::size_t c = 0; c < chunks; ++c) {
      counters[c][0] = hn::Sub(both[c], hn::ShiftLeft<8>(upper[c]));
      counters[c][1] = upper[c];
    }
  }
};

#endif

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
