// SPDX-License-Identifier: Apache-2.0
// Products of levels as products of bytes: four columns at a time, 16 outputs a panel of weights. A block of rows of X
// is unpacked to bytes, meets all panels of a slice of outputs, and its sums go through the epilogue while they are in
// the first cache. Where levels have more than 8 bits their two bytes are multiplied one by one.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/gemm/levels/cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/cpu_levels-inl.hpp"
#include "ops/gemm/levels/levels.hpp"

#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace bitgraph::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t panel_outputs = LevelWeights::panel_outputs;
constexpr std::size_t group = LevelWeights::group;
constexpr std::size_t block_rows = 6;
static_assert(slice_outputs % panel_outputs == 0);
constexpr std::size_t chunk_columns = 2048;  ///< a multiple of `group`

#if HWY_TARGET == HWY_SCALAR

/// sums[r][output] of a panel: the products of rows of bytes with it.
template <std::size_t rows>
HWY_INLINE void multiply_panel(const std::uint8_t* const* x, std::size_t groups, const std::int8_t* panel,
                               std::int32_t* sums) {
  for (std::size_t r = 0; r < rows; ++r) {
    std::int32_t* const to = sums + r * slice_outputs;
    for (std::size_t f = 0; f < panel_outputs; ++f) to[f] = 0;
    for (std::size_t g = 0; g < groups; ++g) {
      for (std::size_t f = 0; f < panel_outputs; ++f) {
        for (std::size_t c = 0; c < group; ++c)
          to[f] += x[r][g * group + c] * panel[(g * panel_outputs + f) * group + c];
      }
    }
  }
}

template <std::size_t rows>
HWY_INLINE void multiply_panels(const std::uint8_t* const* x, std::size_t groups, const std::int8_t* panels,
                                std::size_t panel_bytes, std::size_t count, std::int32_t* sums) {
  for (std::size_t p = 0; p < count; ++p)
    multiply_panel<rows>(x, groups, panels + p * panel_bytes, sums + p * panel_outputs);
}

#else

using Sums = hn::CappedTag<std::int32_t, panel_outputs>;
using Pairs = hn::Repartition<std::int16_t, Sums>;
using Bytes = hn::Repartition<std::int8_t, Sums>;
constexpr std::size_t lanes = HWY_MIN(HWY_LANES(std::int32_t), panel_outputs);
constexpr std::size_t panel_vectors = panel_outputs / lanes;
/// Panels whose sums fit the registers.
constexpr std::size_t most_panels = HWY_TARGET == HWY_AVX3_DL ? 4 : 1;

#if HWY_TARGET == HWY_AVX3_DL

/// Sums of products of four bytes without a sign by four with one, 16 outputs side by side.
struct Products {
  hn::Vec<Sums> sum;

  HWY_INLINE void clear() { sum = hn::Zero(Sums()); }
  HWY_INLINE void add(std::uint32_t x, hn::Vec<Bytes> w) {
    // VNNI is a part of this level, but Highway does not let the compiler use it.
    asm("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(_mm512_set1_epi32(static_cast<int>(x))), "v"(w.raw));
  }
  HWY_INLINE hn::Vec<Sums> total() const { return sum; }
};

#else

/// The same, even and odd columns apart, as numbers of 16 bits.
struct Products {
  hn::Vec<Sums> low, high;

