// SPDX-License-Identifier: Apache-2.0
// Products of levels of two bits by wgmma of single bits (QGTC, section 3.1): plane p of X and plane q of W meet in
// ANDs whose ones are counted, and a count weighs 2^(p + q). All counts but those of weight 1 come first, those of
// weight 4 twice; then the sums double, and the others follow. That is ten instructions for 512 columns, where bytes
// need sixteen. X comes as nibbles, which become planes on their way to registers, or in planes; W has an image in
// planes.
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

/// A group's rows of 512 columns of X, as instructions take them, in two halves of columns: of a plane 128 columns of a
/// thread's first row, of its second one, and the other 128 columns of both.
using PlanesOfX = std::uint32_t[2][most_planes][4];

/// Where a group is in the stages of its tile, and what it does with those of 512 columns, which X has in nibbles: two
/// chunks. Of a last chunk alone twice the same, as W has zeros there.
class NibbleStages {
 public:
  static constexpr unsigned x_bits = 4;  ///< of a level in memory
  static constexpr LevelPacking packing = LevelPacking::places;
  static constexpr unsigned chunks = 2;

  /// Those from `place` on, which is then behind them. `waits`: until they are there.
  template <class Kernel>
  __device__ NibbleStages(const Kernel& kernel, Place& place, unsigned chunk, bool waits)
      : both_(chunk + 1 < kernel.problem.chunks) {
    const auto take = [&] {
      if (waits) bulk_copy::wait(kernel.full + place.stage * 8, place.parity);
      const unsigned taken = place.stage;
      place.advance(1, kernel.problem.stages);
      return taken;
    };
    stage_[0] = take();
    stage_[1] = both_ ? take() : stage_[0];
  }

  /// `adds`: the levels of the thread's two rows are added to `x_sum`.
  template <class Kernel>
  __device__ void load(const Kernel& kernel, PlanesOfX& x, bool adds, std::uint32_t (&x_sum)[2]) const {
    load_chunk(x[0], kernel.rows_in(stage_[0]), kernel.lane, adds, x_sum);
    load_chunk(x[1], kernel.rows_in(stage_[1]), kernel.lane, adds && both_, x_sum);
  }

  template <class Kernel>
  __device__ void give_back(const Kernel& kernel) const {
    bulk_copy::arrive(kernel.empty + stage_[0] * 8);
    if (both_) bulk_copy::arrive(kernel.empty + stage_[1] * 8);
  }

 private:
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

  unsigned stage_[2];
  bool both_;
};

/// The same of an X in planes: one chunk. Lane q of a quad has columns 64 q to 64 q + 63 of each half.
class PackedStages {
 public:
  static constexpr unsigned x_bits = 2;
  static constexpr LevelPacking packing = LevelPacking::planes;
  static constexpr unsigned chunks = 1;

  template <class Kernel>
  __device__ PackedStages(const Kernel& kernel, Place& place, unsigned /*chunk*/, bool waits) : stage_(place.stage) {
    if (waits) bulk_copy::wait(kernel.full + place.stage * 8, place.parity);
    place.advance(1, kernel.problem.stages);
  }

  template <class Kernel>
  __device__ void load(const Kernel& kernel, PlanesOfX& x, bool adds, std::uint32_t (&x_sum)[2]) const {
    const unsigned first = kernel.rows_of_warp(stage_);
#pragma unroll
    for (unsigned r = 0; r < 2; ++r) {
      const unsigned row = kernel.lane / 4 + 8 * r;
      std::uint32_t lower = 0, upper = 0;
#pragma unroll
      for (unsigned half = 0; half < 2; ++half) {
        const uint4 words = load_piece(first + row * block_bytes + place_of_piece(row, 4 * half + kernel.lane % 4));
        x[half][0][r] = words.x;
        x[half][0][2 + r] = words.y;
        x[half][1][r] = words.z;
        x[half][1][2 + r] = words.w;
        if (!adds) continue;
        lower += static_cast<std::uint32_t>(__popc(words.x) + __popc(words.y));
        upper += static_cast<std::uint32_t>(__popc(words.z) + __popc(words.w));
      }
      if (adds) x_sum[r] += lower + 2 * upper;
    }
  }

  template <class Kernel>
  __device__ void give_back(const Kernel& kernel) const {
    bulk_copy::arrive(kernel.empty + stage_ * 8);
  }

 private:
  unsigned stage_;
};

/// X and W have two planes; where there is one, the other has no ones.
template <class Stages>
struct PlanesBy {
  static constexpr unsigned x_bits = Stages::x_bits;
  static constexpr LevelPacking x_packing = Stages::packing;
  static constexpr bool packs_planes = x_packing == LevelPacking::planes;  ///< levels out may be in planes
  static constexpr unsigned chunk_columns = block_bytes * 8 / x_bits;
  static constexpr unsigned half_columns = 256, plane_bytes = half_columns / 8;  ///< of a row of W
  static_assert(2 * half_columns == Stages::chunks * chunk_columns);
  static_assert(2 * most_planes * plane_bytes == block_bytes);
  static constexpr unsigned unit_blocks = 1;

  /// A block of W has the planes of 512 columns.
  static unsigned w_blocks(unsigned chunks) { return (chunks + Stages::chunks - 1) / Stages::chunks; }
  /// All chunks of a tile are there until it is multiplied.
  static unsigned fewest_stages(unsigned chunks) { return std::max(4U, chunks); }

  template <class Kernel>
  static __device__ void bring_w(const Kernel& /*kernel*/) {}  // there is an image

  /// Where the planes of 512 columns of W lie.
  struct RowsOfW {
    std::uint64_t first;

    template <class Kernel>
    __device__ RowsOfW(const Kernel& kernel, unsigned block, unsigned share)
        : first(wgmma::descriptor_of_rows(kernel.w + block * Kernel::w_block_bytes +
                                          share * (Kernel::group_outputs * block_bytes))) {}
    [[nodiscard]] __device__ std::uint64_t plane(unsigned half, unsigned q) const {
      return first + ((half * most_planes + q) * plane_bytes >> 4);
    }
  };

  template <class Kernel>
  static __device__ void multiply_tile(const Kernel& kernel, typename Kernel::Sums& sums, std::uint32_t (&x_sum)[2],
                                       Place& place, unsigned share) {
    const unsigned chunks = kernel.problem.chunks;
    PlanesOfX x;
    Place ahead = place;
#pragma unroll 1
    for (unsigned chunk = 0; chunk < chunks; chunk += Stages::chunks) {
      kernel.wait_for_w(chunk / Stages::chunks);
      Stages(kernel, ahead, chunk, true).load(kernel, x, kernel.args.w_scale.offsets != nullptr, x_sum);
      const RowsOfW of_w(kernel, chunk / Stages::chunks, share);
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
    for (unsigned chunk = 0; chunk < chunks; chunk += Stages::chunks) {
      const Stages at(kernel, place, chunk, false);
      if (chunks > Stages::chunks) at.load(kernel, x, false, x_sum);
      at.give_back(kernel);
      const RowsOfW of_w(kernel, chunk / Stages::chunks, share);
      wgmma::begin_products();
#pragma unroll
      for (unsigned n = 0; n < 2; ++n) wgmma::multiply_bits(sums, x[n][0], of_w.plane(n, 0), true);
      wgmma::end_products();
      wgmma::wait_for_products<0>();
    }
  }
};
using Planes = PlanesBy<NibbleStages>;
using PackedPlanes = PlanesBy<PackedStages>;

}  // namespace bitgraph::level_cuda
