// SPDX-License-Identifier: Apache-2.0
// Sums of levels over neighbours. Levels are added as they lie, a nibble or a byte each: a neighbour costs one load and
// up to three more instructions for 64 bytes. Narrow counters are emptied into wider ones before they could overflow:
//     nibbles   of 1 or 2 bits: 15 or 5 neighbours
//     bytes     85 neighbours of 2 bits, 17 of 4 bits
//     16 bits   21,845 neighbours of 2 bits, 4,369 of 4 bits, 257 of 8 bits
// The end of a row costs as much as some ten neighbours. Where levels go out as wide as they come in, it keeps their
// order: what columns are scaled by is put in the order of the counters once, and nothing is shuffled.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/spmm/levels/cpu/places.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/cpu_levels-inl.hpp"
#include "ops/spmm/levels/cpu/counters-inl.hpp"
#include "ops/spmm/levels/cpu/ends-inl.hpp"
#include "ops/spmm/levels/levels.hpp"

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// The entries of a row.
struct Neighbors {
  const NodeId* begin;
  std::size_t count;
};

HWY_INLINE Neighbors neighbors_of(const LevelSpmmArgs& args, std::size_t i) {
  const EdgeOffset from = args.a.row_ptr[i];
  return {args.a.col_ind + from, static_cast<std::size_t>(args.a.row_ptr[i + 1] - from)};
}

#if HWY_TARGET == HWY_SCALAR

/// sums[n] = the sum of level n of bytes `byte` on of each neighbour.
template <int place_bits, class Total>
HWY_INLINE void sum_chunk(const LevelSpmmArgs& args, Neighbors neighbors, std::size_t byte, Total* sums) {
  for (std::size_t n = 0; n < most_chunk_bytes * 8 / place_bits; ++n) sums[n] = 0;
  for (std::size_t e = 0; e < neighbors.count; ++e) {
    const std::uint8_t* const from = args.x.row(neighbors.begin[e]) + byte;
    for (std::size_t n = 0; n < most_chunk_bytes * 8 / place_bits; ++n)
      sums[n] = static_cast<Total>(sums[n] + static_cast<Total>(level_at(from, n, args.x.bits)));
  }
}

#else

template <class Words, class V>
HWY_INLINE void store_interleaved(Words d, const V (&v)[4], std::uint16_t* to) {
  hn::StoreInterleaved4(v[0], v[1], v[2], v[3], d, to);
}
template <class Words, class V>
HWY_INLINE void store_interleaved(Words d, const V (&v)[2], std::uint16_t* to) {
  hn::StoreInterleaved2(v[0], v[1], d, to);
}

/// sums[n] = the sum of level n of a chunk of each neighbour. Sums of 16 bits are for up to x.of_words neighbours.
template <int place_bits, class From, class Total>
HWY_INLINE void sum_places(const Source& x, Neighbors neighbors, Total* sums) {
  using Words = typename From::Words;
  constexpr std::size_t count = hn::MaxLanes(Words()) * (16 / place_bits);
  const NodeId* neighbor = neighbors.begin;
  const NodeId* const end = neighbors.begin + neighbors.count;
  if constexpr (sizeof(Total) == sizeof(std::uint16_t)) {
    store_interleaved(Words(), Counters<place_bits, From, 1>(x, neighbor, end).counters[0], sums);
  } else {
    HWY_ALIGN std::uint16_t ordered[count];
    for (std::size_t n = 0; n < count; ++n) sums[n] = 0;
    while (neighbor != end) {
      const std::size_t rest = static_cast<std::size_t>(end - neighbor);
      const NodeId* const words_end = neighbor + HWY_MIN(rest, x.of_words);
      store_interleaved(Words(), Counters<place_bits, From, 1>(x, neighbor, words_end).counters[0], ordered);
      for (std::size_t n = 0; n < count; ++n) sums[n] += static_cast<Total>(ordered[n]);
      neighbor = words_end;
    }
  }
}

/// The same of levels of 16 bits.
template <class From, class Total>
HWY_INLINE void sum_words(const Source& x, Neighbors neighbors, Total* sums) {
  using Quads = hn::Repartition<std::uint32_t, typename From::Bytes>;
  const Quads quads;
  const auto low_word = hn::Set(quads, 0xFFFFU);
  constexpr std::size_t of_quads = 65537;
  constexpr std::size_t count = 2 * hn::MaxLanes(Quads());
  HWY_ALIGN std::uint32_t ordered[count];
  for (std::size_t n = 0; n < count; ++n) sums[n] = 0;
  const NodeId* neighbor = neighbors.begin;
  const NodeId* const end = neighbors.begin + neighbors.count;
  while (neighbor != end) {
    const NodeId* const quads_end = neighbor + HWY_MIN(static_cast<std::size_t>(end - neighbor), of_quads);
    auto even = hn::Zero(quads), odd = hn::Zero(quads);
    for (; neighbor != quads_end; ++neighbor) {
      From::prefetch(x, neighbor);
      const auto pairs = hn::BitCast(quads, From::load(x, x.row(*neighbor), 0));
      even = hn::Add(even, hn::And(pairs, low_word));
      odd = hn::Add(odd, hn::ShiftRight<16>(pairs));
    }
    hn::StoreInterleaved2(even, odd, quads, ordered);
    for (std::size_t n = 0; n < count; ++n) sums[n] += static_cast<Total>(ordered[n]);
  }
}