  HWY_INLINE void clear() { low = high = hn::Zero(Sums()); }
  HWY_INLINE void add(std::uint32_t x, hn::Vec<Bytes> w) {
    const Pairs d;
    const auto odd = hn::ShiftRight<8>(hn::BitCast(d, w));
    const auto even = hn::ShiftRight<8>(hn::ShiftLeft<8>(hn::BitCast(d, w)));
    const auto bytes = [](std::uint32_t four) {
      return hn::BitCast(Pairs(), hn::Set(Sums(), static_cast<std::int32_t>(four & 0x00FF00FFU)));
    };
    low = hn::ReorderWidenMulAccumulate(Sums(), bytes(x), even, low, high);
    low = hn::ReorderWidenMulAccumulate(Sums(), bytes(x >> 8), odd, low, high);
  }
  HWY_INLINE hn::Vec<Sums> total() const { return hn::RearrangeToOddPlusEven(low, high); }
};

#endif

template <std::size_t rows, std::size_t panels>
HWY_INLINE void multiply(const std::uint8_t* const* x, std::size_t groups, const std::int8_t* first,
                         std::size_t panel_bytes, std::int32_t* sums) {
  const Bytes d;
  constexpr std::size_t vectors = panels * panel_vectors;
  Products products[rows][vectors];
  for (auto& row : products) {
    for (Products& each : row) each.clear();
  }
  for (std::size_t g = 0; g < groups; ++g) {
    hn::Vec<Bytes> w[vectors];
    for (std::size_t v = 0; v < vectors; ++v) {
      w[v] = hn::LoadU(
          d, first + v / panel_vectors * panel_bytes + (g * panel_outputs + v % panel_vectors * lanes) * group);
    }
    for (std::size_t r = 0; r < rows; ++r) {
      std::uint32_t four = 0;
      std::memcpy(&four, x[r] + g * group, sizeof(four));
      for (std::size_t v = 0; v < vectors; ++v) products[r][v].add(four, w[v]);
    }
  }
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t v = 0; v < vectors; ++v)
      hn::StoreU(products[r][v].total(), Sums(), sums + r * slice_outputs + v * lanes);
  }
}

template <std::size_t rows>
HWY_INLINE void multiply_panels(const std::uint8_t* const* x, std::size_t groups, const std::int8_t* panels,
                                std::size_t panel_bytes, std::size_t count, std::int32_t* sums) {
  std::size_t p = 0;
  for (; p + most_panels <= count; p += most_panels)
    multiply<rows, most_panels>(x, groups, panels + p * panel_bytes, panel_bytes, sums + p * panel_outputs);
  if constexpr (most_panels > 1) {
    for (; p < count; ++p)
      multiply<rows, 1>(x, groups, panels + p * panel_bytes, panel_bytes, sums + p * panel_outputs);
  }
}

#endif

HWY_INLINE void multiply_block(std::size_t rows, const std::uint8_t* const* x, std::size_t groups,
                               const std::int8_t* panels, std::size_t panel_bytes, std::size_t count,
                               std::int32_t* sums) {
  switch (rows) {
    case 1: return multiply_panels<1>(x, groups, panels, panel_bytes, count, sums);
    case 2: return multiply_panels<2>(x, groups, panels, panel_bytes, count, sums);
    case 3: return multiply_panels<3>(x, groups, panels, panel_bytes, count, sums);
    case 4: return multiply_panels<4>(x, groups, panels, panel_bytes, count, sums);
    case 5: return multiply_panels<5>(x, groups, panels, panel_bytes, count, sums);
    default: return multiply_panels<6>(x, groups, panels, panel_bytes, count, sums);
  }
}

/// Columns of a row of nibbles, from an even one on, as bytes; zeros up to a whole group.
HWY_INLINE void unpack_nibbles(const std::uint8_t* from, std::size_t count, std::uint8_t* to) {
  for (std::size_t n = 0; n < (count + 1) / 2; ++n) {
    to[2 * n] = from[n] & 0xFU;
    to[2 * n + 1] = static_cast<std::uint8_t>(from[n] >> 4);
  }
  for (std::size_t j = (count + 1) / 2 * 2; j % group != 0; ++j) to[j] = 0;
}

/// One byte of each of some columns of 16 bits, zeros up to a whole group.
HWY_INLINE void unpack_halves(const std::uint8_t* from, int byte, std::size_t count, std::uint8_t* to) {
  for (std::size_t j = 0; j < count; ++j) to[j] = from[2 * j + static_cast<std::size_t>(byte)];
  for (std::size_t j = count; j % group != 0; ++j) to[j] = 0;
}

/// The sums of a block of rows and a slice of outputs. `Total` holds the largest sum.
template <class Total>
struct Block {
  std::size_t first_row = 0, rows = 0;
  std::size_t first_output = 0, outputs = 0;
  HWY_ALIGN Total sums[block_rows][slice_outputs];
  Total x_sums[block_rows];
};

