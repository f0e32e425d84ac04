// SPDX-License-Identifier: Apache-2.0
// A graph in tiles of side 64 times bit planes, by wgmma. A slab of X has the rows of two columns of tiles, and an
// instruction takes two slabs, whatever lies between them. So a block has two rows of tiles, a group of four warps for
// each, and a stage has the next four slabs that one of them meets, with both rows' tiles there: zeros for a tile that
// is not stored. Four more warps bring stages ahead, each one slab of a stage. They see the next 32 tiles of both rows,
// a lane one of each, and number the slabs of these at once; so a stage takes few instructions. Tiles of a row lie one
// after the other, and one copy brings those of a stage. A table says where the groups find them. Tiles go from shared
// memory to registers; a loaded tile meets all planes of X (QGTC, section 4.4), and empty tiles are neither stored nor
// tested (4.3).
#include <bitgraph/core/kernel.cuh>

#include "core/cuda/bulk_copy.cuh"
#include "core/cuda/cooperative.cuh"
#include "core/cuda/launch.cuh"
#include "core/cuda/limits.hpp"
#include "ops/gemm/planes/sums.cuh"
#include "ops/gemm/planes/wgmma.hpp"
#include "ops/gemm/wgmma.cuh"

#include <algorithm>

namespace bitgraph::plane_cuda {

namespace {

using wgmma::group_threads;

constexpr unsigned groups = 2, threads = (groups + 1) * group_threads;
constexpr unsigned tile_rows = 64, tile_words = 64, tile_bytes = tile_words * 8;
constexpr unsigned slab_tiles = 2;                   ///< columns of tiles that a slab of X meets
constexpr unsigned step_slabs = 2, stage_slabs = 4;  ///< of an instruction, of a stage
constexpr unsigned steps = stage_slabs / step_slabs;
static_assert(stage_slabs * 32 == group_threads && stage_slabs == 2 * groups);
constexpr unsigned stage_tiles = stage_slabs * slab_tiles;  ///< of a row
constexpr unsigned piece_bytes = 16;                        ///< of a column of X in a slab
constexpr unsigned group_bytes = stage_tiles * tile_bytes;
constexpr unsigned most_stages = 8;
constexpr NodeId no_column = ~NodeId{0}, no_slab = no_column / slab_tiles;
constexpr unsigned none = ~0U;

/// Two rows of tiles, and columns of X that are multiplied at once.
struct Part {
  unsigned rows = 0;  ///< which pair of rows
  unsigned columns = 0;
};

/// A product in parts. A block takes each part that is `step` behind the one before.
struct Problem {
  PlaneGemmArgs args;
  unsigned row_pairs = 0, column_parts = 1;
  Part step;

  [[nodiscard]] __device__ Part first() const { return {blockIdx.x / column_parts, blockIdx.x % column_parts}; }
  [[nodiscard]] __device__ Part behind(const Part& part) const {
    Part next{part.rows + step.rows, part.columns + step.columns};
    if (next.columns >= column_parts) {
      next.columns -= column_parts;
      ++next.rows;
    }
    return next;
  }
  [[nodiscard]] __device__ bool has(const Part& part) const { return part.rows < row_pairs; }
};

/// The tiles of two rows that have not been brought yet, and the columns of the first ones: lane l has those of tile l
/// and of tile 32 + l.
struct TilesLeft {
  EdgeOffset first[groups] = {}, last[groups] = {};
  NodeId columns[groups], later[groups];

