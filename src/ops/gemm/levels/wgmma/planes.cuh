// SPDX-License-Identifier: Apache-2.0
// Products of levels of two bits by wgmma of single bits (QGTC, section 3.1): plane p of X and plane q of W meet in
// ANDs whose ones are counted, and a count weighs 2^(p + q). All counts but those of weight 1 come first, those of
// weight 4 twice; then the sums double, and the others follow. That is ten instructions for 512 columns, where bytes
// need sixteen. X comes as nibbles, which become planes on their way to registers; W has an image in planes.
#pragma once

#include "core/cuda/bulk_copy.cuh"
#include "ops/gemm/levels/cuda_tiles.cuh"
#include "ops/gemm/levels/wgmma/stages.cuh"
#include "ops/gemm/wgmma.cuh"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace bitgraph::level_cuda {

constexpr unsigned most_planes = 2;
constexpr std::uint32_t even_bits = 0x55555555U;

/// Four words of levels of two bits, each in a field of four, become a word of each plane.
__device__ inline void take_planes(std::uint32_t (&plane)[most_planes], const std::uint32_t (&levels)[4]) {
  const std::uint32_t first = levels[0] + 4 * levels[1], second = levels[2] + 4 * levels[3];
  plane[0] = (first & even_bits) | (second << 1 & ~even_bits);
  plane[1] = (first >> 1 & even_bits) | (second & ~even_bits);
}

/// X and W have two planes; where there is one, the other has no ones.
struct Planes {
  static constexpr unsigned x_bits = 4;  ///< of a level of X in memory
  static constexpr unsigned chunk_columns = block_bytes * 8 / x_bits;
  static constexpr unsigned plane_bytes = chunk_columns / 8;  ///< of a row of W, of the columns of a chunk
  static_assert(2 * most_planes * plane_bytes == block_bytes);
  static constexpr unsigned unit_blocks = 1;

  /// A block of W has two chunks, each with its planes.
  static unsigned w_blocks(unsigned chunks) { return (chunks + 1) / 2; }
  /// All chunks of a tile are there until it is multiplied.
  static unsigned fewest_stages(unsigned chunks) { return std::max(4U, chunks); }

  /// A group's rows of two chunks, as instructions take them: of a thread's first row, of its second one, and the upper
  /// 128 columns of both.
  using ChunksOfX = std::uint32_t[2][most_planes][4];

  template <class Kernel>
  static __device__ void bring_w(const Kernel& /*kernel*/) {}  // there is an image

  /// A chunk of X. `adds`: the levels of the thread's two rows are added to `x_sum`.
  static __device__ void load_chunk(std::uint32_t (&x)[most_planes][4], unsigned rows, unsigned lane, bool adds,
                                    std::uint32_t (&x_sum)[2]) {
    std::uint32_t in_bytes[2] = {};
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
      std::uint32_t lower[4], upper[4];
      load_matrices(lower, rows + place_of_piece(lane, 4 * half + lane / 16));
      load_matrices(upper, rows + place_of_piece(lane, 4 * half + 2 + lane / 16));
#pragma unroll
      for (unsigned r = 0; r < 2; ++r) {
        std::uint32_t plane[most_planes];
        take_planes(plane, {lower[r], lower[2 + r], upper[r], upper[2 + r]});
        x[0][2 * half + r] = plane[0];
        x[1][2 * half + r] = plane[1];
        if (!adds) continue;
        const std::uint32_t four = lower[r] + lower[2 + r] + upper[r] + upper[2 + r];  // of a nibble at most 12
        in_bytes[r] += (four & 0x0F0F0F0FU) + (four >> 4 & 0x0F0F0F0FU);
      }
    }
    if (!adds) return;
#pragma unroll
    for (unsigned r = 0; r < 2; ++r) x_sum[r] = __dp4a(in_bytes[r], 0x01010101U, x_sum[r]);
  }

  /// The stages of two chunks from `place` on, which is then behind them; of a last chunk alone twice the same, as W
  /// has zeros there. `waits`: until they are there.
  struct TwoStages {
    unsigned stage[2];
    bool both;

    template <class Kernel>
    __device__ TwoStages(const Kernel& kernel, Place& place, unsigned chunk, bool waits)
        : both(chunk + 1 < kernel.problem.chunks) {
      const auto take = [&] {
        if (waits) bulk_copy::wait(kernel.full + place.stage * 8, place.parity);
        const unsigned taken = place.stage;
        place.advance(1, kernel.problem.stages);
        return taken;
      };
      stage[0] = take();
      stage[1] = both ? take() : stage[0];
    }
  };

  /// Where the planes of two chunks of W lie.
  struct RowsOfW {
    std::uint64_t first;

    template <class Kernel>
    __device__ RowsOfW(const Kernel& kernel, unsigned chunk, unsigned share)
        : first(wgmma::descriptor_of_rows(kernel.w + chunk / 2 * Kernel::w_block_bytes +
                                          share * (Kernel::group_outputs * block_bytes))) {}
    [[nodiscard]] __device__ std::uint64_t plane(unsigned chunk, unsigned q) const {
      return first + ((chunk * most_planes + q) * plane_bytes >> 4);
    }
  };

  template <class Kernel>
  static __device__ void multiply_tile(const Kernel& kernel, typename Kernel::Sums& sums, std::uint32_t (&x_sum)[2],
                                       Place& place, unsigned share) {
    const unsigned chunks = kernel.problem.chunks;
    ChunksOfX x;
    Place ahead = place;
#pragma unroll 1
    for (unsigned chunk = 0; chunk < chunks; chunk += 2) {
      kernel.wait_for_w(chunk / 2);
      const TwoStages at(kernel, ahead, chunk, true);
      const bool adds = kernel.args.w_scale.offsets != nullptr;
      load_chunk(x[0], kernel.rows_in(at.stage[0]), kernel.lane, adds, x_sum);
      load_chunk(x[1], kernel.rows_in(at.stage[1]), kernel.lane, adds && at.both, x_sum);
      const RowsOfW of_w(kernel, chunk, share);
      wgmma::begin_products();
#pragma unroll
      for (unsigned n = 0; n < 2; ++n) {
        wgmma::multiply_bits(sums, x[n][1], of_w.plane(n, 1), chunk != 0 || n != 0);
        wgmma::multiply_bits(sums, x[n][1], of_w.plane(n, 1), true);
        wgmma::multiply_bits(sums, x[n][1], of_w.plane(n, 0), true);
        wgmma::multiply_bits(sums, x[n][0], of_w.plane(n, 1), true);
      }
      wgmma::end_products();
      wgmma::wait_for_products<0>();
    }
#pragma unroll
    for (int& sum : sums) sum += sum;
#pragma unroll 1
    for (unsigned chunk = 0; chunk < chunks; chunk += 2) {
      const TwoStages at(kernel, place, chunk, false);
      if (chunks > 2) {
        load_chunk(x[0], kernel.rows_in(at.stage[0]), kernel.lane, false, x_sum);
        load_chunk(x[1], kernel.rows_in(at.stage[1]), kernel.lane, false, x_sum);
      }
      bulk_copy::arrive(kernel.empty + at.stage[0] * 8);
      if (at.both) bulk_copy::arrive(kernel.empty + at.stage[1] * 8);
      const RowsOfW of_w(kernel, chunk, share);
      wgmma::begin_products();
#pragma unroll
      for (unsigned n = 0; n < 2; ++n) wgmma::multiply_bits(sums, x[n][0], of_w.plane(n, 0), true);
      wgmma::end_products();
      wgmma::wait_for_products<0>();
    }
  }
};

}  // namespace bitgraph::level_cuda
