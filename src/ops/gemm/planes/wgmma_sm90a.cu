// SPDX-License-Identifier: Apache-2.0
// Products of bit planes by wgmma. What bounds them is the way from the second cache to shared memory, so a block has
// many bit columns, 256 where X is that wide: all planes of some columns, which are joined in registers at the end. A
// warp brings operands a few stages ahead: of A, 1,024 bits of each row; of X, the slabs as they lie. Two groups of
// four warps multiply. They have 64 rows each, or, of a product too small to fill the device, the same 64 rows and half
// of the bits each. Planes of A come one after the other, the highest first, and sums double in between.
#include <bitgraph/core/kernel.cuh>

#include "core/cuda/bulk_copy.cuh"
#include "core/cuda/cooperative.cuh"
#include "core/cuda/launch.cuh"
#include "core/cuda/limits.hpp"
#include "core/cuda/tensor_map.cuh"
#include "ops/gemm/planes/sums.cuh"
#include "ops/gemm/planes/wgmma.hpp"
#include "ops/gemm/wgmma.cuh"

#include <algorithm>

namespace bitgraph::plane_cuda {

namespace {

using wgmma::group_threads;

constexpr unsigned groups = 2, threads = (groups + 1) * group_threads;
constexpr unsigned group_rows = 64;
constexpr unsigned row_bytes = 128;                                        ///< of a row of A in a stage
constexpr unsigned piece_bytes = 16;                                       ///< of a column of X in a slab
constexpr unsigned stage_slabs = row_bytes / piece_bytes, step_slabs = 2;  ///< an instruction takes two
constexpr unsigned steps = stage_slabs / step_slabs;
constexpr unsigned most_stages = 8;

/// A product in tiles of the output.
struct Problem {
  PlaneGemmArgs args;
  unsigned slabs = 0, chunks = 0;  ///< of the columns of A: slabs, and stages that they fill
  unsigned column_tiles = 1;
  unsigned first_plane = 0;  ///< of X; with one behind the first its sums are added to the output
  unsigned tiles = 0;        ///< in 32 bits, as a block divides their numbers
};

/// X: pieces of one slab follow one another, column by column; the next slab begins `slab_bytes` later.
__device__ inline std::uint64_t descriptor_of_slabs(unsigned address, unsigned slab_bytes) {
  return wgmma::descriptor(address, slab_bytes, 128, 0);
}

/// `BitColumns` hold `Planes` planes of as many octets of columns as fit. With `Split` both groups have the same rows.
template <unsigned BitColumns, unsigned Planes, bool Split>
struct Kernel {
  using Sums = PlaneSums<BitColumns, Planes>;
  using Counts = typename Sums::Counts;
  static constexpr unsigned octets = Sums::octets, columns = Sums::columns;
  static constexpr unsigned rows = Split ? group_rows : groups * group_rows;
  static constexpr unsigned octet_bytes = Planes * 8 * piece_bytes;
  static constexpr unsigned slab_bytes = BitColumns * piece_bytes;
  static constexpr unsigned a_bytes = rows * row_bytes, stage_bytes = a_bytes + stage_slabs * slab_bytes;
  static constexpr unsigned stages = std::min(most_stages, wgmma::shared_limit / stage_bytes);
  static constexpr unsigned shared_bytes = stages * stage_bytes + 1024;  ///< begins at a multiple of 1,024
  static_assert(stages >= 2);

  const Problem& problem;
  const PlaneGemmArgs& args;
  const unsigned shared, full, empty;  ///< stages, and two barriers each

  unsigned stage = 0, parity = 0;

  __device__ Kernel(const Problem& of, unsigned memory, unsigned barriers)
      : problem(of), args(of.args), shared(memory), full(barriers), empty(barriers + most_stages * 8) {}

  __device__ void next_stage() {
    if (++stage == stages) stage = 0, parity ^= 1;
  }

  /// The planes of an octet that are multiplied.
  [[nodiscard]] __device__ const std::uint64_t* from(unsigned chunk, unsigned slab, std::size_t octet) const {
    return args.x.octet(std::size_t{chunk} * stage_slabs + slab, octet) + problem.first_plane * 16;
  }

