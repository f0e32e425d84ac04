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

/// Draws at a time: each lane of 64 bits holds one number of 32 in its low half.
using D = hn::CappedTag<std::uint64_t, 8>;
using V = hn::Vec<D>;
constexpr std::size_t lanes = HWY_MIN(HWY_LANES(std::uint64_t), std::size_t{8});

/// The product of the low halves of the lanes.
HWY_INLINE V multiply_low(V a, std::uint32_t b) {
  const D d;
#if HWY_TARGET == HWY_SCALAR
  return hn::Set(d, hn::GetLane(a) * b);
#else
  const hn::Repartition<std::uint32_t, D> d32;
  return hn::MulEven(hn::BitCast(d32, a), hn::BitCast(d32, hn::Set(d, std::uint64_t{b})));
#endif
}

struct Draws {
  V word[4];
};

/// random_words at positions first .. first + lanes. first is a multiple of 8: the high half of the position is one for
/// all.
HWY_INLINE Draws draw(const RandomKey& key, std::uint64_t first) {
  const D d;
  const V low = hn::Set(d, 0xFFFFFFFFU);
  V counter[4] = {hn::And(hn::Add(hn::Iota(d, 0), hn::Set(d, first)), low), hn::Set(d, first >> 32),
                  hn::Set(d, std::uint64_t{key.tensor}), hn::Set(d, std::uint64_t{key.step})};
  auto key_low = static_cast<std::uint32_t>(key.seed);
  auto key_high = static_cast<std::uint32_t>(key.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const V product0 = multiply_low(counter[0], 0xD2511F53U);
    const V product1 = multiply_low(counter[2], 0xCD9E8D57U);
    const V next0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(product1), counter[1]), hn::Set(d, std::uint64_t{key_low}));
    const V next2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(product0), counter[3]), hn::Set(d, std::uint64_t{key_high}));
    counter[0] = next0;
    counter[1] = hn::And(product1, low);
    counter[2] = next2;
    counter[3] = hn::And(product0, low);
    key_low += 0x9E3779B9U;
    key_high += 0xBB67AE85U;
  }
  return {{counter[0], counter[1], counter[2], counter[3]}};
}

/// One word of 64 columns.
HWY_INLINE std::uint64_t mask_word(const DropoutArgs& args, std::uint64_t word) {
  const D d;
  const V threshold = hn::Set(d, std::uint64_t{args.threshold});
  const V half = hn::Set(d, 0xFFFFU);
  std::uint64_t bits = 0;
  for (std::size_t part = 0; part < 8; part += lanes) {
    const Draws draws = draw(args.key, word * 8 + part);
    // byte of draw d: bit 2 n + h is half h of its word n
    V bytes = hn::Zero(d);
    for (int n = 3; n >= 0; --n) {
      const V high = hn::ShiftRight<16>(draws.word[n]);
      const V kept_high = hn::ShiftRight<63>(hn::Sub(high, threshold));
      const V kept_low = hn::ShiftRight<63>(hn::Sub(hn::And(draws.word[n], half), threshold));
      bytes = hn::Or(hn::ShiftLeft<2>(bytes), hn::Or(hn::Add(kept_high, kept_high), kept_low));
    }
    HWY_ALIGN std::uint64_t byte_of[lanes];
    hn::Store(bytes, d, byte_of);
    for (std::size_t lane = 0; lane < lanes; ++lane) bits |= byte_of[lane] << (8 * (part + lane));
  }
  return bits;
}

void mask_rows(const DropoutArgs& args, std::size_t begin, std::size_t end) {
  const std::size_t words = args.keep.words_per_row;
  const std::uint64_t last =
      args.keep.ncols % 64 == 0 ? ~std::uint64_t{0} : (std::uint64_t{1} << (args.keep.ncols % 64)) - 1;
  for (std::size_t i = begin; i < end; ++i) {
    for (std::size_t word = 0; word < words; ++word) {
      args.keep.row(i)[word] = mask_word(args, i * words + word) & (word + 1 == words ? last : ~std::uint64_t{0});
    }
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
}  // namespace

void dropout_mask(const Cpu& backend, const DropoutArgs& args) {
  parallel_ranges(backend.device, args.keep.nrows, 64, [&](Range rows) {
    HWY_DYNAMIC_DISPATCH(mask_rows)(args, rows.begin, rows.end);
  });
}

}  // namespace bitgraph
#endif  // HWY_ONCE
