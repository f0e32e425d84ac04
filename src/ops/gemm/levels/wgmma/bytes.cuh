// SPDX-License-Identifier: Apache-2.0
// Products of levels by wgmma of bytes. W lies in shared memory as bytes: an image comes as it lies, rows of W without
// one are put in its order. X comes to groups through registers, where nibbles become bytes while the products before
// are under way.
#pragma once

#include "core/cuda/bulk_copy.cuh"
#include "ops/gemm/levels/cuda_tiles.cuh"
#include "ops/gemm/levels/wgmma/stages.cuh"
#include "ops/gemm/wgmma.cuh"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace bitgraph::level_cuda {

constexpr unsigned block_steps = block_bytes / step;
constexpr unsigned steps_at_once = 2;  ///< whose rows of X are in registers, while as many others are multiplied

/// Levels of X have `XBits` bits in memory, 4 or 8.
template <unsigned XBits>
struct Bytes {
  static constexpr unsigned x_bits = XBits;
  static constexpr LevelPacking x_packing = LevelPacking::places;
  static constexpr bool packs_planes = false;
  static constexpr unsigned chunk_columns = block_bytes * 8 / XBits;
  static constexpr unsigned chunk_steps = chunk_columns / step;
  static constexpr unsigned unit_blocks = chunk_steps / block_steps;  ///< of W, that a chunk of X meets
  static unsigned w_blocks(unsigned chunks) { return chunks * unit_blocks; }
  static unsigned fewest_stages(unsigned /*chunks*/) { return 4; }

  using StepsOfX = std::uint32_t[steps_at_once][4];

  template <class Kernel>
  static __device__ void bring_w(const Kernel& kernel) {
    constexpr unsigned all = multiplying_threads, at_once = 8, outputs = Kernel::block_outputs;
    const unsigned steps = kernel.problem.w_blocks * block_steps;
    for (unsigned begin = threadIdx.x; begin < outputs * steps; begin += at_once * all) {
      // Lanes have four steps of eight outputs: whole lines of memory, and different banks.
      const auto output_of = [](unsigned n) { return n / block_steps % outputs; };
      const auto step_of = [](unsigned n) { return n / (block_steps * outputs) * block_steps + n % block_steps; };
      StepOfW pieces[at_once];
#pragma unroll
      for (unsigned k = 0; k < at_once; ++k)
        load_step_of_w(pieces[k], kernel.args, kernel.first_output + output_of(begin + k * all),
                       step_of(begin + k * all));
#pragma unroll
      for (unsigned k = 0; k < at_once; ++k) {
        const unsigned f = output_of(begin + k * all), s = step_of(begin + k * all);
        if (s >= steps) break;
        const unsigned row = kernel.w + s / block_steps * Kernel::w_block_bytes + f * block_bytes;
        const unsigned at = s % block_steps * 2;
        order_step_of_w<XBits>(pieces[k]);
        store_piece(row + place_of_piece(f, at), pieces[k][0]);
        store_piece(row + place_of_piece(f, at + 1), pieces[k][1]);
      }
    }
  }

  /// A group's rows of some steps of a chunk, as instructions take them.
  static __device__ void load_steps(StepsOfX& a, unsigned rows, unsigned lane, unsigned first) {
    if constexpr (XBits == 4) {
      static_assert(steps_at_once == 2);
      std::uint32_t raw[4];
      load_matrices(raw, rows + place_of_piece(lane, first + lane / 16));
#pragma unroll
      for (unsigned s = 0; s < 2; ++s) {
        a[s][0] = raw[2 * s] & 0x0F0F0F0FU;
        a[s][1] = raw[2 * s + 1] & 0x0F0F0F0FU;
        a[s][2] = raw[2 * s] >> 4 & 0x0F0F0F0FU;
        a[s][3] = raw[2 * s + 1] >> 4 & 0x0F0F0F0FU;
      }
    } else {
#pragma unroll
      for (unsigned s = 0; s < steps_at_once; ++s)
        load_matrices(a[s], rows + place_of_piece(lane, 2 * (first + s) + lane / 16));
    }
  }

  /// Adds the levels of a thread's two rows.
  static __device__ void add_levels(std::uint32_t (&x_sum)[2], const StepsOfX& a) {
    constexpr std::uint32_t ones = 0x01010101U;
#pragma unroll
    for (unsigned r = 0; r < 2; ++r) {
      if constexpr (XBits == 4) {  // four of at most 15 fit a byte
        x_sum[r] = __dp4a(a[0][r] + a[0][r + 2] + a[1][r] + a[1][r + 2], ones, x_sum[r]);
      } else {
#pragma unroll
        for (const auto& of_step : a) x_sum[r] = __dp4a(of_step[r], ones, __dp4a(of_step[r + 2], ones, x_sum[r]));
      }
    }
  }

  /// Adds the products of a chunk. Those of `a[1]` may still be under way before and after it; a[0] is free.
  template <class Kernel>
  static __device__ void multiply_chunk(const Kernel& kernel, typename Kernel::Sums& sums, StepsOfX (&a)[2],
                                        std::uint32_t (&x_sum)[2], unsigned chunk, unsigned share, unsigned stage) {
    static_assert(2 * steps_at_once == block_steps);
    const unsigned rows = kernel.rows_in(stage);
    const unsigned steps = min(chunk_steps, kernel.problem.steps - chunk * chunk_steps);
    const unsigned block = chunk * unit_blocks;
    std::uint64_t of_w = wgmma::descriptor_of_rows(kernel.w + block * Kernel::w_block_bytes +
                                                   share * (Kernel::group_outputs * block_bytes));
#pragma unroll 1
    for (unsigned first = 0; first < steps; first += block_steps) {
#pragma unroll
      for (unsigned half = 0; half < 2; ++half) {
        load_steps(a[half], rows, kernel.lane, first + half * steps_at_once);
        if (kernel.args.w_scale.offsets != nullptr) add_levels(x_sum, a[half]);
        wgmma::begin_products();
#pragma unroll
        for (unsigned s = 0; s < steps_at_once; ++s)
          wgmma::multiply_bytes(sums, a[half][s], of_w + (half * steps_at_once + s) * (step >> 4),
                                chunk != 0 || first != 0 || half != 0 || s != 0);
        wgmma::end_products();
        wgmma::wait_for_products<1>();
      }
      of_w += Kernel::w_block_bytes >> 4;
    }
    bulk_copy::arrive(kernel.empty + stage * 8);
  }

  template <class Kernel>
  static __device__ void multiply_tile(const Kernel& kernel, typename Kernel::Sums& sums, std::uint32_t (&x_sum)[2],
                                       Place& place, unsigned share) {
    StepsOfX a[2];
#pragma unroll 1
    for (unsigned chunk = 0; chunk < kernel.problem.chunks; ++chunk) {
      kernel.wait_for_w(chunk);
      bulk_copy::wait(kernel.full + place.stage * 8, place.parity);
      multiply_chunk(kernel, sums, a, x_sum, chunk, share, place.stage);
      place.advance(1, kernel.problem.stages);
    }
  }
};

}  // namespace bitgraph::level_cuda
