// SPDX-License-Identifier: Apache-2.0
// The end of rows of levels that go out in places as wide as those of X: from counters of 16 bits to levels, by floats.
// Included once for each instruction set (Highway's convention: the guard toggles).
#if defined(BITGRAPH_OPS_SPMM_LEVELS_CPU_ENDS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef BITGRAPH_OPS_SPMM_LEVELS_CPU_ENDS_INL_HPP
#undef BITGRAPH_OPS_SPMM_LEVELS_CPU_ENDS_INL_HPP
#else
#define BITGRAPH_OPS_SPMM_LEVELS_CPU_ENDS_INL_HPP
#endif

#include <hwy/highway.h>

#include "ops/cpu_levels-inl.hpp"
#include "ops/spmm/levels/cpu/counters-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR

/// How the levels of a chunk lie in whole vectors of counters. Where a chunk fills half a vector, the counters of an
/// even level and the next one share a vector.
template <int place_bits, std::size_t chunk_bytes>
struct Order {
  static constexpr std::size_t of_word = 16 / place_bits;
  static constexpr std::size_t halves = chunk_bytes < most_chunk_bytes ? 2 : 1;
  static constexpr std::size_t vectors = of_word / halves;
  static constexpr std::size_t lanes = most_chunk_bytes / 2;

  static constexpr std::size_t vector_of(std::size_t level) { return level % of_word / halves; }
  static constexpr std::size_t lane_of(std::size_t level) {
    return level / of_word + level % of_word % halves * (lanes / halves);
  }
  /// In two vectors of floats: the lower halves of blocks of 128 bits make the first ones, the upper ones the others.
  static constexpr std::size_t place_of(std::size_t level) {
    const std::size_t lane = lane_of(level);
    return vector_of(level) * lanes + lane / 8 * 4 + lane / 4 % 2 * (lanes / 2) + lane % 4;
  }

  /// Vector n of the counters of chunk c.
  template <class Sums>
  static HWY_INLINE auto counters(const Sums& sums, std::size_t c, std::size_t n) {
    if constexpr (halves == 2) {
      const hn::CappedTag<std::uint16_t, lanes> words;
      return hn::Combine(words, sums.counters[c][2 * n + 1], sums.counters[c][2 * n]);
    } else {
      return sums.counters[c][n];
    }
  }
};

/// v[0] | v[1] << bits | v[2] << 2 * bits ...
template <int bits, std::size_t count, class V>
HWY_INLINE V join_shifted(const V* v) {
  if constexpr (count == 1) {
    return v[0];
  } else {
    constexpr std::size_t half = count / 2;
    return hn::Or(join_shifted<bits, half>(v), hn::ShiftLeft<bits * half>(join_shifted<bits, half>(v + half)));
  }
}

/// Stores chunk c of a row, of levels in the lower bits of their counters.
template <int place_bits, class Places, class From, class V>
HWY_INLINE void store_chunk(const Source& x, const V (&levels)[Places::vectors], std::uint8_t* to, std::size_t c) {
  const typename From::Bytes bytes;
  const auto all = join_shifted<place_bits* static_cast<int>(Places::halves), Places::vectors>(levels);
  if constexpr (Places::halves == 2) {
    const hn::Half<hn::DFromV<V> > half;
    const auto odd = hn::ShiftLeft<place_bits>(hn::UpperHalf(half, all));
    From::store(x, hn::BitCast(bytes, hn::Or(hn::LowerHalf(half, all), odd)), to, c);
  } else {
    From::store(x, hn::BitCast(bytes, all), to, c);
  }
}

/// The end of rows of levels; the places of the slice are in the order of the counters. `late`: the levels have a scale
/// by rows.
template <int place_bits, std::size_t chunk_bytes, bool floors, bool late>
struct LevelStore {
  using Places = Order<place_bits, chunk_bytes>;
  using Words = hn::CappedTag<std::uint16_t, Places::lanes>;
  using Signed = hn::RebindToSigned<Words>;
  using Numbers = hn::Repartition<std::int32_t, Words>;
  using Values = hn::Rebind<float, Numbers>;

  const LevelSpmmArgs& args;
  const SumSlice& slice;
  /// The least levels, packed as the levels are. The least one of rounded numbers is the rounded least one.
  HWY_ALIGN std::int16_t least[slice_outputs];

  HWY_INLINE LevelStore(const LevelSpmmArgs& its_args, const SumSlice& at, std::size_t places)
      : args(its_args), slice(at) {
    if constexpr (late) return;  // they follow from the row
    const Values d;
    const auto level_at = [&](std::size_t place) HWY_ATTR {
      return rounded<floors>(hn::Min(hn::Load(d, slice.epilogue.least + place), hn::Load(d, slice.most + place)));
    };
    for (std::size_t place = 0; place < places; place += Places::lanes) {
      const auto both = hn::ReorderDemote2To(Signed(), level_at(place), level_at(place + hn::Lanes(d)));
      hn::Store(both, Signed(), least + place);
    }
  }

  /// Of row i, of so many neighbours.
  template <class From, std::size_t chunks>
  HWY_INLINE void store(const Source& x, std::size_t i, std::size_t neighbors,
                        const Counters<place_bits, From, chunks>& sums, std::uint8_t* to) const {
    const Values d;
    const float row_scale = args.row_scale_of(i);
    const auto scale = hn::Set(d, row_scale), by_count = hn::Set(d, row_scale * static_cast<float>(neighbors));
    const OnScale on = late ? args.epilogue.late_scale(i, 0) : OnScale();
    const auto factor = hn::Set(d, on.factor), shift = hn::Set(d, on.shift);
    const auto least_of_row = hn::Set(d, on.least(args.epilogue.rectifies()));
    const auto levels = [&](std::size_t at, hn::Vec<Words> numbers) HWY_ATTR {
      const auto sum = hn::ConvertTo(d, hn::BitCast(Numbers(), numbers)), most = hn::Load(d, slice.most + at);
      const auto rest = fused(hn::Load(d, slice.offsets + at), by_count, hn::Load(d, slice.epilogue.shift + at));
      const auto place = fused(hn::Mul(hn::Load(d, slice.steps + at), scale), sum, rest);
      if constexpr (!late) return rounded<floors>(smaller_of(place, most));
      const auto late_place = smaller_of(fused(place, factor, shift), most);
      return rounded<floors>(hn::Max(late_place, hn::Min(least_of_row, most)));
    };
    const Words words;
    for (std::size_t c = 0; c < chunks; ++c) {
      hn::Vec<Words> packed[Places::vectors];
      for (std::size_t n = 0; n < Places::vectors; ++n) {
        const std::size_t place = (c * Places::vectors + n) * Places::lanes;
        const hn::Vec<Words> counter = Places::counters(sums, c, n);
        const auto lower = levels(place, hn::InterleaveLower(words, counter, hn::Zero(words)));
        const auto upper = levels(place + hn::Lanes(d), hn::InterleaveUpper(words, counter, hn::Zero(words)));
        auto both = hn::ReorderDemote2To(Signed(), lower, upper);
        if constexpr (!late) both = hn::Max(both, hn::Load(Signed(), least + place));
        packed[n] = hn::BitCast(words, both);
      }
      store_chunk<place_bits, Places, From>(x, packed, to, c);
    }
  }
};

#endif

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
