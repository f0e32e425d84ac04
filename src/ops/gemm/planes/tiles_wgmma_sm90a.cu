// SPDX-License-Identifier: Apache-2.0
// A graph in tiles of side 64 times bit planes, by wgmma. A slab of X has the rows of two columns of tiles, and an
// instruction takes two slabs, whatever lies between them. So a block has two rows of tiles, a group of four warps for
// each, and a stage has the next slabs that one of them meets, with both rows' tiles there: zeros for a tile that is
// not stored. Four warps merge the columns of both rows, and each brings one slab of a stage and its tiles, a few
// stages ahead. Tiles go from shared memory to registers; a loaded tile meets all planes of X (QGTC, section 4.4), and
// empty tiles are neither stored nor tested (4.3).
#include <bitgraph/core/kernel.cuh>

#include "core/cuda/bulk_copy.cuh"
#include "core/cuda/cooperative.cuh"
#include "core/cuda/launch.cuh"
#include "core/cuda/limits.hpp"
#include "ops/gemm/levels/cuda_tiles.cuh"
#include "ops/gemm/planes/sums.cuh"
#include "ops/gemm/planes/wgmma.hpp"
#include "ops/gemm/wgmma.cuh"

#include <algorithm>

namespace bitgraph::plane_cuda {

namespace {

using wgmma::group_threads;

constexpr unsigned groups = 2, threads = (groups + 1) * group_threads;
constexpr unsigned tile_rows = 64, tile_words = 64;
constexpr unsigned slab_tiles = 2;                   ///< columns of tiles that a slab of X meets
constexpr unsigned step_slabs = 2, stage_slabs = 4;  ///< of an instruction, of a stage
constexpr unsigned steps = stage_slabs / step_slabs;
static_assert(stage_slabs * 32 == group_threads);
constexpr unsigned piece_bytes = 16;  ///< of a column of X in a slab
/// Of a tile in a stage. The words that a warp reads of two neighbouring tiles lie in different banks.
constexpr unsigned tile_bytes = tile_words * 8 + 64;
constexpr unsigned group_bytes = stage_slabs * slab_tiles * tile_bytes;
constexpr unsigned most_stages = 8;
constexpr NodeId no_column = ~NodeId{0};

/// A product in pairs of rows of tiles by parts of X's columns.
struct Problem {
  PlaneGemmArgs args;
  unsigned column_parts = 1;
  std::size_t parts = 0;
};

/// The tiles of two rows that have not been brought yet, and the columns of the first ones: lane l has those of tile l.
struct TilesLeft {
  EdgeOffset first[groups] = {};
  unsigned count[groups] = {};
  NodeId columns[groups] = {};

  [[nodiscard]] __device__ bool any() const { return count[0] + count[1] != 0; }
  __device__ void load_columns(const BitTileView<64>& tiles) {
#pragma unroll
    for (unsigned g = 0; g < groups; ++g)
      columns[g] = threadIdx.x % 32 < count[g] ? __ldg(tiles.tile_col_ind + first[g] + threadIdx.x % 32) : no_column;
  }
};

[[nodiscard]] __device__ inline std::uint32_t shared_word(unsigned at) {
  std::uint32_t word = 0;
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(word) : "r"(at) : "memory");
  return word;
}

template <unsigned BitColumns, unsigned Planes>
struct Kernel {
  using Sums = PlaneSums<BitColumns, Planes>;
  using Counts = typename Sums::Counts;
  static constexpr unsigned octet_bytes = Planes * 8 * piece_bytes;
  static constexpr unsigned slab_bytes = BitColumns * piece_bytes;
  static constexpr unsigned x_bytes = stage_slabs * slab_bytes, stage_bytes = x_bytes + groups * group_bytes;
  static constexpr unsigned stages = std::min(most_stages, wgmma::shared_limit / stage_bytes);
  static constexpr unsigned shared_bytes = stages * stage_bytes + 128;  ///< begins at a multiple of 128
  static_assert(stages >= 2);

  const Problem& problem;
  const PlaneGemmArgs& args;
  bool* const is_last;                 ///< of each stage: the part ends with it
  const unsigned shared, full, empty;  ///< stages, and two barriers each

  unsigned stage = 0, parity = 0;

  __device__ void next_stage() {
    if (++stage == stages) stage = 0, parity ^= 1;
  }