  /// By one warp. Octets lie one after the other if all of their planes are multiplied.
  __device__ void bring_operands(const CUtensorMap* map) {
    const unsigned lane = threadIdx.x % 32;
    for (unsigned tile = blockIdx.x; tile < problem.tiles; tile += gridDim.x) {
      const std::size_t first_row = std::size_t{tile / problem.column_tiles} * rows;
      const std::size_t first_octet = std::size_t{tile % problem.column_tiles} * octets;
      const auto width = static_cast<unsigned>(min(std::size_t{octets}, args.x.num_octets() - first_octet));
      for (int plane = args.a.bits - 1; plane >= 0; --plane) {
        for (unsigned chunk = 0; chunk < problem.chunks; ++chunk) {
          const unsigned slabs = min(stage_slabs, problem.slabs - chunk * stage_slabs);
          const unsigned to = shared + stage * stage_bytes, barrier = full + stage * 8;
          bulk_copy::wait(empty + stage * 8, parity ^ 1);
          if (lane == 0) {
            bulk_copy::arrive_and_expect(barrier, a_bytes + slabs * width * octet_bytes);
            bulk_copy::bring_box(to, map, static_cast<int>(chunk * row_bytes), plane, static_cast<int>(first_row),
                                 barrier);
          }
          __syncwarp();
          if (Planes == static_cast<unsigned>(args.x.bits)) {
            if (lane < slabs)
              bulk_copy::bring(to + a_bytes + lane * slab_bytes, from(chunk, lane, first_octet), width * octet_bytes,
                               barrier);
          } else {
            for (unsigned n = lane; n < slabs * width; n += 32) {
              const unsigned s = n / width, o = n % width;
              bulk_copy::bring(to + a_bytes + s * slab_bytes + o * octet_bytes, from(chunk, s, first_octet + o),
                               octet_bytes, barrier);
            }
          }
          next_stage();
        }
      }
    }
  }

  /// Adds a stage to the counts of a group: behind the last slab A has zeros.
  __device__ void multiply_stage(Counts& counts, unsigned group) const {
    const unsigned at = shared + stage * stage_bytes;
    constexpr unsigned mine = Split ? steps / groups : steps;
    constexpr unsigned a_step = step_slabs * piece_bytes, x_step = step_slabs * slab_bytes;
    const unsigned first = Split ? group * mine : 0, skipped = Split ? 0 : group * group_rows * row_bytes;
    const std::uint64_t a = wgmma::descriptor_of_rows(at + skipped + first * a_step);
    const std::uint64_t x = descriptor_of_slabs(at + a_bytes + first * x_step, slab_bytes);
    wgmma::begin_products();
#pragma unroll
    for (unsigned n = 0; n < mine; ++n) wgmma::multiply_bits(counts, a + n * (a_step >> 4), x + n * (x_step >> 4));
    wgmma::end_products();
  }

  /// By the thread of each warp that speaks for it: a stage may be filled again.
  __device__ void give_back(unsigned given) const {
    if (threadIdx.x % 32 == 0) bulk_copy::arrive(empty + given * 8);
  }

  /// By a group: all tiles of the block.
  __device__ void multiply(unsigned group) {
    for (unsigned tile = blockIdx.x; tile < problem.tiles; tile += gridDim.x) {
      Counts counts;
#pragma unroll
      for (int& each : counts) each = 0;
      unsigned last = most_stages;  // none
      for (int plane = args.a.bits - 1; plane >= 0; --plane) {
        for (unsigned chunk = 0; chunk < problem.chunks; ++chunk) {
          bulk_copy::wait(full + stage * 8, parity);
          multiply_stage(counts, group);
          wgmma::wait_for_products<1>();
          if (last != most_stages) give_back(last);
          last = stage;
          next_stage();
        }
        if (plane == 0) break;
        wgmma::wait_for_products<0>();
        give_back(last);
        last = most_stages;
#pragma unroll
        for (int& each : counts) each <<= 1;
      }
      wgmma::wait_for_products<0>();
      give_back(last);
      if constexpr (Split) {
        if (!join(counts, group)) continue;
      }
      Sums{args.out.sums, args.a.nrows, args.x.ncols, problem.first_plane}.store(
          counts, std::size_t{tile / problem.column_tiles} * rows + (Split ? 0 : group * group_rows),
          std::size_t{tile % problem.column_tiles} * columns);
    }
  }

  /// Waits for both groups.
  __device__ static void meet() { asm volatile("bar.sync 1, %0;" ::"n"(groups * group_threads) : "memory"); }

