// SPDX-License-Identifier: Apache-2.0
// What the kernel of wgmma does behind the sums of a tile: they become levels or numbers, and are stored.
#pragma once

#include "ops/cuda_store_pair.cuh"
#include "ops/gemm/levels/cuda_places.cuh"
#include "ops/gemm/levels/cuda_quads.cuh"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace bitgraph::level_cuda {

/// What two neighbouring outputs need behind their sums: see ProductPlace. Where X has one scale and levels out have
/// none by rows, its step and its offset are in `by_step` and `shift` already.
struct alignas(16) OutputPair {
  float2 by_step, shift, least;
  float2 by_offset, of_w;  ///< of offsets
};

/// The pair of this number of those that begin at an address in shared memory.
__device__ inline OutputPair& pair_at(unsigned address, unsigned number) {
  return static_cast<OutputPair*>(__cvta_shared_to_generic(address))[number];
}

/// Of two outputs, those that the product has.
__device__ inline OutputPair pair_of(const LevelGemmArgs& args, std::size_t first, std::size_t second) {
  ProductPlace place[2];
  float least[2] = {};
  for (unsigned k = 0; k < 2; ++k) {
    const std::size_t output = k == 0 ? first : second;
    if (output >= args.outputs) continue;
    const ColumnPlace column(args.epilogue, output);
    place[k] = place_of_output(args, output, column);
    least[k] = column.least;
    if (!args.x_scale.single) continue;
    const RowOfX all = row_of_x(args, 0, 0);
    place[k].by_step *= all.step;
    if (args.x_scale.offsets != nullptr) place[k].shift = __fmaf_rn(all.offset, place[k].of_w, place[k].shift);
  }
  return {{place[0].by_step, place[1].by_step},
          {place[0].shift, place[1].shift},
          {least[0], least[1]},
          {place[0].by_offset, place[1].by_offset},
          {place[0].of_w, place[1].of_w}};
}

/// Writes words of a row from `byte` on, those that the row has. Rows begin and end at multiples of eight bytes.
template <unsigned Words>
__device__ void store_words(std::uint8_t* row, std::size_t row_bytes, std::size_t byte,
                            const std::uint32_t (&word)[Words]) {
  auto* const to = reinterpret_cast<std::uint32_t*>(row + byte);
  if constexpr (Words == 1) {
    if (byte < row_bytes) *to = word[0];
  } else {
    if constexpr (Words == 4) {
      if (byte + 16 <= row_bytes && reinterpret_cast<std::uintptr_t>(to) % 16 == 0) {
        *reinterpret_cast<uint4*>(to) = {word[0], word[1], word[2], word[3]};
        return;
      }
    }
#pragma unroll
    for (unsigned w = 0; w < Words; w += 2) {
      if (byte + 4 * w < row_bytes) *reinterpret_cast<uint2*>(to + w) = {word[w], word[w + 1]};
    }
  }
}

/// The outputs that a group of warps has of each tile. `ByRows`: they are late levels with one scale or scales by rows,
/// or values with an addend. `Packs`: they may be levels in planes, of which they have whole pieces.
template <unsigned Outputs, bool ByRows, bool Packs>
class TileStore {
 public:
  static constexpr unsigned output_tiles = Outputs / 8;
  using Sums = int[Outputs / 2];

  /// `of_outputs` is where their pairs begin in shared memory.
  __device__ TileStore(const LevelGemmArgs& the_args, unsigned of_outputs, std::size_t first, unsigned its_lane)
      : args(the_args), pairs(of_outputs), first_output(first), lane(its_lane) {}