  [[nodiscard]] __device__ TilesLeft tiles_of(std::size_t part) const {
    TilesLeft left;
    if (part >= problem.parts) return left;
    const std::size_t first_row = part / problem.column_parts * groups;
#pragma unroll
    for (unsigned g = 0; g < groups; ++g) {
      if (first_row + g >= args.tiles.num_tile_rows) continue;
      left.first[g] = args.tiles.tile_row_ptr[first_row + g];
      left.count[g] = static_cast<unsigned>(args.tiles.tile_row_ptr[first_row + g + 1] - left.first[g]);
    }
    return left;
  }

  /// By the third group, a warp for each slab of a stage. What the next part needs of the graph is asked for while this
  /// part's operands are.
  __device__ void bring_operands(TilesLeft left) {
    for (std::size_t part = blockIdx.x; part < problem.parts; part += gridDim.x) {
      const std::size_t first_octet = part % problem.column_parts * Sums::octets;
      TilesLeft next = tiles_of(part + gridDim.x);
      for (bool is_first = true; is_first || left.any(); is_first = false) {
        bulk_copy::wait(empty + stage * 8, parity ^ 1);
        bring_stage(left, first_octet);
        if (is_first) next.load_columns(args.tiles);
        next_stage();
      }
      left = next;
    }
  }

  /// The next slabs that one of the rows meets, of which each warp brings one. A slab that does not exist has zeros for
  /// tiles.
  __device__ void bring_stage(TilesLeft& left, std::size_t first_octet) const {
    const unsigned lane = threadIdx.x % 32, mine = threadIdx.x / 32 % stage_slabs;
    unsigned taken[groups] = {};
    NodeId my_slab = no_column;
    unsigned my_tiles[groups][slab_tiles] = {};  // the lane that knows of each, and one; 0: there is none
#pragma unroll
    for (unsigned s = 0; s < stage_slabs; ++s) {
      NodeId next = no_column;
#pragma unroll
      for (unsigned g = 0; g < groups; ++g) next = min(next, __shfl_sync(full_warp, left.columns[g], taken[g]));
      const NodeId slab = next == no_column ? no_column : next / slab_tiles;
      if (s == mine) my_slab = slab;
#pragma unroll
      for (unsigned g = 0; g < groups; ++g) {
        const NodeId column = left.columns[g];
        const unsigned found = __ballot_sync(full_warp, column / slab_tiles == slab && column != no_column);
        const unsigned upper = __ballot_sync(full_warp, column % slab_tiles != 0) & found;
        if (s == mine) {
          my_tiles[g][0] = static_cast<unsigned>(__ffs(static_cast<int>(found & ~upper)));
          my_tiles[g][1] = static_cast<unsigned>(__ffs(static_cast<int>(upper)));
        }
        taken[g] += __popc(found);
      }
    }
    const unsigned at = shared + stage * stage_bytes, barrier = full + stage * 8;
#pragma unroll
    for (unsigned g = 0; g < groups; ++g) {
#pragma unroll
      for (unsigned half = 0; half < slab_tiles; ++half) {
        const unsigned place = my_tiles[g][half];
        const EdgeOffset tile = left.first[g] + (place == 0 ? 0 : place - 1);
        level_cuda::copy_later<16>(
            at + x_bytes + g * group_bytes + (mine * slab_tiles + half) * tile_bytes + lane * 16,
            reinterpret_cast<const std::uint8_t*>(args.tiles.bit_tiles + tile * tile_words + lane * 2), place != 0);
      }
      left.first[g] += taken[g];
      left.count[g] -= taken[g];
    }
    bulk_copy::arrive_behind_copies(barrier);
    if (lane == 0) {
      if (mine == 0) is_last[stage] = !left.any();
      const auto width = static_cast<unsigned>(min(std::size_t{Sums::octets}, args.x.num_octets() - first_octet));
      const unsigned bytes = my_slab == no_column ? 0 : width * octet_bytes;
      bulk_copy::arrive_and_expect(barrier, bytes);
      if (bytes != 0) bulk_copy::bring(at + mine * slab_bytes, args.x.octet(my_slab, first_octet), bytes, barrier);
    }
    if (left.any()) left.load_columns(args.tiles);
  }

  /// What a lane has of a step's tiles, as the instruction takes it: of two rows the 32 bits that are its own, in each
  /// slab.
  __device__ void load_tiles(std::uint32_t (&rows)[4], unsigned group, unsigned step) const {
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4, place = lane % 4;
    const unsigned at = shared + stage * stage_bytes + x_bytes + group * group_bytes +
                        (step * step_slabs * slab_tiles + place / 2) * tile_bytes + (warp * 16 + lane / 4) * 8 +
                        place % 2 * 4;
#pragma unroll
    for (unsigned s = 0; s < step_slabs; ++s) {
      rows[2 * s] = shared_word(at + s * slab_tiles * tile_bytes);
      rows[2 * s + 1] = shared_word(at + s * slab_tiles * tile_bytes + 64);
    }
  }

