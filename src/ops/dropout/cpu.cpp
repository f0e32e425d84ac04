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
  explicit Stream(const DropoutArgs& args) : key(args.key), threshold(args.threshold) {}
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
  explicit Stream(const DropoutArgs& args) {
    const D d;
    auto low = static_cast<std::uint32_t>(args.key.seed);
    auto high = static_cast<std::uint32_t>(args.key.seed >> 32);
    for (int round = 0; round < 10; ++round) {
      key_low[round] = hn::Set(d, std::uint64_t{low});
      key_high[round] = hn::Set(d, std::uint64_t{high});
      low += 0x9E3779B9U;
      high += 0xBB67AE85U;
    }
    iota = hn::Iota(d, 0);
    tensor = hn::Set(d, std::uint64_t{args.key.tensor});
    step = hn::Set(d, std::uint64_t{args.key.step});
    always = args.threshold > 0xFFFFU ? ~std::uint64_t{0} : 0;
    threshold = hn::Set(D16(), static_cast<std::uint16_t>(args.threshold));
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

/// The bits of the draws at positions first .. first + lanes, a byte each. first is a multiple of 8: the high half of
/// the position is one for all.
HWY_INLINE std::uint64_t mask_of_draws(const Stream& stream, std::uint64_t first) {
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
  const std::uint64_t even = kept_bits(stream, hn::InterleaveLower(d, front, back));
  const std::uint64_t odd = kept_bits(stream, hn::InterleaveUpper(d, front, back));
  return spread_bytes(even) | (spread_bytes(odd) << 8);
}

/// One word of 64 columns.
HWY_INLINE std::uint64_t mask_word(const Stream& stream, std::uint64_t word) {
  std::uint64_t bits = stream.always;
  for (std::size_t part = 0; part < 8; part += lanes) bits |= mask_of_draws(stream, word * 8 + part) << (8 * part);
  return bits;
}

#endif

void mask_rows(const DropoutArgs& args, std::size_t begin, std::size_t end) {
  const std::size_t words = args.keep.words_per_row;
  const std::uint64_t last =
      args.keep.ncols % 64 == 0 ? ~std::uint64_t{0} : (std::uint64_t{1} << (args.keep.ncols % 64)) - 1;
  const Stream stream(args);
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
#include "core/parallel.hpp"

namespace bitgraph {

namespace {
HWY_EXPORT(mask_rows);
HWY_EXPORT(apply_rows);
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

void drop_set_bits(const Cpu& backend, const DropSetBitsArgs& args) {
  parallel_for(backend.device, args.x.nrows, 128, [&](std::size_t i) {
    for (std::size_t word = 0; word < args.x.words_per_row; ++word) args.x.row(i)[word] &= args.keep.row(i)[word];
  });
}

}  // namespace bitgraph
#endif  // HWY_ONCE