  [[nodiscard]] __device__ unsigned count(unsigned g) const { return static_cast<unsigned>(last[g] - first[g]); }
  [[nodiscard]] __device__ NodeId column(const BitTileView<64>& tiles, unsigned g, unsigned n) const {
    return n < count(g) ? __ldg(tiles.tile_col_ind + first[g] + n) : no_column;
  }
  __device__ void load_columns(const BitTileView<64>& tiles) {
    const unsigned lane = threadIdx.x % 32;
#pragma unroll
    for (unsigned g = 0; g < groups; ++g) {
      columns[g] = column(tiles, g, lane);
      later[g] = column(tiles, g, lane + 32);
    }
  }
  /// The first tiles of a row have been brought.
  __device__ void drop(const BitTileView<64>& tiles, unsigned g, unsigned brought) {
    const unsigned lane = threadIdx.x % 32, from = lane + brought;
    const NodeId near = __shfl_sync(full_warp, columns[g], from), far = __shfl_sync(full_warp, later[g], from);
    columns[g] = from < 32 ? near : far;
    first[g] += brought;
    later[g] = column(tiles, g, lane + 32);
  }
};

/// How many of the lanes' slabs, which rise, are less than one.
[[nodiscard]] __device__ inline unsigned count_less(NodeId slabs, NodeId than) {
  unsigned less = 0;
#pragma unroll
  for (unsigned step = 16; step != 0; step /= 2) {
    if (__shfl_sync(full_warp, slabs, less + step - 1) < than) less += step;
  }
  return less + (__shfl_sync(full_warp, slabs, less) < than ? 1 : 0);
}

[[nodiscard]] __device__ inline bool has_lane(unsigned mask) { return (mask >> threadIdx.x % 32 & 1U) != 0; }
/// The bits of the first `count` lanes.
[[nodiscard]] __device__ inline unsigned lanes_below(unsigned count) {
  return count < 32 ? (1U << count) - 1 : full_warp;
}

/// The slabs of the first 32 tiles of two rows, numbered together as they rise.
struct NumberedSlabs {
  NodeId slab[groups];      ///< of the lane's tiles
  unsigned number[groups];  ///< of these slabs. None for a tile that is not there, or whose slab may be incomplete
  unsigned brings[groups];  ///< the same, where no tile before and none of the row before has this slab; else none
  unsigned count = 0;       ///< of numbers
  bool is_end = true;       ///< there are no more tiles