  /// By a group: its row of tiles of each of the block's parts.
  __device__ void multiply(unsigned group) {
    for (std::size_t part = blockIdx.x; part < problem.parts; part += gridDim.x) {
      Counts counts;
      bool is_end = false;
      for (bool adds = false; !is_end; adds = true) {
        bulk_copy::wait(full + stage * 8, parity);
        is_end = is_last[stage];
        std::uint32_t rows[steps][4];
#pragma unroll
        for (unsigned step = 0; step < steps; ++step) load_tiles(rows[step], group, step);
        wgmma::begin_products();
#pragma unroll
        for (unsigned step = 0; step < steps; ++step) {
          const unsigned x = shared + stage * stage_bytes + step * step_slabs * slab_bytes;
          wgmma::multiply_bits(counts, rows[step], wgmma::descriptor(x, slab_bytes, 128, 0), adds || step != 0);
        }
        wgmma::end_products();
        wgmma::wait_for_products<0>();
        bulk_copy::arrive(empty + stage * 8);
        next_stage();
      }
      Sums{args.out.sums, args.a.nrows, args.x.ncols}.store(counts,
                                                            (part / problem.column_parts * groups + group) * tile_rows,
                                                            part % problem.column_parts * Sums::columns);
    }
  }
};

template <unsigned BitColumns, unsigned Planes>
__global__ void __launch_bounds__(threads, 1) plane_gemm_wgmma_tiles(const __grid_constant__ Problem problem) {
  using Made = Kernel<BitColumns, Planes>;
  extern __shared__ std::uint8_t memory[];
  __shared__ std::uint64_t barriers[2 * most_stages];
  __shared__ bool is_last[most_stages];
  const unsigned full = bulk_copy::shared_address(barriers), empty = full + most_stages * 8;
  Made kernel{problem, problem.args, is_last, (bulk_copy::shared_address(memory) + 127U) & ~127U, full, empty};
  if (threadIdx.x == 0) {
    for (unsigned s = 0; s < Made::stages; ++s) {
      bulk_copy::init(full + s * 8, stage_slabs + group_threads);
      bulk_copy::init(empty + s * 8, groups * group_threads);
    }
    bulk_copy::show_barriers();
  }
  __syncthreads();
  trigger_dependent_launch();
  wait_for_previous_kernel();  // it may have packed the tiles
  const unsigned group = threadIdx.x / group_threads;
  if (group < groups) {
    kernel.multiply(group);
  } else {
    TilesLeft left = kernel.tiles_of(blockIdx.x);
    left.load_columns(problem.args.tiles);
    kernel.bring_operands(left);
  }
}

template <unsigned BitColumns, unsigned Planes>
void launch(const Device& device, const PlaneGemmArgs& args) {
  using Made = Kernel<BitColumns, Planes>;
  constexpr std::size_t columns = Made::Sums::columns;
  Problem problem;
  problem.args = args;
  problem.column_parts = static_cast<unsigned>((args.x.ncols + columns - 1) / columns);
  problem.parts = (std::size_t{args.tiles.num_tile_rows} + groups - 1) / groups * problem.column_parts;
  const auto blocks = static_cast<unsigned>(std::min<std::size_t>(problem.parts, cuda_limits(device).multiprocessors));
  allow_shared_bytes(plane_gemm_wgmma_tiles<BitColumns, Planes>, Made::shared_bytes, "plane_gemm_wgmma_tiles");
  static ProgrammaticKernel kernel(plane_gemm_wgmma_tiles<BitColumns, Planes>, "plane_gemm_wgmma_tiles");
  kernel.launch(device, dim3(blocks), threads, Made::shared_bytes, problem);
}

/// The fewest bit columns that X fits, at most 256.
template <unsigned Planes>
void launch_fitting(const Device& device, const PlaneGemmArgs& args) {
  const std::size_t bit_columns = args.x.num_octets() * 8 * Planes;
  if (bit_columns <= 64) return launch<64, Planes>(device, args);
  if (bit_columns <= 128) return launch<128, Planes>(device, args);
  launch<256, Planes>(device, args);
}

}  // namespace

void multiply_tiles_by_wgmma(const Device& device, const PlaneGemmArgs& args) {
  switch (args.x.bits) {
    case 1: return launch_fitting<1>(device, args);
    case 2: return launch_fitting<2>(device, args);
    case 4: return launch_fitting<4>(device, args);
    default: return launch_fitting<8>(device, args);
  }
}

}  // namespace bitgraph::plane_cuda
