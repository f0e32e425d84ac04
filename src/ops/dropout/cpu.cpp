// SPDX-License-Identifier: Apache-2.0
// Philox over lanes: a vector of counters, ten rounds, four vectors of random words, compared sixteen bits at a time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/dropout/cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/dropout/dropout.hpp"

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

/// What the other targets prepare for all words of a call.
struct Stream {
  Stream(RandomKey the_key, std::uint32_t the_threshold) : key(the_key), threshold(the_threshold) {}
  RandomKey key;
  std::uint32_t threshold;
};

HWY_INLINE std::uint64_t mask_word(const Stream& stream, std::uint64_t word) {
  std::uint64_t bits = 0;
  for (unsigned part = 0; part < 8; ++part) {
    const auto draw = random_words(stream.key, word * 8 + part);
    for (unsigned n = 0; n < 4; ++n) {
      bits |= std::uint64_t{(draw[n] & 0xFFFFU) < stream.threshold} << (8 * part + 2 * n);
      bits |= std::uint64_t{(draw[n] >> 16) < stream.threshold} << (8 * part + 2 * n + 1);
    }
  }
  return bits;
}

#else

/// Draws at a time. Each lane of 64 bits holds one number of 32 in its low half; what stands in the high half is left
/// there, because the multiplication does not read it.
using D = hn::CappedTag<std::uint64_t, 8>;
using V = hn::Vec<D>;
constexpr std::size_t lanes = HWY_MIN(HWY_LANES(std::uint64_t), std::size_t{8});
using D32 = hn::Repartition<std::uint32_t, D>;
using D16 = hn::Repartition<std::uint16_t, D>;

/// What all words of a call share: the round keys, the constant part of the counters, the threshold.
struct Stream {
  Stream(RandomKey key, std::uint32_t of_words) {
    const D d;
    auto low = static_cast<std::uint32_t>(key.seed);
    auto high = static_cast<std::uint32_t>(key.seed >> 32);
    for (int round = 0; round < 10; ++round) {
      key_low[round] = hn::Set(d, std::uint64_t{low});
      key_high[round] = hn::Set(d, std::uint64_t{high});
      low += 0x9E3779B9U;
      high += 0xBB67AE85U;
    }
    iota = hn::Iota(d, 0);
    tensor = hn::Set(d, std::uint64_t{key.tensor});
    step = hn::Set(d, std::uint64_t{key.step});
    always = of_words > 0xFFFFU ? ~std::uint64_t{0} : 0;
    threshold = hn::Set(D16(), static_cast<std::uint16_t>(of_words));
  }
  V key_low[10];
  V key_high[10];
  V iota;
  V tensor;
  V step;
  std::uint64_t always;  ///< all ones where every number is below the threshold, which then is one more than fits
  hn::Vec<D16> threshold;
};

/// The product of the low halves of the lanes.
HWY_INLINE V multiply_low(V a, std::uint32_t b) {
  return hn::MulEven(hn::BitCast(D32(), a), hn::BitCast(D32(), hn::Set(D(), std::uint64_t{b})));
}

/// Bits of the numbers below the threshold: a byte for each pair of lanes.
HWY_INLINE std::uint64_t kept_bits(const Stream& stream, V numbers) {
  std::uint8_t bytes[8];
  hn::StoreMaskBits(D16(), hn::Lt(hn::BitCast(D16(), numbers), stream.threshold), bytes);
  std::uint64_t bits = 0;
  hwy::CopyBytes<lanes / 2>(bytes, &bits);
  return bits;
}

/// Byte n of the low half goes to byte 2 n.
HWY_INLINE std::uint64_t spread_bytes(std::uint64_t bytes) {
  bytes = (bytes | (bytes << 16)) & 0x0000FFFF0000FFFFU;
  return (bytes | (bytes << 8)) & 0x00FF00FF00FF00FFU;
}