  /// What a thread's two rows, `row` and the eighth after it, have in X's scale and in their own of levels out.
  struct RowScales {
    float step[2], offset[2];
    float out_step[2], out_offset[2];
  };
  [[nodiscard]] __device__ RowScales scales_of(std::size_t row) const {
    RowScales scales = {};
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
      const std::size_t i = min(row + half * 8, args.x.nrows - 1);
      scales.step[half] = 1;
      // Outputs have X's scale where it is one.
      if (!args.x_scale.single) {
        scales.step[half] = at_or(args.x_scale.steps, args.x_scale.single, i, 1);
        scales.offset[half] = at_or(args.x_scale.offsets, args.x_scale.single, i, 0);
      }
      if constexpr (ByRows) {
        const LevelScaleView& late = args.epilogue.late;
        scales.out_step[half] = at_or(late.steps, late.single, i, 1);
        scales.out_offset[half] = at_or(late.offsets, late.single, i, 0);
      }
    }
    return scales;
  }

  /// Of the sums of these rows, and the thread's part of the sums of their levels.
  __device__ void store(const Sums& sums, const std::uint32_t (&levels)[2], const RowScales& scales,
                        std::size_t row) const {
    float sum_of_row[2] = {};
    if (args.w_scale.offsets != nullptr) {
      sum_of_row[0] = add_quad(levels[0]);
      sum_of_row[1] = add_quad(levels[1]);
    }
    const auto of_x = [&](unsigned half) { return RowOfX(scales.step[half], scales.offset[half], sum_of_row[half]); };
    RowOfX x[2] = {of_x(0), of_x(1)};
    if (args.x_scale.single) {
      const float step = at_or(args.x_scale.steps, true, 0, 1);
      x[0].sum *= step, x[1].sum *= step;
    }
    if constexpr (ByRows) return store_by_rows(sums, x, scales, row);
    const LevelOut& out = args.out;
    const auto sum_of = [](int sum, const OutputPair&, unsigned, unsigned, unsigned) { return sum; };
    const auto own_row = [](std::size_t i) { return i; };
    if (out.values.data != nullptr) {
      const auto stored_row = [&](std::size_t i) { return value_row_of(out, i); };
      store_numbers(out.values, sums, row, stored_row,
                    [&](int sum, const OutputPair& pair, unsigned k, unsigned half, unsigned t) {
                      return LevelRule(args.epilogue, 1).value<false>(place<true, true>(sum, pair, k, x[half]));
                    });
    } else if (out.sums.data != nullptr) {
      store_numbers(out.sums, sums, row, own_row, sum_of);
    } else if (out.wide_sums.data != nullptr) {
      store_numbers(out.wide_sums, sums, row, own_row, sum_of);
    } else if (Packs && out.levels.in_planes()) {
      store_levels<2>(sums, x, row);
    } else if (out.levels.bits <= 4) {
      store_levels<4>(sums, x, row);
    } else if (out.levels.bits <= 8) {
      store_levels<8>(sums, x, row);
    } else {
      const LevelRule rule(args.epilogue, out.levels.bits);
      store_wide_levels(sums, row, [&](int sum, const OutputPair& pair, unsigned k, unsigned half, unsigned t) {
        return rule.level(place<true, true>(sum, pair, k, x[half]), k == 0 ? pair.least.x : pair.least.y);
      });
    }
  }

 private:
  /// Late levels with one scale or scales by rows, and values with an addend.
  __device__ void store_by_rows(const Sums& sums, const RowOfX (&x)[2], const RowScales& scales,
                                std::size_t row) const {
    const auto late_row = [&](unsigned half) {
      const float factor = 1.0F / scales.out_step[half];
      return LateRow<false>(args.epilogue, OnScale{factor, -scales.out_offset[half] * factor});
    };
    const LateRow<false> late[2] = {late_row(0), late_row(1)};
    const LevelRule rule(args.epilogue, args.out.levels.data == nullptr ? 1 : args.out.levels.bits);
    const auto value_of = [&](int sum, const OutputPair& pair, unsigned k, unsigned half, unsigned t) {
      const float value = place<true, true>(sum, pair, k, x[half]);
      const std::size_t i = row + half * 8, output = first_output + t * 8 + lane % 4 * 2 + k;
      return i < args.x.nrows && output < args.outputs ? with_addend(args.epilogue, i, output, value) : value;
    };
    const auto level_of = [&](int sum, const OutputPair& pair, unsigned k, unsigned half, unsigned t) {
      const float exists = k == 0 ? pair.least.x : pair.least.y;
      return late[half].level(rule, value_of(sum, pair, k, half, t), 0, exists);
    };
    if (args.out.values.data != nullptr) {
      const auto stored_row = [&](std::size_t i) { return value_row_of(args.out, i); };
      return store_numbers(args.out.values, sums, row, stored_row,
                           [&](int sum, const OutputPair& pair, unsigned k, unsigned half, unsigned t) {
                             return rule.value<false>(value_of(sum, pair, k, half, t));
                           });
    }
    // Without an addend, and to the nearest level, as nearly always: code of its own, which asks for neither each time.
    const float least[2] = {late[0].scale.least(args.epilogue.rectifies()),
                            late[1].scale.least(args.epilogue.rectifies())};
    const auto nearest_level_of = [&](int sum, const OutputPair& pair, unsigned k, unsigned half, unsigned t) {
      const float exists = k == 0 ? pair.least.x : pair.least.y;
      return late[half].nearest_level(rule, place<true, true>(sum, pair, k, x[half]), least[half], exists);
    };
    const bool frequent = rule.nearest && !args.epilogue.adds();
    if (args.out.levels.bits <= 4) {
      frequent ? store_levels<4>(sums, row, nearest_level_of) : store_levels<4>(sums, row, level_of);
    } else if (args.out.levels.bits <= 8) {
      frequent ? store_levels<8>(sums, row, nearest_level_of) : store_levels<8>(sums, row, level_of);
    } else {
      store_wide_levels(sums, row, level_of);
    }
  }

  /// The place of a sum, where there are no other offsets of W, and no other scale of X.
  template <bool w_offsets, bool x_by_rows>
  [[nodiscard]] __device__ float place(int sum, const OutputPair& pair, unsigned k, const RowOfX& x) const {
    const auto of = [k](const float2& two) { return k == 0 ? two.x : two.y; };
    float rest = of(pair.shift), by_step = of(pair.by_step);
    if constexpr (x_by_rows) {
      rest = __fmaf_rn(x.offset, of(pair.of_w), rest);
      by_step *= x.step;
    }
    if constexpr (w_offsets) rest = __fmaf_rn(of(pair.by_offset), x.sum, rest);
    return __fmaf_rn(by_step, static_cast<float>(sum), rest);
  }

  /// Levels out in places of 4 or 8 bits, or of 2 in planes. Frequent cases have code of their own.
  template <unsigned Bits>
  __device__ void store_levels(const Sums& sums, const RowOfX (&x)[2], std::size_t row) const {
    const LevelRule rule(args.epilogue, args.out.levels.bits, Bits);
    rule.dispatch([&]<bool nearest, Limits limits>() {
      if constexpr (!nearest || limits == Limits::both) {
        store_as<Bits, true, true, nearest, limits>(sums, x, row, rule);
      } else if (!args.x_scale.single) {
        store_as<Bits, true, true, nearest, limits>(sums, x, row, rule);
      } else if (args.w_scale.offsets != nullptr) {
        store_as<Bits, true, false, nearest, limits>(sums, x, row, rule);
      } else {
        store_as<Bits, false, false, nearest, limits>(sums, x, row, rule);
      }
    });
  }
  template <unsigned Bits, bool w_offsets, bool x_by_rows, bool nearest, Limits limits>
  __device__ void store_as(const Sums& sums, const RowOfX (&x)[2], std::size_t row, const LevelRule& rule) const {
    const auto level_of = [&](int sum, const OutputPair& pair, unsigned k, unsigned half, unsigned t) {
      return rule.template unlimited<nearest, limits>(place<w_offsets, x_by_rows>(sum, pair, k, x[half]),
                                                      k == 0 ? pair.least.x : pair.least.y);
    };
    if constexpr (Bits == 2) {
      if constexpr (Packs) store_planes(sums, row, level_of);
    } else {
      store_levels<Bits>(sums, row, level_of);
    }
  }

  /// A lane has eight levels of each 32 outputs, two bits each, in one half of a word. Of four times 32 the lanes of a
  /// quad change halves, and have all levels of one. W's rows lie so that these are the outputs in order: see
  /// level_image::output_of_row().
  template <class LevelOf>
  __device__ void store_planes(const Sums& sums, std::size_t row, const LevelOf& level_of) const {
    constexpr unsigned parts = output_tiles / 4;  ///< of 32 outputs
    static_assert(parts == 2 || parts == 4, "whole pieces, and a part for each lane at most");
    const unsigned quarter = lane % 4;
    const QuadTurn turn(lane);
    std::uint32_t of_parts[2][2] = {};
#pragma unroll
    for (unsigned p = parts; p-- != 0;) {
#pragma unroll
      for (unsigned i = 4; i-- != 0;) {
        const unsigned t = 4 * p + i;
        const OutputPair pair = pair_at(pairs, t * 4 + quarter);
#pragma unroll
        for (unsigned half = 0; half < 2; ++half) {
          std::uint32_t& to = of_parts[half][p / 2];
          const int* const sum = sums + 4 * t + 2 * half;
          to = pack_two<2>(level_of(sum[0], pair, 0, half, t), level_of(sum[1], pair, 1, half, t), to);
        }
      }
    }
    constexpr std::uint32_t even = 0x55555555U;
    const std::size_t piece = first_output / plane_piece_columns + quarter / 2;
    const std::size_t byte = piece * plane_piece_bytes + quarter % 2 * (plane_piece_bytes / 2);
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
      std::uint32_t first = of_parts[half][0], second = of_parts[half][1];
      turn.halves(first, second);
      const std::uint32_t lower = (first & even) | (second << 1 & ~even);
      const std::uint32_t upper = (first >> 1 & even) | (second & ~even);
      // Two lanes have a piece: one stores the lower bits, the other the upper ones.
      const std::uint32_t got = __shfl_xor_sync(full_warp, quarter % 2 == 0 ? upper : lower, 1);
      const std::uint32_t word[2] = {quarter % 2 == 0 ? lower : got, quarter % 2 == 0 ? got : upper};
      const std::size_t i = row + half * 8;
      if (i < args.x.nrows && quarter < parts)
        store_words(args.out.levels.row(i), args.out.levels.row_bytes, byte, word);
    }
  }

  /// A lane stores the levels of `own` tiles that lie side by side.
  template <unsigned Bits, class LevelOf>
  __device__ void store_levels(const Sums& sums, std::size_t row, const LevelOf& level_of) const {
    constexpr unsigned own = Bits == 8 ? 1 : std::min(output_tiles, 16U) / 4;
    constexpr unsigned words = own * Bits / 4;
    const unsigned quarter = lane % 4;
    const QuadTurn turn(lane);
#pragma unroll
    for (unsigned first = 0; first < output_tiles; first += 4 * own) {
      std::uint32_t word[2][words];
#pragma unroll
      for (unsigned n = 0; n < own; ++n) {
        constexpr unsigned of_eight = Bits / 4;  // words that a lane has of four tiles
        std::uint32_t two[2][of_eight] = {};
#pragma unroll
        for (unsigned i = 4; i-- != 0;) {
          const unsigned t = first + i * own + n;
          const OutputPair pair = pair_at(pairs, t * 4 + quarter);
#pragma unroll
          for (unsigned half = 0; half < 2; ++half) {
            std::uint32_t& to = two[half][i * of_eight / 4];
            const int* const sum = sums + 4 * t + 2 * half;
            to = pack_two<Bits>(level_of(sum[0], pair, 0, half, t), level_of(sum[1], pair, 1, half, t), to);
          }
        }
#pragma unroll
        for (unsigned half = 0; half < 2; ++half) {
          if constexpr (Bits == 4) {
            word[half][n] = turn.bytes(two[half][0]);
          } else {
            turn.halves(two[half][0], two[half][1]);
            word[half][2 * n] = two[half][0];
            word[half][2 * n + 1] = two[half][1];
          }
        }
      }
      const std::size_t byte = (first_output + (first + quarter * own) * 8) * Bits / 8;
#pragma unroll
      for (unsigned half = 0; half < 2; ++half) {
        const std::size_t i = row + half * 8;
        if (i < args.x.nrows) store_words(args.out.levels.row(i), args.out.levels.row_bytes, byte, word[half]);
      }
    }
  }

  /// Levels out of 16 bits, two outputs at a time.
  template <class LevelOf>
  __device__ void store_wide_levels(const Sums& sums, std::size_t row, const LevelOf& level_of) const {
    const QuantizedView<std::uint8_t>& out = args.out.levels;
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
      if (row + half * 8 >= args.x.nrows) continue;
      const std::size_t byte = (first_output + lane % 4 * 2) * 2;
      std::uint8_t* const to = out.row(row + half * 8) + byte;
#pragma unroll
      for (unsigned t = 0; t < output_tiles; ++t) {
        const OutputPair pair = pair_at(pairs, t * 4 + lane % 4);
        const int* const sum = sums + 4 * t + 2 * half;
        const int first = level_of(sum[0], pair, 0, half, t), second = level_of(sum[1], pair, 1, half, t);
        if (byte + t * 16 < out.row_bytes) *reinterpret_cast<std::uint32_t*>(to + t * 16) = pack_two<16>(first, second);
      }
    }
  }

  /// Numbers out, number_of(sum, pair, k, half, t), of row i to row row_of(i).
  template <class T, class RowOf, class NumberOf>
  __device__ void store_numbers(const DenseView<T>& out, const Sums& sums, std::size_t row, const RowOf& row_of,
                                const NumberOf& number_of) const {
    const bool whole = first_output + Outputs <= args.outputs && takes_pairs(out);
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
      if (row + half * 8 >= args.x.nrows) continue;
      const std::size_t column = first_output + lane % 4 * 2;
      T* const to = out.data + row_of(row + half * 8) * out.stride + column;
      const auto left = static_cast<int>(args.outputs) - static_cast<int>(column);
#pragma unroll
      for (unsigned t = 0; t < output_tiles; ++t) {
        const OutputPair pair = pair_at(pairs, t * 4 + lane % 4);
        const int* const sum = sums + 4 * t + 2 * half;
        const T first = number_of(sum[0], pair, 0, half, t), second = number_of(sum[1], pair, 1, half, t);
        if (whole) {
          store_pair(to + t * 8, first, second);
        } else {
          if (static_cast<int>(t * 8) < left) to[t * 8] = first;
          if (static_cast<int>(t * 8 + 1) < left) to[t * 8 + 1] = second;
        }
      }
    }
  }

  const LevelGemmArgs& args;
  unsigned pairs;
  std::size_t first_output;
  unsigned lane;
};

}  // namespace bitgraph::level_cuda
