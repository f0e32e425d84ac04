// SPDX-License-Identifier: Apache-2.0
// Floats times signs. The weights of as many outputs as a few vectors have lanes become floats, word by word, on the
// stack; x is broadcast. A product by 1 or -1 is exact, so that a sum is the one of the reference loop to the last bit.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/gemm/cpu/floats.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/cpu_partial-inl.hpp"
#include "ops/gemm/gemm.hpp"
#include "ops/gemm/tuning.hpp"

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;
constexpr std::size_t lanes = HWY_LANES(float);

/// Weights on the stack: 32 KiB. Of longer rows as many columns at a time as fit; their sums wait in the output
/// meanwhile.
constexpr std::size_t most_unpacked = cpu_gemm_tuning().unpacked_weights;

/// Rows handled together, sharing the loads of w: with so many vectors each, their sums are what fits in the registers.
constexpr std::size_t rows_of(std::size_t vectors) { return vectors == 1 ? 12 : vectors == 2 ? 8 : 6; }

/// 1 or -1 of columns begin .. begin + count of outputs first .. first + panel, column by column; 0 of missing outputs.
void unpack_outputs(const GemmOfFloats& args, std::size_t first, std::size_t panel, std::size_t begin,
                    std::size_t count, float* unpacked) {
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

template <std::size_t M, std::size_t R>
HWY_INLINE void multiply_rows(const GemmOfFloats& args, std::size_t i, std::size_t first, const Block& block,
                              const float* HWY_RESTRICT unpacked) {
  const DF d;
  const std::size_t outputs = args.w.nrows - first;  // no fewer than M - 1 vectors
  const auto outputs_of = [&](std::size_t m) { return outputs - m * lanes; };
  const float* rows[R];
  VF sums[R][M];
  for (std::size_t r = 0; r < R; ++r) {
    rows[r] = args.x.row(i + r) + block.begin;
    for (std::size_t m = 0; m < M; ++m) {
      sums[r][m] = block.is_first ? hn::Zero(d) : load_first(d, args.out.row(i + r) + first + m * lanes, outputs_of(m));
    }
  }
  for (std::size_t k = 0; k < block.count; ++k) {
    VF w[M];
    for (std::size_t m = 0; m < M; ++m) w[m] = hn::Load(d, unpacked + (k * M + m) * lanes);
    for (std::size_t r = 0; r < R; ++r) {
      const VF x = hn::Set(d, rows[r][k]);
      for (std::size_t m = 0; m < M; ++m) sums[r][m] = hn::MulAdd(x, w[m], sums[r][m]);
    }
  }
  for (std::size_t m = 0; m < M; ++m) {
    const std::size_t at = first + m * lanes;
    for (std::size_t r = 0; r < R; ++r) {
      VF y = sums[r][m];
      if (block.is_last) {
        if (args.col_scale != nullptr) y = hn::Mul(y, load_first(d, args.col_scale + at, outputs_of(m)));
        if (args.row_scale != nullptr) y = hn::Mul(y, hn::Set(d, args.row_scale[i + r]));
        if (args.bias != nullptr) y = hn::Add(y, load_first(d, args.bias + at, outputs_of(m)));
      }
      store_first(d, y, args.out.row(i + r) + at, outputs_of(m));
    }
  }
}

/// Rows begin .. end of M vectors of outputs from `first` on.
template <std::size_t M>
HWY_NOINLINE void multiply_panel(const GemmOfFloats& args, std::size_t begin, std::size_t end, std::size_t first,
                                 float* unpacked) {
  constexpr std::size_t columns = most_unpacked / (M * lanes) / 64 * 64;
  constexpr std::size_t R = rows_of(M);
  for (std::size_t column = 0; column == 0 || column < args.x.ncols; column += columns) {
    const std::size_t count = HWY_MIN(columns, args.x.ncols - column);
    const Block block{column, count, column == 0, column + count == args.x.ncols};
    unpack_outputs(args, first, M * lanes, column, count, unpacked);
    std::size_t i = begin;
    for (; i + R <= end; i += R) multiply_rows<M, R>(args, i, first, block, unpacked);
    for (; i < end; ++i) multiply_rows<M, 1>(args, i, first, block, unpacked);
  }
}

void multiply_floats(const GemmOfFloats& args, std::size_t begin, std::size_t end) {
  HWY_ALIGN float unpacked[most_unpacked];
  std::size_t first = 0;
  // Two vectors at a time; three where that leaves nothing.
  for (; args.w.nrows - first > 3 * lanes; first += 2 * lanes) multiply_panel<2>(args, begin, end, first, unpacked);
  const std::size_t left = args.w.nrows - first;
  if (left > 2 * lanes) return multiply_panel<3>(args, begin, end, first, unpacked);
  if (left > lanes) return multiply_panel<2>(args, begin, end, first, unpacked);
  if (left != 0) multiply_panel<1>(args, begin, end, first, unpacked);
}

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/threads/parallel.hpp"
#include "ops/gemm/cpu/amx.hpp"

namespace bitgraph {

namespace {
HWY_EXPORT(multiply_floats);

constexpr std::size_t grain = 256;

void multiply(const GemmOfFloats& args, std::size_t begin, std::size_t end) {
  HWY_DYNAMIC_DISPATCH(multiply_floats)(args, begin, end);
}
}  // namespace

void gemm(const Cpu& backend, const GemmOfFloats& args) {
  if (gemm_cpu::plan(gemm_cpu::problem_of(args)) == gemm_cpu::Kernel::numbers_by_tiles) {
    return gemm_of_whole_numbers(backend, args, multiply);
  }
  parallel_ranges(backend.device, args.x.nrows, grain, [&](Range rows) { multiply(args, rows.begin, rows.end); });
}

}  // namespace bitgraph
#endif  // HWY_ONCE
