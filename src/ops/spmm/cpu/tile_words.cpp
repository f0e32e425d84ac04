// SPDX-License-Identifier: Apache-2.0
// Words of the graph against columns of X: a block of 64 rows of X is transposed once, and each row of the graph meets
// 64 features by popcounts.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/spmm/cpu/tile_words.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/spmm/cpu/bit_slices-inl.hpp"
#include "ops/spmm/cpu/tile_words.hpp"

#include <bit>

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using spmm_cpu::BitBlock;
using spmm_cpu::Sink;
using spmm_cpu::Sums;

using DU = hn::CappedTag<std::uint64_t, 8>;
using VU = hn::Vec<DU>;
using DI = hn::RebindToSigned<DU>;
constexpr std::size_t lanes = HWY_MIN(HWY_LANES(std::uint64_t), 8);

/// Exchanges the bits Half apart of rows that stand Distance apart, where the mask has the lower of them.
template <int Half, std::size_t Distance>
HWY_INLINE void exchange(std::uint64_t* rows) {
  const DU d;
  std::uint64_t lower = ~std::uint64_t{0} >> (64 - Half);
  for (int filled = Half; filled < 32; filled *= 2) lower |= lower << (2 * filled);
  const VU mask = hn::Set(d, lower);
  for (std::size_t base = 0; base < 64; base += 2 * Distance) {
    for (std::size_t r = base; r < base + Distance; r += lanes) {
      const VU a = hn::Load(d, rows + r);
      const VU b = hn::Load(d, rows + r + Distance);
      const VU swapped = hn::And(hn::Xor(hn::ShiftRight<Half>(a), b), mask);
      hn::Store(hn::Xor(a, hn::ShiftLeft<Half>(swapped)), d, rows + r);
      hn::Store(hn::Xor(b, swapped), d, rows + r + Distance);
    }
  }
}

/// Rows whose numbers differ in a low bit meet in one order, in a high bit in the other: so they are always in
/// different vectors.
void transpose(const BitBlock& rows, BitBlock& columns) {
  BitBlock spread;
  for (std::size_t r = 0; r < 64; ++r) spread.words[r % 8 * 8 + r / 8] = rows.words[r];
  exchange<4, 32>(spread.words);
  exchange<2, 16>(spread.words);
  exchange<1, 8>(spread.words);
  for (std::size_t r = 0; r < 64; ++r) columns.words[r] = spread.words[r % 8 * 8 + r / 8];
  exchange<32, 32>(columns.words);
  exchange<16, 16>(columns.words);
  exchange<8, 8>(columns.words);
}

/// product(graph, columns) of 64 features.
template <class Product>
HWY_INLINE void add_words(const std::uint64_t* graph, std::size_t count, const BitBlock& columns, Sums* sums,
                          const Product& product) {
  const DU d;
  const DI di;
  for (std::size_t n = 0; n < count; ++n) {
    if (graph[n] == 0) continue;
    const auto ones = hn::Set(di, static_cast<std::int64_t>(std::popcount(graph[n])));
    for (std::size_t f = 0; f < 64; f += lanes) {
      const auto dot = product(hn::Set(d, graph[n]), hn::Load(d, columns.words + f), ones);
      hn::Store(hn::Add(hn::Load(di, sums[n].of_feature + f), dot), di, sums[n].of_feature + f);
    }
  }
}

void add_each_bit(const std::uint64_t* graph, std::size_t count, const BitBlock& rows, Sums* sums) {
  const DI d;
  for (std::size_t n = 0; n < count; ++n) {
    for (std::uint64_t left = graph[n]; left != 0; left &= left - 1) {
      const std::uint64_t signs = rows.words[std::countr_zero(left)];
      for (std::size_t f = 0; f < 64; f += lanes) {
        const std::uint64_t bits = signs >> f;
        const auto mask = hn::LoadMaskBits(d, reinterpret_cast<const std::uint8_t*>(&bits));
        const auto one = hn::IfThenElse(mask, hn::Set(d, 1), hn::Set(d, -1));
        hn::Store(hn::Add(hn::Load(d, sums[n].of_feature + f), one), d, sums[n].of_feature + f);
      }
    }
  }
}

HWY_INLINE auto popcount(VU v) { return hn::BitCast(DI(), hn::PopulationCount(v)); }

void add(const std::uint64_t* graph, std::size_t count, const BitBlock& block, SpmmStrategy strategy, Sums* sums) {
  if (strategy == SpmmStrategy::each_bit) return add_each_bit(graph, count, block, sums);
  using VI = hn::Vec<DI>;
  if (strategy == SpmmStrategy::difference) {
    return add_words(graph, count, block, sums, [](VU a, VU x, VI) HWY_ATTR {
      return hn::Sub(popcount(hn::And(a, x)), popcount(hn::AndNot(x, a)));
    });
  }
  add_words(graph, count, block, sums, [](VU a, VU x, VI ones) HWY_ATTR {
    const VI both = popcount(hn::And(a, x));
    return hn::Sub(hn::Add(both, both), ones);
  });
}

void finish(const Sums& sums, const Sink& sink, std::size_t i, std::size_t word) {
  HWY_ALIGN float values[64];
  for (std::size_t f = 0; f < 64; ++f) values[f] = static_cast<float>(static_cast<std::int32_t>(sums.of_feature[f]));
  with_output(sink, [&](const auto& out) HWY_ATTR {
    expand_word(out, sink.epilogue, i, word * 64, out.ncols,
                [&](auto df, std::size_t bit) HWY_ATTR { return hn::Load(df, values + bit); });
  });
}

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bitgraph::spmm_cpu {
namespace {
HWY_EXPORT(transpose);
HWY_EXPORT(add);
HWY_EXPORT(finish);
}  // namespace

void transpose_block(const BitBlock& rows, BitBlock& columns) { HWY_DYNAMIC_DISPATCH(transpose)(rows, columns); }

void add_products(const std::uint64_t* graph, std::size_t count, const BitBlock& block, SpmmStrategy strategy,
                  Sums* sums) {
  HWY_DYNAMIC_DISPATCH(add)(graph, count, block, strategy, sums);
}

void finish_sums(const Sums& sums, const Sink& sink, std::size_t i, std::size_t word) {
  HWY_DYNAMIC_DISPATCH(finish)(sums, sink, i, word);
}

}  // namespace bitgraph::spmm_cpu
#endif  // HWY_ONCE