  /// Adds the counts of the second group to those of the first one, by way of the stages: nobody fills them any more,
  /// as a block has one tile, and nobody reads them once both groups are done. True for the first group.
  __device__ bool join(Counts& counts, unsigned group) const {
    const unsigned to = shared + threadIdx.x % group_threads * 4;
    meet();
    if (group == 1) {
#pragma unroll
      for (unsigned n = 0; n < BitColumns / 2; ++n)
        asm volatile("st.shared.b32 [%0], %1;" ::"r"(to + n * group_threads * 4), "r"(counts[n]) : "memory");
    }
    meet();
    if (group == 1) return false;
#pragma unroll
    for (unsigned n = 0; n < BitColumns / 2; ++n) {
      int other = 0;
      asm volatile("ld.shared.b32 %0, [%1];" : "=r"(other) : "r"(to + n * group_threads * 4) : "memory");
      counts[n] += other;
    }
    return true;
  }
};

template <unsigned BitColumns, unsigned Planes, bool Split>
__global__ void __launch_bounds__(threads, 1)
    plane_gemm_wgmma(const __grid_constant__ CUtensorMap map, const __grid_constant__ Problem problem) {
  using Made = Kernel<BitColumns, Planes, Split>;
  extern __shared__ std::uint8_t memory[];
  __shared__ std::uint64_t barriers[2 * most_stages];
  Made kernel(problem, (bulk_copy::shared_address(memory) + 1023U) & ~1023U, bulk_copy::shared_address(barriers));
  if (threadIdx.x == 0) {
    for (unsigned s = 0; s < Made::stages; ++s) {
      bulk_copy::init(kernel.full + s * 8, 1);
      bulk_copy::init(kernel.empty + s * 8, groups * group_threads / 32);
    }
    bulk_copy::show_barriers();
  }
  __syncthreads();
  trigger_dependent_launch();
  wait_for_previous_kernel();
  const unsigned group = threadIdx.x / group_threads;
  if (group < groups) {
    kernel.multiply(group);
  } else if (threadIdx.x / 32 == groups * group_threads / 32) {
    kernel.bring_operands(&map);
  }
}

/// Rows of A as boxes of 1,024 bits of so many rows of one plane.
CUtensorMap map_of(const BitPlanesView<>& a, unsigned rows) {
  const std::size_t plane_bytes = words_for_bits(a.ncols) * sizeof(std::uint64_t);
  return tensor_map({a.words, plane_bytes, static_cast<std::size_t>(a.bits), a.nrows}, {row_bytes, 1, rows});
}

std::size_t up(std::size_t count, std::size_t unit) { return (count + unit - 1) / unit; }

template <unsigned BitColumns, unsigned Planes, bool Split>
void launch(const Device& device, const PlaneGemmArgs& args, unsigned first_plane) {
  using Made = Kernel<BitColumns, Planes, Split>;
  Problem problem;
  problem.args = args;
  problem.first_plane = first_plane;
  problem.slabs = static_cast<unsigned>(args.x.num_slabs());
  problem.chunks = (problem.slabs + stage_slabs - 1) / stage_slabs;
  problem.column_tiles = static_cast<unsigned>(up(args.x.ncols, Made::columns));
  problem.tiles = static_cast<unsigned>(up(args.a.nrows, Made::rows)) * problem.column_tiles;
  const unsigned blocks = std::min<unsigned>(problem.tiles, cuda_limits(device).multiprocessors);
  allow_shared_bytes(plane_gemm_wgmma<BitColumns, Planes, Split>, Made::shared_bytes, "plane_gemm_wgmma");
  static ProgrammaticKernel kernel(plane_gemm_wgmma<BitColumns, Planes, Split>, "plane_gemm_wgmma");
  kernel.launch(device, dim3(blocks), threads, Made::shared_bytes, map_of(args.a, Made::rows), problem);
}

/// The fewest bit columns whose blocks, with the bits of a row split, are no more than multiprocessors; else blocks of
/// whole rows with the most bit columns that X fills.
template <unsigned BitColumns, unsigned Planes>
void launch_fitting(const Device& device, const PlaneGemmArgs& args, unsigned first_plane) {
  constexpr std::size_t columns = Kernel<BitColumns, Planes, true>::columns;
  if (up(args.a.nrows, group_rows) * up(args.x.ncols, columns) <= cuda_limits(device).multiprocessors)
    return launch<BitColumns, Planes, true>(device, args, first_plane);
  if constexpr (BitColumns < 256) {
    if (args.x.ncols > columns) return launch_fitting<BitColumns * 2, Planes>(device, args, first_plane);
  }
  launch<BitColumns, Planes, false>(device, args, first_plane);
}

void launch_planes(const Device& device, const PlaneGemmArgs& args, unsigned first, unsigned planes) {
  switch (planes) {
    case 1: return launch_fitting<32, 1>(device, args, first);
    case 2: return launch_fitting<32, 2>(device, args, first);
    case 3: return launch_fitting<32, 3>(device, args, first);
    case 4: return launch_fitting<32, 4>(device, args, first);
    case 5: return launch_fitting<64, 5>(device, args, first);
    case 6: return launch_fitting<64, 6>(device, args, first);
    case 7: return launch_fitting<64, 7>(device, args, first);
    case 16: return launch_fitting<256, 16>(device, args, first);
    default: return launch_fitting<64, 8>(device, args, first);
  }
}

}  // namespace

void multiply_by_wgmma(const Device& device, const PlaneGemmArgs& args) {
  const auto planes = static_cast<unsigned>(args.x.bits);
  const unsigned most_planes = planes == 16 ? 16 : 8;
  for (unsigned first = 0; first < planes; first += most_planes)
    launch_planes(device, args, first, std::min(most_planes, planes - first));
}

}  // namespace bitgraph::plane_cuda