/// sums[n] = the sum of level n of bytes `byte` on of each neighbour.
template <int place_bits, class Total>
HWY_INLINE void sum_chunk(const LevelSpmmArgs& args, Neighbors neighbors, std::size_t byte, Total* sums) {
  const Source x(args, byte);
  const auto sum = [&](auto whole) HWY_ATTR {
    using From = Chunks<most_chunk_bytes, 1, whole(), true>;
    if constexpr (place_bits == 16) {
      sum_words<From>(x, neighbors, sums);
    } else {
      sum_places<place_bits, From>(x, neighbors, sums);
    }
  };
  if (x.bytes >= most_chunk_bytes) {
    sum(std::true_type{});
  } else {
    sum(std::false_type{});
  }
}

/// What code there is for: of levels out the rounding, and whether they have a scale by rows; whether rows of X are
/// prefetched.
template <bool to_floor, bool by_rows, bool fetches>
struct How {
  static constexpr bool floors = to_floor, late = by_rows, prefetches = fetches;
};

/// Levels out in places as wide as those of X, for `chunks` of `chunk_bytes` bytes of the rows, from `byte` on. Leaves
/// out rows of more neighbours than counters of 16 bits hold; returns whether there are any.
template <int place_bits, std::size_t chunk_bytes, std::size_t chunks, bool whole, class How>
HWY_NOINLINE bool sum_in_places(const LevelSpmmArgs& args, std::size_t begin, std::size_t end, std::size_t byte) {
  using From = Chunks<chunk_bytes, chunks, whole, How::prefetches>;
  constexpr std::size_t chunk_levels = chunk_bytes * 8 / place_bits;
  const Source x(args, byte);
  const SumSlice slice(args, args.x.ncols, byte * 8 / place_bits, chunks * chunk_levels, [](std::size_t column) {
    const std::size_t place = Order<place_bits, chunk_bytes>::place_of(column % chunk_levels);
    return column / chunk_levels * chunk_levels + place;
  });
  const LevelStore<place_bits, chunk_bytes, How::floors, How::late> to(args, slice, chunks * chunk_levels);
  const std::size_t most_neighbors = neighbors_of_words(args.x.bits);
  bool any_longer = false;
  for (std::size_t i = begin; i < end; ++i) {
    const Neighbors neighbors = neighbors_of(args, i);
    if (HWY_UNLIKELY(neighbors.count > most_neighbors)) {
      any_longer = true;
      continue;
    }
    const Counters<place_bits, From, chunks> sums(x, neighbors.begin, neighbors.begin + neighbors.count);
    to.store(x, i, neighbors.count, sums, args.out.levels.row(i) + byte);
  }
  return any_longer;
}

/// All columns of such rows.
template <int place_bits, class How>
HWY_INLINE bool sum_range_in_places(const LevelSpmmArgs& args, std::size_t begin, std::size_t end) {
  constexpr std::size_t chunk = most_chunk_bytes, half = chunk == 64 ? 32 : chunk;
  bool any_longer = false;
  for (std::size_t byte = 0; byte < args.x.row_bytes;) {
    const std::size_t rest = args.x.row_bytes - byte;
    if (rest >= 2 * chunk) {
      any_longer = sum_in_places<place_bits, chunk, 2, true, How>(args, begin, end, byte);
      byte += 2 * chunk;
    } else if (rest >= chunk) {
      any_longer = sum_in_places<place_bits, chunk, 1, true, How>(args, begin, end, byte);
      byte += chunk;
    } else if (rest >= half) {
      any_longer = sum_in_places<place_bits, half, 1, true, How>(args, begin, end, byte);
      byte += half;
    } else {
      any_longer = sum_in_places<place_bits, half, 1, false, How>(args, begin, end, byte);
      byte += half;
    }
  }
  return any_longer;
}

#endif