template <class Total>
HWY_INLINE void make_sums(const LevelGemmArgs& args, Block<Total>& block) {
  HWY_ALIGN std::uint8_t bytes[block_rows][chunk_columns];
  HWY_ALIGN std::int32_t sums[block_rows * slice_outputs];
  const int x_bits = args.x.bits;
  const int x_bytes = x_bits > 8 ? 2 : 1;
  const int w_bytes = args.w_bits > 8 ? 2 : 1;
  const int shift = LevelWeights::shift_of(args.w_bits);
  const std::size_t panels = (block.outputs + panel_outputs - 1) / panel_outputs;
  for (std::size_t r = 0; r < block.rows; ++r) block.x_sums[r] = 0;
  bool fresh = true;  // nothing is there yet to add to
  for (std::size_t first = 0; first < args.x.ncols; first += chunk_columns) {
    const std::size_t columns = HWY_MIN(chunk_columns, args.x.ncols - first);
    const std::size_t groups = (columns + group - 1) / group;
    for (int x_byte = 0; x_byte < x_bytes; ++x_byte) {
      const std::uint8_t* x[block_rows];
      for (std::size_t r = 0; r < block.rows; ++r) {
        const std::uint8_t* const row = args.x.row(block.first_row + r);
        x[r] = bytes[r];
        if (x_bits > 8) {
          unpack_halves(row + 2 * first, x_byte, columns, bytes[r]);
        } else if (x_bits > 4) {
          x[r] = row + first;  // rows have whole words, with zeros behind the last column
        } else {
          unpack_nibbles(row + first / 2, columns, bytes[r]);
        }
      }
      Total row_sums[block_rows];
      for (std::size_t r = 0; r < block.rows; ++r) {
        std::uint32_t sum = 0;
        for (std::size_t c = 0; c < groups * group; ++c) sum += x[r][c];
        row_sums[r] = static_cast<Total>(sum);
        block.x_sums[r] += static_cast<Total>(sum) * (Total{1} << (8 * x_byte));
      }
      for (int w_byte = 0; w_byte < w_bytes; ++w_byte) {
        const std::size_t panel =
            static_cast<std::size_t>(w_byte) * args.num_panels + block.first_output / panel_outputs;
        multiply_block(block.rows, x, groups, args.panels + panel * args.panel_bytes + first * panel_outputs,
                       args.panel_bytes, panels, sums);
        const Total weight = Total{1} << (8 * (x_byte + w_byte));
        for (std::size_t r = 0; r < block.rows; ++r) {
          const Total shifted = static_cast<Total>(shift) * row_sums[r];
          for (std::size_t f = 0; f < panels * panel_outputs; ++f) {
            const Total part = weight * (static_cast<Total>(sums[r * slice_outputs + f]) + shifted);
            block.sums[r][f] = fresh ? part : block.sums[r][f] + part;
          }
        }
        fresh = false;
      }
    }
  }
  for (std::size_t r = 0; fresh && r < block.rows; ++r) {  // no columns
    for (std::size_t f = 0; f < panels * panel_outputs; ++f) block.sums[r][f] = 0;
  }
}

/// The same of a sparse X: its entries, each less the level of 0, times rows of the table; then what all other places
/// have in common.
template <class Total>
HWY_INLINE void make_sparse_sums(const LevelGemmArgs& args, Block<Total>& block) {
  const std::size_t stride = args.num_panels * panel_outputs;
  const std::size_t width = HWY_MIN(slice_outputs, stride - block.first_output);
  const Total middle = Total{1} << (args.w_bits - 1);
  for (std::size_t r = 0; r < block.rows; ++r) {
    const std::size_t i = block.first_row + r;
    const auto zero = static_cast<Total>(zero_level(args.x_scale.step(i), args.x_scale.offset(i), args.x.bits));
    Total* HWY_RESTRICT const sums = block.sums[r];
    for (std::size_t f = 0; f < width; ++f) sums[f] = 0;
    Total above = 0;
    for (EdgeOffset e = args.sparse.row_ptr[i]; e < args.sparse.row_ptr[i + 1]; ++e) {
      const Total level = static_cast<Total>(args.sparse.levels[e]) - zero;
      const std::int16_t* HWY_RESTRICT const w = args.w_table + args.sparse.col_ind[e] * stride + block.first_output;
      above += level;
      for (std::size_t f = 0; f < width; ++f) sums[f] += level * static_cast<Total>(w[f]);
    }
    block.x_sums[r] = above + zero * static_cast<Total>(args.x.ncols);
    for (std::size_t f = 0; f < block.outputs; ++f)
      sums[f] += middle * above + zero * static_cast<Total>(args.w_sums[block.first_output + f]);
  }
}