/// Words of draws, the four of a draw side by side: those of even lanes and those of odd lanes.
struct Draws {
  V even, odd;
};

/// The draws at positions first .. first + lanes. first is a multiple of lanes: the high half of the position is one
/// for all.
HWY_INLINE Draws draw(const Stream& stream, std::uint64_t first) {
  const D d;
  V counter[4] = {hn::Add(hn::Set(d, first), stream.iota), hn::Set(d, first >> 32), stream.tensor, stream.step};
  for (int round = 0; round < 10; ++round) {
    const V product0 = multiply_low(counter[0], 0xD2511F53U);
    const V product1 = multiply_low(counter[2], 0xCD9E8D57U);
    counter[0] = hn::Xor3(hn::ShiftRight<32>(product1), counter[1], stream.key_low[round]);
    counter[1] = product1;
    counter[2] = hn::Xor3(hn::ShiftRight<32>(product0), counter[3], stream.key_high[round]);
    counter[3] = product0;
  }
  // The first and the last two words of each draw side by side, then the halves of a draw in neighbouring lanes.
  const auto pair = [&](V low, V high) {
    return hn::BitCast(d, hn::OddEven(hn::BitCast(D32(), hn::ShiftLeft<32>(high)), hn::BitCast(D32(), low)));
  };
  const V front = pair(counter[0], counter[1]);
  const V back = pair(counter[2], counter[3]);
  return {hn::InterleaveLower(d, front, back), hn::InterleaveUpper(d, front, back)};
}

/// The bits of the draws at positions first .. first + lanes, a byte each.
HWY_INLINE std::uint64_t mask_of_draws(const Stream& stream, std::uint64_t first) {
  const Draws draws = draw(stream, first);
  return spread_bytes(kept_bits(stream, draws.even)) | (spread_bytes(kept_bits(stream, draws.odd)) << 8);
}

/// One word of 64 columns.
HWY_INLINE std::uint64_t mask_word(const Stream& stream, std::uint64_t word) {
  std::uint64_t bits = stream.always;
  for (std::size_t part = 0; part < 8; part += lanes) bits |= mask_of_draws(stream, word * 8 + part) << (8 * part);
  return bits;
}

#endif

/// Entries begin .. end. begin is a multiple of 32.
void drop_entry_range(const DropEntriesArgs& args, std::size_t begin, std::size_t end) {
  std::size_t e = begin;
#if HWY_TARGET != HWY_SCALAR
  const Stream stream(args.key, 0);
  const hn::CappedTag<float, 4> d;
  const hn::RebindToUnsigned<decltype(d)> words;
  const hn::RebindToSigned<decltype(d)> numbers;
  const auto threshold = hn::Set(numbers, static_cast<std::int32_t>(args.threshold));
  const auto scale = hn::Set(d, args.scale);
  HWY_ALIGN std::uint64_t drawn[2 * lanes];
  for (; e + 4 * lanes <= end; e += 4 * lanes) {
    const Draws draws = draw(stream, e / 4);
    hn::Store(draws.even, D(), drawn);
    hn::Store(draws.odd, D(), drawn + lanes);
    for (std::size_t n = 0; n < lanes; ++n) {
      const auto* from = reinterpret_cast<const std::uint32_t*>(drawn + n % 2 * lanes + n / 2 * 2);
      const auto number = hn::BitCast(numbers, hn::ShiftRight<8>(hn::Load(words, from)));
      const auto dropped = hn::RebindMask(d, hn::Lt(number, threshold));
      const auto value = hn::Mul(hn::LoadU(d, args.values + e + 4 * n), scale);
      hn::StoreU(hn::IfThenZeroElse(dropped, value), d, args.out + e + 4 * n);
    }
  }
#endif
  for (; e < end; ++e) {
    const std::uint32_t word = random_words(args.key, e / 4)[e % 4];
    args.out[e] = word >> 8 < args.threshold ? 0.0F : args.values[e] * args.scale;
  }
}

