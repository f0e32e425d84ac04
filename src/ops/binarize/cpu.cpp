// SPDX-License-Identifier: Apache-2.0
// Signs by comparison to a mask, magnitudes in the interleaved sums that binarize.hpp prescribes.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/binarize/cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/binarize/binarize.hpp"

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, binarize_sums>;
constexpr std::size_t lanes = HWY_MIN(HWY_LANES(float), binarize_sums);
constexpr std::size_t vectors = binarize_sums / lanes;

/// Sixteen columns from j on: adds their magnitudes, returns their signs.
HWY_INLINE std::uint64_t take_sixteen(const BinarizeArgs& args, const float* row, std::size_t j,
                                      hn::Vec<D> (&sums)[vectors]) {
  const D d;
  std::uint64_t bits = 0;
  for (std::size_t v = 0; v < vectors; ++v) {
    const std::size_t at = j + v * lanes;
    auto z = hn::LoadU(d, row + at);
    if (args.shift != nullptr) z = hn::Sub(z, hn::LoadU(d, args.shift + at));
    if (args.scale != nullptr) z = hn::Mul(z, hn::LoadU(d, args.scale + at));
    std::uint8_t mask[8] = {};
    hn::StoreMaskBits(d, hn::Ge(z, hn::Zero(d)), mask);
    bits |= (std::uint64_t{mask[0]} | (std::uint64_t{mask[1]} << 8)) << (v * lanes);
    sums[v] = hn::Add(sums[v], hn::Abs(z));
  }
  return bits;
}

void binarize_rows(const BinarizeArgs& args, std::size_t begin, std::size_t end) {
  const D d;
  for (std::size_t i = begin; i < end; ++i) {
    const float* row = args.x.row(i);
    std::uint64_t* bits = args.bits.row(i);
    hn::Vec<D> sums[vectors];
    for (auto& sum : sums) sum = hn::Zero(d);
    for (std::size_t word = 0; word < args.bits.words_per_row; ++word) bits[word] = 0;
    std::size_t j = 0;
    for (; j + binarize_sums <= args.x.ncols; j += binarize_sums)
      bits[j / 64] |= take_sixteen(args, row, j, sums) << (j % 64);
    float total[binarize_sums];
    for (std::size_t v = 0; v < vectors; ++v) hn::StoreU(sums[v], d, total + v * lanes);
    for (; j < args.x.ncols; ++j) {
      float z = row[j];
      if (args.shift != nullptr) z -= args.shift[j];
      if (args.scale != nullptr) z *= args.scale[j];
      bits[j / 64] |= static_cast<std::uint64_t>(z >= 0) << (j % 64);
      total[j % binarize_sums] += z < 0 ? -z : z;
    }
    for (std::size_t half = binarize_sums / 2; half != 0; half /= 2) {
      for (std::size_t n = 0; n < half; ++n) total[n] += total[n + half];
    }
    args.alpha[i] = args.x.ncols == 0 ? 0.0F : total[0] / static_cast<float>(args.x.ncols);
  }
}

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/threads/parallel.hpp"

namespace bitgraph {

namespace {
HWY_EXPORT(binarize_rows);
}  // namespace

void binarize(const Cpu& backend, const BinarizeArgs& args) {
  parallel_ranges(backend.device, args.x.nrows, 128, [&](Range rows) {
    HWY_DYNAMIC_DISPATCH(binarize_rows)(args, rows.begin, rows.end);
  });
}

}  // namespace bitgraph
#endif  // HWY_ONCE