  __device__ explicit NumberedSlabs(const TilesLeft& left) {
    const unsigned lane = threadIdx.x % 32;
    NodeId limit = no_slab;  // from here on slabs may have tiles that are not seen
    unsigned heads[groups];  // the first tiles of slabs
#pragma unroll
    for (unsigned g = 0; g < groups; ++g) {
      slab[g] = left.columns[g] / slab_tiles;
      const NodeId before = __shfl_up_sync(full_warp, slab[g], 1);
      heads[g] = __ballot_sync(full_warp, slab[g] != no_slab && (lane == 0 || slab[g] != before));
      if (left.count(g) > 32) limit = min(limit, __shfl_sync(full_warp, slab[g], 31));
    }
    is_end = limit == no_slab;
    unsigned common[groups], seen[groups];
#pragma unroll
    for (unsigned g = 0; g < groups; ++g) {
      const unsigned less = count_less(slab[1 - g], slab[g]);
      const bool is_common = __shfl_sync(full_warp, slab[1 - g], less) == slab[g] && less < 32;
      common[g] = __ballot_sync(full_warp, is_common) & heads[g];
      seen[g] = __ballot_sync(full_warp, slab[g] < limit);
      // Of both rows all slabs up to this one, which is not counted. Those of both have been counted twice.
      const unsigned up_to_lane = full_warp >> (31 - lane);
      const unsigned in_row = __popc(heads[g] & up_to_lane), in_other = __popc(heads[1 - g] & lanes_below(less));
      const unsigned in_both = __popc(common[g] & up_to_lane);
      number[g] = has_lane(seen[g]) ? in_row + in_other - in_both - (is_common ? 0 : 1) : none;
    }
    count = __popc(heads[0] & seen[0]) + __popc(heads[1] & seen[1]) - __popc(common[0] & seen[0]);
    brings[0] = has_lane(heads[0]) ? number[0] : none;
    brings[1] = has_lane(heads[1] & ~common[1]) ? number[1] : none;
  }
};

[[nodiscard]] __device__ inline std::uint32_t shared_word(unsigned at) {
  std::uint32_t word = 0;
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(word) : "r"(at) : "memory");
  return word;
}
__device__ inline void store_shared_word(unsigned at, std::uint32_t word) {
  asm volatile("st.shared.b32 [%0], %1;" ::"r"(at), "r"(word) : "memory");
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
  const unsigned tables;               ///< of each stage: where the tiles of each row lie, two a slab
  const unsigned zeros;                ///< a tile that is not stored

  unsigned stage = 0, parity = 0;

  __device__ void next_stage() {
    if (++stage == stages) stage = 0, parity ^= 1;
  }
  [[nodiscard]] __device__ unsigned table_of(unsigned group) const {
    return tables + (stage * groups + group) * stage_tiles * 4;
  }

  [[nodiscard]] __device__ TilesLeft tiles_of(const Part& part) const {
    TilesLeft left;
    if (!problem.has(part)) return left;
#pragma unroll
    for (unsigned g = 0; g < groups; ++g) {
      const unsigned row = part.rows * groups + g;
      if (row >= args.tiles.num_tile_rows) continue;
      left.first[g] = __ldg(args.tiles.tile_row_ptr + row);
      left.last[g] = __ldg(args.tiles.tile_row_ptr + row + 1);
    }
    return left;
  }

  /// By the third group, a warp for each slab of a stage. Columns of tiles are asked for one part ahead, and where the
  /// rows of tiles begin two parts ahead.
  __device__ void bring_operands() {
    Part part = problem.first(), later = problem.behind(part);
    TilesLeft left = tiles_of(part);
    left.load_columns(args.tiles);
    TilesLeft next = tiles_of(later);
    for (; problem.has(part); part = later, later = problem.behind(later)) {
      next.load_columns(args.tiles);
      const TilesLeft after = tiles_of(problem.behind(later));
      bool has_more = true;
      while (has_more) has_more = bring_seen(left, std::size_t{part.columns} * Sums::octets);
      left = next;
      next = after;
    }
  }

  /// Brings tiles that are seen, and the slabs that they meet, in whole stages unless the rows end. Returns whether
  /// tiles are left.
  [[nodiscard]] __device__ bool bring_seen(TilesLeft& left, std::size_t first_octet) {
    const NumberedSlabs slabs(left);
    const unsigned whole_stages = slabs.count / stage_slabs;
    const unsigned num_stages = slabs.is_end ? max(1U, (slabs.count + stage_slabs - 1) / stage_slabs) : whole_stages;
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32 % stage_slabs;
    // Half of the warps bring the tiles of a row each, the others write their table.
    const unsigned g = warp % groups;
    const bool brings_tiles = warp < groups;
    const auto octets = static_cast<unsigned>(min(std::size_t{Sums::octets}, args.x.num_octets() - first_octet));
    const unsigned bytes_of_slab = octets * octet_bytes;
    const std::uint64_t* const x_0 = args.x.octet(slabs.slab[0], first_octet);
    const std::uint64_t* const x_1 = args.x.octet(slabs.slab[1], first_octet);
    const unsigned number = g == 0 ? slabs.number[0] : slabs.number[1];
    const unsigned half = (g == 0 ? left.columns[0] : left.columns[1]) % slab_tiles;
    const EdgeOffset first_tile = g == 0 ? left.first[0] : left.first[1];
    const std::uint64_t* const tile = args.tiles.bit_tiles + (first_tile + lane) * tile_words;
    unsigned brought = 0;
    for (unsigned s = 0; s < num_stages; ++s) {
      bulk_copy::wait(empty + stage * 8, parity ^ 1);
      const unsigned at = shared + stage * stage_bytes, barrier = full + stage * 8;
      const unsigned tiles_at = at + x_bytes + g * group_bytes;
      const bool is_taken = number / stage_slabs == s;
      const unsigned taken = __popc(__ballot_sync(full_warp, is_taken));
      const unsigned mine = s * stage_slabs + warp;
      if (!brings_tiles) {
        if (lane < stage_tiles) store_shared_word(table_of(g) + lane * 4, zeros);
        __syncwarp();
        const unsigned place = number % stage_slabs * slab_tiles + half;
        if (is_taken) store_shared_word(table_of(g) + place * 4, tiles_at + (lane - brought) * tile_bytes);
      }
      if (threadIdx.x % group_threads == 0) is_last[stage] = slabs.is_end && s + 1 == num_stages;
      const unsigned bytes = (mine < slabs.count ? bytes_of_slab : 0) + (brings_tiles ? taken * tile_bytes : 0);
      // Who has written tells the barrier.
      if (lane == 0) {
        bulk_copy::arrive_and_expect(barrier, bytes);
      } else if (!brings_tiles) {
        bulk_copy::arrive(barrier);
      }
      __syncwarp();
      if (slabs.brings[0] == mine || slabs.brings[1] == mine)
        bulk_copy::bring(at + warp * slab_bytes, slabs.brings[0] == mine ? x_0 : x_1, bytes_of_slab, barrier);
      if (brings_tiles && taken != 0 && lane == brought) bulk_copy::bring(tiles_at, tile, taken * tile_bytes, barrier);
      brought += taken;
      next_stage();
    }
    if (slabs.is_end) return false;
    const unsigned end = num_stages * stage_slabs;
#pragma unroll
    for (unsigned r = 0; r < groups; ++r)
      left.drop(args.tiles, r, __popc(__ballot_sync(full_warp, slabs.number[r] < end)));
    return true;
  }

  /// What a lane has of a step's tiles, as the instruction takes it: of two rows the 32 bits that are its own, in each
  /// slab.
  __device__ void load_tiles(std::uint32_t (&rows)[steps][4], unsigned group) const {
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4, place = lane % 4;
    const unsigned table = table_of(group) + place / 2 * 4;
    const unsigned in_tile = (warp * 16 + lane / 4) * 8 + place % 2 * 4;
#pragma unroll
    for (unsigned n = 0; n < stage_slabs; ++n) {
      const unsigned at = shared_word(table + n * slab_tiles * 4) + in_tile;
      rows[n / step_slabs][n % step_slabs * 2] = shared_word(at);
      rows[n / step_slabs][n % step_slabs * 2 + 1] = shared_word(at + 64);
    }
  }

  /// By a group: its row of tiles of each of the block's parts. The tiles of the next stage are read while this one's
  /// products run.
  __device__ void multiply(unsigned group) {
    for (Part part = problem.first(); problem.has(part); part = problem.behind(part)) {
      Counts counts;
      std::uint32_t rows[steps][4], next[steps][4];
      bulk_copy::wait(full + stage * 8, parity);
      bool is_end = is_last[stage];
      load_tiles(rows, group);
      for (bool adds = false;; adds = true) {
        wgmma::begin_products();
#pragma unroll
        for (unsigned step = 0; step < steps; ++step) {
          const unsigned x = shared + stage * stage_bytes + step * step_slabs * slab_bytes;
          wgmma::multiply_bits(counts, rows[step], wgmma::descriptor(x, slab_bytes, 128, 0), adds || step != 0);
        }
        wgmma::end_products();
        const unsigned done = empty + stage * 8;
        next_stage();
        const bool was_end = is_end;
        if (!was_end) {
          bulk_copy::wait(full + stage * 8, parity);
          is_end = is_last[stage];
          load_tiles(next, group);
        }
        wgmma::wait_for_products<0>();
        bulk_copy::arrive(done);
        if (was_end) break;
#pragma unroll
        for (unsigned step = 0; step < steps; ++step) {
#pragma unroll
          for (unsigned n = 0; n < 4; ++n) rows[step][n] = next[step][n];
        }
      }
      Sums{args.out.sums, args.a.nrows, args.x.ncols}.store(
          counts, (std::size_t{part.rows} * groups + group) * tile_rows, std::size_t{part.columns} * Sums::columns);
    }
  }
};

template <unsigned BitColumns, unsigned Planes>
__global__ void __launch_bounds__(threads, 1) plane_gemm_wgmma_tiles(const __grid_constant__ Problem problem) {
  using Made = Kernel<BitColumns, Planes>;
  extern __shared__ std::uint8_t memory[];
  __shared__ std::uint64_t barriers[2 * most_stages];
  __shared__ bool is_last[most_stages];
  __shared__ std::uint32_t tables[most_stages * groups * stage_tiles];
  __shared__ __align__(16) std::uint64_t zeros[tile_words];
  const unsigned full = bulk_copy::shared_address(barriers), empty = full + most_stages * 8;
  Made kernel{problem,
              problem.args,
              is_last,
              (bulk_copy::shared_address(memory) + 127U) & ~127U,
              full,
              empty,
              bulk_copy::shared_address(tables),
              bulk_copy::shared_address(zeros)};
  if (threadIdx.x < tile_words) zeros[threadIdx.x] = 0;
  if (threadIdx.x == 0) {
    for (unsigned s = 0; s < Made::stages; ++s) {
      bulk_copy::init(full + s * 8, groups * (1 + 32));  // of warps that bring tiles a lane, of the others all
      bulk_copy::init(empty + s * 8, groups * group_threads);
    }
    bulk_copy::show_barriers();
  }
  __syncthreads();
  trigger_dependent_launch();
  wait_for_previous_kernel();  // it may have packed the tiles
  const unsigned group = threadIdx.x / group_threads;
  group < groups ? kernel.multiply(group) : kernel.bring_operands();
}

template <unsigned BitColumns, unsigned Planes>
void launch(const Device& device, const PlaneGemmArgs& args) {
  using Made = Kernel<BitColumns, Planes>;
  constexpr std::size_t columns = Made::Sums::columns;
  const auto column_parts = static_cast<unsigned>((args.x.ncols + columns - 1) / columns);
  const unsigned row_pairs = (args.tiles.num_tile_rows + groups - 1) / groups;
  const auto blocks = static_cast<unsigned>(
      std::min<std::size_t>(std::size_t{row_pairs} * column_parts, cuda_limits(device).multiprocessors));
  const Problem problem{args, row_pairs, column_parts, {blocks / column_parts, blocks % column_parts}};
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