void mask_rows(const DropoutArgs& args, std::size_t begin, std::size_t end) {
  const std::size_t words = args.keep.words_per_row;
  const std::uint64_t last =
      args.keep.ncols % 64 == 0 ? ~std::uint64_t{0} : (std::uint64_t{1} << (args.keep.ncols % 64)) - 1;
  const Stream stream(args.key, args.threshold);
  for (std::size_t i = begin; i < end; ++i) {
    for (std::size_t word = 0; word < words; ++word) {
      args.keep.row(i)[word] = mask_word(stream, i * words + word) & (word + 1 == words ? last : ~std::uint64_t{0});
    }
  }
}

using DF = hn::CappedTag<float, 16>;
constexpr std::size_t float_lanes = HWY_MIN(HWY_LANES(float), std::size_t{16});

/// A vector of elements; the lowest bits of `keep` say which of them stay.
HWY_INLINE void drop(float* x, std::uint64_t keep, hn::Vec<DF> scale) {
  const DF d;
  std::uint8_t bytes[sizeof(keep)];
  hwy::CopyBytes<sizeof(keep)>(&keep, bytes);
  hn::StoreU(hn::IfThenElseZero(hn::LoadMaskBits(d, bytes), hn::Mul(hn::LoadU(d, x), scale)), d, x);
}

void apply_rows(const ApplyDropoutArgs& args, std::size_t begin, std::size_t end) {
  const auto scale = hn::Set(DF(), args.scale);
  const std::size_t full = args.x.ncols / float_lanes * float_lanes;
  for (std::size_t i = begin; i < end; ++i) {
    float* x = args.x.row(i);
    const std::uint64_t* keep = args.keep.row(i);
    for (std::size_t j = 0; j < full; j += float_lanes) drop(x + j, keep[j / 64] >> (j % 64), scale);
    const std::size_t rest = args.x.ncols - full;
    if (rest == 0) continue;
    float tail[float_lanes] = {};
    for (std::size_t n = 0; n < rest; ++n) tail[n] = x[full + n];
    drop(tail, keep[full / 64] >> (full % 64), scale);
    for (std::size_t n = 0; n < rest; ++n) x[full + n] = tail[n];
  }
}

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/threads/parallel.hpp"

#include <algorithm>

namespace bitgraph {

namespace {
HWY_EXPORT(mask_rows);
HWY_EXPORT(apply_rows);
HWY_EXPORT(drop_entry_range);
}  // namespace

void dropout_mask(const Cpu& backend, const DropoutArgs& args) {
  parallel_ranges(backend.device, args.keep.nrows, 64, [&](Range rows) {
    HWY_DYNAMIC_DISPATCH(mask_rows)(args, rows.begin, rows.end);
  });
}

void apply_dropout(const Cpu& backend, const ApplyDropoutArgs& args) {
  parallel_ranges(backend.device, args.x.nrows, 128, [&](Range rows) {
    HWY_DYNAMIC_DISPATCH(apply_rows)(args, rows.begin, rows.end);
  });
}

void drop_entries(const Cpu& backend, const DropEntriesArgs& args) {
  constexpr std::size_t block = 32;
  parallel_ranges(backend.device, (args.size + block - 1) / block, 128, [&](Range blocks) {
    const std::size_t end = std::min(args.size, blocks.end * block);
    HWY_DYNAMIC_DISPATCH(drop_entry_range)(args, blocks.begin * block, end);
  });
}

void drop_set_bits(const Cpu& backend, const DropSetBitsArgs& args) {
  parallel_for(backend.device, args.x.nrows, 128, [&](std::size_t i) {
    for (std::size_t word = 0; word < args.x.words_per_row; ++word) args.x.row(i)[word] &= args.keep.row(i)[word];
  });
}

}  // namespace bitgraph
#endif  // HWY_ONCE
