// SPDX-License-Identifier: Apache-2.0
// Floats times signs. The weights of as many outputs as two vectors have lanes become floats, word by word, on the
// stack; x is broadcast. A product by 1 or -1 is exact, so that a sum is the one of the reference loop to the last bit.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/gemm/cpu_floats.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/cpu_partial-inl.hpp"
#include "ops/gemm/gemm.hpp"

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;
constexpr std::size_t lanes = HWY_LANES(float);
constexpr std::size_t vectors = 2;
constexpr std::size_t panel = vectors * lanes;  ///< outputs side by side

/// Columns whose weights are unpacked at a time; longer rows wait in the output meanwhile.
constexpr std::size_t block_columns = 256;

/// Rows handled together, sharing the loads of w: their sums are what fits in the registers.
constexpr std::size_t block_rows = 6;

/// 1 or -1 of columns begin .. begin + count of outputs first .. first + panel, column by column; 0 of missing outputs.
void unpack_outputs(const GemmOfFloats& args, std::size_t first, std::size_t begin, std::size_t count,
                    float* unpacked) {
  for (std::size_t n = 0; n < panel; ++n) {
    const bool exists = first + n < args.w.nrows;
    const std::uint64_t* from = exists ? args.w.row(first + n) : nullptr;
    std::uint64_t word = 0;
    for (std::size_t k = 0; k < count; ++k) {
      if (exists && (k == 0 || (begin + k) % 64 == 0)) word = from[(begin + k) / 64] >> ((begin + k) % 64);
      unpacked[k * panel + n] = exists ? PlusMinusOne::value((word & 1U) != 0) : 0.0F;
      word >>= 1U;
    }
  }
}

/// The columns of one block, of R rows. The first block begins at 0, others go on from what is in the output.
struct Block {
  std::size_t begin, count;  ///< columns
  bool is_first, is_last;
};

template <std::size_t R>
HWY_INLINE void multiply_rows(const GemmOfFloats& args, std::size_t i, std::size_t first, const Block& block,
                              const float* HWY_RESTRICT unpacked) {
  const DF d;
  const std::size_t outputs = HWY_MIN(panel, args.w.nrows - first);
  const auto outputs_of = [&](std::size_t v) { return outputs > v * lanes ? outputs - v * lanes : 0; };
  const float* rows[R];
  VF sums[R][vectors];
  for (std::size_t r = 0; r < R; ++r) {
    rows[r] = args.x.row(i + r) + block.begin;
    for (std::size_t v = 0; v < vectors; ++v) {
      sums[r][v] = block.is_first || outputs_of(v) == 0
                       ? hn::Zero(d)
                       : load_first(d, args.out.row(i + r) + first + v * lanes, outputs_of(v));
    }
  }
  for (std::size_t k = 0; k < block.count; ++k) {
    const VF w0 = hn::Load(d, unpacked + k * panel);
    const VF w1 = hn::Load(d, unpacked + k * panel + lanes);
    for (std::size_t r = 0; r < R; ++r) {
      const VF x = hn::Set(d, rows[r][k]);
      sums[r][0] = hn::MulAdd(x, w0, sums[r][0]);
      sums[r][1] = hn::MulAdd(x, w1, sums[r][1]);
    }
  }
  for (std::size_t v = 0; v < vectors && outputs_of(v) != 0; ++v) {
    const std::size_t at = first + v * lanes;
    for (std::size_t r = 0; r < R; ++r) {
      VF y = sums[r][v];
      if (block.is_last) {
        if (args.col_scale != nullptr) y = hn::Mul(y, load_first(d, args.col_scale + at, outputs_of(v)));
        if (args.row_scale != nullptr) y = hn::Mul(y, hn::Set(d, args.row_scale[i + r]));
        if (args.bias != nullptr) y = hn::Add(y, load_first(d, args.bias + at, outputs_of(v)));
      }
      store_first(d, y, args.out.row(i + r) + at, outputs_of(v));
    }
  }
}

void multiply_floats(const GemmOfFloats& args, std::size_t begin, std::size_t end) {
  HWY_ALIGN float unpacked[block_columns * panel];
  for (std::size_t first = 0; first < args.w.nrows; first += panel) {
    for (std::size_t column = 0; column == 0 || column < args.x.ncols; column += block_columns) {
      const std::size_t count = HWY_MIN(block_columns, args.x.ncols - column);
      const Block block{column, count, column == 0, column + count == args.x.ncols};
      unpack_outputs(args, first, column, count, unpacked);
      std::size_t i = begin;
      for (; i + block_rows <= end; i += block_rows) multiply_rows<block_rows>(args, i, first, block, unpacked);
      for (; i < end; ++i) multiply_rows<1>(args, i, first, block, unpacked);
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
HWY_EXPORT(multiply_floats);

constexpr std::size_t grain = 256;
}  // namespace

void gemm(const Cpu& backend, const GemmOfFloats& args) {
  parallel_ranges(backend.device, args.x.nrows, grain, [&](Range rows) {
    HWY_DYNAMIC_DISPATCH(multiply_floats)(args, rows.begin, rows.end);
  });
}

}  // namespace bitgraph
#endif  // HWY_ONCE