/// What products have for each output of a slice; places behind the last output repeat it.
struct SliceWeights {
  HWY_ALIGN float steps[slice_outputs];
  HWY_ALIGN float offsets[slice_outputs];
  HWY_ALIGN float of_x_offset[slice_outputs];  ///< what X's offset is multiplied by
  SliceEpilogue epilogue;

  SliceWeights(const LevelGemmArgs& args, std::size_t first, std::size_t outputs) {
    for (std::size_t f = 0; f < slice_outputs; ++f) {
      const std::size_t j = first + HWY_MIN(f, outputs - 1);
      const float factor = args.epilogue.factor(j);
      steps[f] = args.w_scale.step(j) * factor;
      offsets[f] = args.w_scale.offset(j) * factor;
      const float by_step = args.w_scale.step(j) * static_cast<float>(args.w_sums[j]);
      const float by_offset = args.w_scale.offset(j) * static_cast<float>(args.x.ncols);
      of_x_offset[f] = (by_step + by_offset) * factor;
      epilogue.set(f, args.epilogue, j, factor);
    }
  }
};

template <class Total>
HWY_INLINE void finish_block(const LevelGemmArgs& args, const Block<Total>& block, const SliceWeights& w) {
  const Floats d;
  for (std::size_t r = 0; r < block.rows; ++r) {
    const std::size_t i = block.first_row + r;
    const auto x_step = hn::Set(d, args.x_scale.step(i));
    const auto x_offset = hn::Set(d, args.x_scale.offset(i));
    const auto x_sum = hn::Set(d, static_cast<float>(block.x_sums[r]));
    const auto product = [&](std::size_t f) HWY_ATTR {
      const auto by_step = hn::Mul(hn::Load(d, w.steps + f), as_floats(&block.sums[r][f]));
      const auto by_offset = hn::Mul(hn::Load(d, w.offsets + f), x_sum);
      const auto of_steps = hn::Mul(x_step, hn::Add(by_step, by_offset));
      return hn::Add(of_steps, hn::Mul(x_offset, hn::Load(d, w.of_x_offset + f)));
    };
    finish_slice(args.out, args.epilogue, w.epilogue, i, block.first_output, block.outputs, block.sums[r], product);
  }
}

template <class Total>
HWY_INLINE void multiply_range(const LevelGemmArgs& args, std::size_t begin, std::size_t end) {
  Block<Total> block;
  for (std::size_t first = 0; first < args.outputs; first += slice_outputs) {
    block.first_output = first;
    block.outputs = HWY_MIN(slice_outputs, args.outputs - first);
    const SliceWeights w(args, first, block.outputs);
    for (std::size_t i = begin; i < end; i += block_rows) {
      block.first_row = i;
      block.rows = HWY_MIN(block_rows, end - i);
      if (args.sparse.row_ptr != nullptr) {
        make_sparse_sums(args, block);
      } else {
        make_sums(args, block);
      }
      finish_block(args, block, w);
    }
  }
}

void multiply_rows(const LevelGemmArgs& args, std::size_t begin, std::size_t end) {
  multiply_range<std::int32_t>(args, begin, end);
}
void multiply_rows_wide(const LevelGemmArgs& args, std::size_t begin, std::size_t end) {
  multiply_range<std::int64_t>(args, begin, end);
}

}  // namespace
}  // namespace bitgraph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/parallel.hpp"

namespace bitgraph {

namespace {
HWY_EXPORT(multiply_rows);
HWY_EXPORT(multiply_rows_wide);
}  // namespace

void level_gemm(const Cpu& backend, const LevelGemmArgs& args) {
  const bool wide = !sums_fit(args.x.bits, args.w_bits, args.x.ncols, 31);
  parallel_ranges(backend.device, args.x.nrows, 16, [&](Range rows) {
    if (wide) {
      HWY_DYNAMIC_DISPATCH(multiply_rows_wide)(args, rows.begin, rows.end);
    } else {
      HWY_DYNAMIC_DISPATCH(multiply_rows)(args, rows.begin, rows.end);
    }
  });
}

}  // namespace bitgraph
#endif  // HWY_ONCE