template <int place_bits, class Total>
HWY_INLINE void sum_row(const LevelSpmmArgs& args, const SumSlice& slice, std::size_t i, Neighbors neighbors) {
  constexpr std::size_t chunk_levels = most_chunk_bytes * 8 / place_bits;
  static_assert(slice_outputs % chunk_levels == 0);
  HWY_ALIGN Total sums[slice_outputs];
  for (std::size_t f = 0; f < slice.columns; f += chunk_levels)
    sum_chunk<place_bits>(args, neighbors, (slice.first + f) * place_bits / 8, sums + f);
  finish_sums(args, slice, i, neighbors.count, sums);
}

/// Counters of 16 bits hold the sums of `words` neighbours.
template <int place_bits, class Total>
HWY_INLINE void sum_range(const LevelSpmmArgs& args, std::size_t begin, std::size_t end, std::size_t words,
                          bool only_longer) {
  for (std::size_t first = 0; first < args.x.ncols; first += slice_outputs) {
    const SumSlice slice(args, args.x.ncols, first, slice_outputs, [](std::size_t n) { return n; });
    for (std::size_t i = begin; i < end; ++i) {
      const Neighbors neighbors = neighbors_of(args, i);
      if (neighbors.count > words) {
        sum_row<place_bits, Total>(args, slice, i, neighbors);
      } else if (!only_longer) {
        sum_row<place_bits, std::uint16_t>(args, slice, i, neighbors);
      }
    }
  }
}

template <int place_bits, class Total>
HWY_INLINE void sum_places_as(const LevelSpmmArgs& args, std::size_t begin, std::size_t end) {
  const std::size_t words = neighbors_of_words(args.x.bits);
  bool only_longer = false;
#if HWY_TARGET != HWY_SCALAR
  const QuantizedView<std::uint8_t>& levels = args.out.levels;
  const bool are_places = levels.data != nullptr && level_place_bits(levels.bits) == place_bits;
  if (are_places && args.epilogue.activation != Activation::tanh) {
    const bool floors = args.epilogue.rounding == Rounding::floor;
    const auto sum = [&]<bool late, bool prefetches>() HWY_ATTR {
      return floors ? sum_range_in_places<place_bits, How<true, late, prefetches> >(args, begin, end)
                    : sum_range_in_places<place_bits, How<false, late, prefetches> >(args, begin, end);
    };
    const auto sum_as = [&]<bool late>() HWY_ATTR {
      return lies_in_cache(args.x) ? sum.template operator()<late, false>() : sum.template operator()<late, true>();
    };
    only_longer = true;
    if (!(args.epilogue.is_late() ? sum_as.template operator()<true>() : sum_as.template operator()<false>())) return;
  }
#endif
  sum_range<place_bits, Total>(args, begin, end, words, only_longer);
}

template <class Total>
HWY_INLINE void sum_words_as(const LevelSpmmArgs& args, std::size_t begin, std::size_t end) {
  for (std::size_t first = 0; first < args.x.ncols; first += slice_outputs) {
    const SumSlice slice(args, args.x.ncols, first, slice_outputs, [](std::size_t n) { return n; });
    for (std::size_t i = begin; i < end; ++i) sum_row<16, Total>(args, slice, i, neighbors_of(args, i));
  }
}

template <class Total>
HWY_INLINE void sum_rows_as(const LevelSpmmArgs& args, std::size_t begin, std::size_t end) {
  switch (level_place_bits(args.x.bits)) {
    case 4: return sum_places_as<4, Total>(args, begin, end);
    case 8: return sum_places_as<8, Total>(args, begin, end);
    default: return sum_words_as<Total>(args, begin, end);
  }
}

void sum_rows(const LevelSpmmArgs& args, std::size_t begin, std::size_t end) {
  sum_rows_as<std::int32_t>(args, begin, end);
}
void sum_rows_wide(const LevelSpmmArgs& args, std::size_t begin, std::size_t end) {
  sum_rows_as<std::int64_t>(args, begin, end);
}

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/threads/parallel.hpp"
#include "ops/spmm/levels/planes.hpp"

namespace bitgraph {

namespace {

HWY_EXPORT(sum_rows);
HWY_EXPORT(sum_rows_wide);

}  // namespace

void level_spmm(const Cpu& backend, const LevelSpmmArgs& args) {
  if (args.x.in_planes()) return level_spmm_by_planes(backend, args);
  parallel_chunks(backend.device, args.a.nrows, level_spmm_chunk(backend.device, args.a.nrows), [&](Range rows) {
    if (args.wide) {
      HWY_DYNAMIC_DISPATCH(sum_rows_wide)(args, rows.begin, rows.end);
    } else {
      HWY_DYNAMIC_DISPATCH(sum_rows)(args, rows.begin, rows.end);
    }
  });
}

}  // namespace bitgraph
#endif  // HWY_ONCE
