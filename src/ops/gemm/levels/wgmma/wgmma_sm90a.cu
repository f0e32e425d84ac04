// SPDX-License-Identifier: Apache-2.0
// Products of levels by wgmma. A block keeps its outputs' rows of W in shared memory, in the order that descriptors
// name, and goes through tiles of 64 rows of X. A thread brings X, packed, some chunks ahead. Four groups of four warps
// have tiles in turns, so that some multiply while others make levels of their sums; of more than 128 outputs a group
// has half, since the unrolled code behind the sums of all would not fit the instruction cache. A `Way` says how W lies
// there and how a tile is multiplied: by bytes (bytes.cuh) or by planes of bits (planes.cuh).
#include "core/cuda/bulk_copy.cuh"
#include "core/cuda/cooperative.cuh"
#include "core/cuda/launch.cuh"
#include "core/cuda/limits.hpp"
#include "core/cuda/tensor_map.cuh"
#include "ops/gemm/levels/cuda_tiles.cuh"
#include "ops/gemm/levels/wgmma/bytes.cuh"
#include "ops/gemm/levels/wgmma/image_order.hpp"
#include "ops/gemm/levels/wgmma/planes.cuh"
#include "ops/gemm/levels/wgmma/stages.cuh"
#include "ops/gemm/levels/wgmma/store.cuh"
#include "ops/gemm/levels/wgmma/wgmma.hpp"
#include "ops/gemm/wgmma.cuh"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace bitgraph::level_cuda {

namespace {

constexpr unsigned tile_rows = 64;
constexpr unsigned chunk_bytes = tile_rows * block_bytes;

/// Registers of a thread: as many as the compiler gives to all of a block that is alone, then more to groups that
/// multiply and fewer to the one that brings X. A block that asks for more than it was given waits for ever.
constexpr unsigned registers = (65536 / threads) / 8 * 8, more_registers = 112, fewer_registers = 32;
static_assert(groups * more_registers + fewer_registers <= (groups + 1) * registers);
__device__ inline void take_registers() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(more_registers)); }
__device__ inline void give_registers() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(fewer_registers)); }

static_assert(most_stages * Planes::chunk_columns >= cuda_gemm_tuning().most_columns_for_planes);

/// A product in tiles of rows.
struct Problem {
  LevelGemmArgs args;
  unsigned chunks = 0;    ///< of a row of X
  unsigned steps = 0;     ///< of 32 columns, the same
  unsigned w_blocks = 0;  ///< of 128 bytes of a row of W
  bool by_boxes = false;  ///< X comes by a tensor map
  unsigned stages = 0;
  unsigned turns = 0;  ///< tiles of a block that are multiplied at a time
  unsigned tiles = 0;
};

/// `Shares` groups have `Outputs` each of a tile. `ByRows`: see TileStore.
template <class Way, unsigned Outputs, unsigned Shares, bool ByRows>
struct Kernel {
  static constexpr unsigned group_outputs = Outputs;
  static constexpr unsigned block_outputs = Outputs * Shares;
  static constexpr unsigned tiles_at_once = groups / Shares;
  static constexpr unsigned w_block_bytes = block_outputs * block_bytes;
  static constexpr unsigned pair_bytes = block_outputs / 2 * sizeof(OutputPair);
  static constexpr unsigned barrier_bytes = (2 * most_stages + most_w_parts + 1) * sizeof(std::uint64_t);

  using Store = TileStore<Outputs, ByRows, Way::packs_planes && !ByRows && Outputs >= plane_piece_columns>;
  using Sums = typename Store::Sums;

  const Problem& problem;
  const LevelGemmArgs& args;
  /// In shared memory; barriers: two a stage, one a part of W, one of what is known of outputs.
  const unsigned w, stages, full, empty, w_full, pairs_full, pairs;
  const unsigned first_output;
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x % group_threads / 32;

  /// `memory` begins at a multiple of 1,024 bytes.
  __device__ Kernel(const Problem& the_problem, unsigned memory)
      : problem(the_problem),
        args(the_problem.args),
        w(memory),
        stages(w + problem.w_blocks * w_block_bytes),
        full(stages + problem.stages * chunk_bytes),
        empty(full + most_stages * 8),
        w_full(empty + most_stages * 8),
        pairs_full(w_full + most_w_parts * 8),
        pairs(full + (barrier_bytes + 15) / 16 * 16),
        first_output(blockIdx.y * block_outputs) {}

  static std::size_t shared_bytes(unsigned w_blocks, unsigned stages) {
    constexpr std::size_t alignment = 1024;
    return alignment + w_blocks * w_block_bytes + stages * chunk_bytes + (barrier_bytes + 15) / 16 * 16 + pair_bytes;
  }

  /// By one thread.
  __device__ void init_barriers() const {
    for (unsigned s = 0; s < problem.stages; ++s) {
      bulk_copy::init(full + s * 8, problem.by_boxes ? 1 : group_threads);
      bulk_copy::init(empty + s * 8, Shares * group_threads);
    }
    for (unsigned p = 0; p < most_w_parts; ++p) bulk_copy::init(w_full + p * 8, 1);
    bulk_copy::init(pairs_full, multiplying_threads);
    bulk_copy::show_barriers();
  }

  /// The block's rows of an image of W, part by part: a unit of blocks, those that `Way` multiplies at a time, or all
  /// that are left. By one thread.
  __device__ void bring_image() const {
    const std::size_t rows = level_image::rows(args.outputs);
    const auto bytes = static_cast<unsigned>(min(rows - first_output, std::size_t{block_outputs})) * block_bytes;
    unsigned block = 0;
    for (unsigned part = 0; block < problem.w_blocks; ++part) {
      const unsigned end = part + 1 == most_w_parts ? problem.w_blocks : block + Way::unit_blocks;
      bulk_copy::arrive_and_expect(w_full + part * 8, (end - block) * bytes);
      for (; block < end; ++block)
        bulk_copy::bring(w + block * w_block_bytes, args.w_image + (block * rows + first_output) * block_bytes, bytes,
                         w_full + part * 8);
    }
  }

  /// Until a unit of W is there, if W comes as an image.
  __device__ void wait_for_w(unsigned unit) const {
    if (args.w_image != nullptr) bulk_copy::wait(w_full + min(unit, most_w_parts - 1) * 8, 0);
  }

  /// Rows of a W without an image. By all groups that multiply.
  __device__ void bring_w() const {
    if (args.w_image != nullptr) return;
    Way::bring_w(*this);
    wgmma::show_writes();
    barrier(1, multiplying_threads);
  }

  /// What is known of outputs. By all groups that multiply, while X and W are on their way.
  __device__ void bring_pairs() const {
    constexpr unsigned threads_a_pair = multiplying_threads / (block_outputs / 2);
    if (threadIdx.x % threads_a_pair == 0) {
      const unsigned n = threadIdx.x / threads_a_pair;
      const auto output_of = [&](unsigned row) {
        const bool turned = args.w_order == level_image::Order::packed_to_planes;
        return first_output + (turned ? level_image::output_of_row(row) : row);
      };
      pair_at(pairs, n) = pair_of(args, output_of(2 * n), output_of(2 * n + 1));
    }
    bulk_copy::arrive(pairs_full);
  }

  /// The chunks of all tiles of the block, one after the other. By one thread; rows are whole pieces.
  __device__ void bring_boxes(const CUtensorMap* map) const {
    unsigned stage = 0, parity = 1;
    for (unsigned tile = blockIdx.x; tile < problem.tiles; tile += gridDim.x) {
      for (unsigned chunk = 0; chunk < problem.chunks; ++chunk) {
        bulk_copy::wait(empty + stage * 8, parity);
        bulk_copy::arrive_and_expect(full + stage * 8, chunk_bytes);
        bulk_copy::bring_box(stages + stage * chunk_bytes, map, static_cast<int>(chunk * block_bytes), 0,
                             static_cast<int>(tile * tile_rows), full + stage * 8);
        if (++stage == problem.stages) stage = 0, parity ^= 1;
      }
    }
  }

  /// The same of any rows, eight bytes a copy. By the last group.
  __device__ void bring_x() const {
    constexpr unsigned bytes = 8, copies = block_bytes / bytes;
    const unsigned own = threadIdx.x % group_threads;
    const unsigned at = own % copies * bytes, first = own / copies;
    constexpr unsigned rows_at_once = group_threads / copies;
    unsigned stage = 0, parity = 1;
    for (unsigned tile = blockIdx.x; tile < problem.tiles; tile += gridDim.x) {
      for (unsigned chunk = 0; chunk < problem.chunks; ++chunk) {
        bulk_copy::wait(empty + stage * 8, parity);
        const std::size_t byte = std::size_t{chunk} * block_bytes + at;
        const unsigned to = stages + stage * chunk_bytes;
#pragma unroll 4
        for (unsigned n = 0; n < tile_rows / rows_at_once; ++n) {
          const unsigned r = first + n * rows_at_once;
          const std::size_t row = std::size_t{tile} * tile_rows + r;
          const bool exists = row < args.x.nrows && byte < args.x.row_bytes;
          copy_later<bytes>(to + r * block_bytes + place_of_piece(r, at / piece) + at % piece,
                            exists ? args.x.data + row * args.x.row_bytes + byte : args.x.data, exists);
        }
        bulk_copy::arrive_behind_copies(full + stage * 8);
        if (++stage == problem.stages) stage = 0, parity ^= 1;
      }
    }
    wait_for_all_copies();
  }

  /// Where the warp's 16 rows lie in a stage; those of its lanes: of 16, and the same again.
  [[nodiscard]] __device__ unsigned rows_of_warp(unsigned stage) const {
    return stages + stage * chunk_bytes + warp * 16 * block_bytes;
  }
  [[nodiscard]] __device__ unsigned rows_in(unsigned stage) const {
    return rows_of_warp(stage) + lane % 16 * block_bytes;
  }

  /// By one of the groups that multiply: its tiles of the block. `Way` multiplies a tile, from the stage at `place` on,
  /// gives its stages back and leaves `place` behind them. Its last products may still be under way then.
  ///
  /// A barrier tells its last two phases apart and no more. So a group must not wait for a stage whose phase before is
  /// not over: it would take the one before that for its own. Of tiles that fit the stages together that phase is one
  /// of its own last tile or older. Where rows are longer fewer groups multiply.
  __device__ void multiply(unsigned group) const {
    const unsigned share = group % Shares, turn = group / Shares;
    if (turn >= problem.turns) return;
    Place place{0};
    place.advance(turn * problem.chunks, problem.stages);
    for (unsigned tile = blockIdx.x + turn * gridDim.x; tile < problem.tiles; tile += problem.turns * gridDim.x) {
      Sums sums;
      std::uint32_t x_sum[2] = {};  // of the levels of the thread's two rows
      Way::multiply_tile(*this, sums, x_sum, place, share);
      wgmma::wait_for_products<0>();
      place.advance((problem.turns - 1) * problem.chunks, problem.stages);
      finish(sums, x_sum, tile);
    }
  }

  /// Stores a tile. The number of the thread is asked for again, so that no place that follows from it takes a register
  /// while products need all of them.
  __device__ void finish(const Sums& sums, const std::uint32_t (&x_sum)[2], unsigned tile) const {
    unsigned thread;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
    const unsigned share = thread / group_threads % Shares;
    const std::size_t row = std::size_t{tile} * tile_rows + thread % group_threads / 32 * 16 + thread % 32 / 4;
    bulk_copy::wait(pairs_full, 0);
    const Store out(args, pairs + share * (pair_bytes / Shares), first_output + share * Outputs, thread % 32);
    out.store(sums, x_sum, out.scales_of(row), row);
  }
};

template <class Way, unsigned Outputs, unsigned Shares, bool ByRows>
__global__ void __launch_bounds__(threads, 1)
    level_gemm_wgmma(const __grid_constant__ CUtensorMap map, const __grid_constant__ Problem problem) {
  extern __shared__ std::uint8_t memory[];
  const unsigned begin = bulk_copy::shared_address(memory);
  const Kernel<Way, Outputs, Shares, ByRows> kernel(problem, (begin + 1023U) / 1024 * 1024);
  // No kernel writes images of W: one may come before the kernels ahead are done.
  const bool speaks = threadIdx.x == multiplying_threads;
  if (speaks) {
    if (problem.by_boxes) bulk_copy::ask_for_map(&map);
    kernel.init_barriers();
    if (problem.args.w_image != nullptr) kernel.bring_image();
  }
  trigger_dependent_launch();
  wait_for_previous_kernel();
  __syncthreads();
  // By a shuffle, so that the compiler knows that a warp has one group: places that follow from it are uniform then.
  const unsigned group = __shfl_sync(full_warp, threadIdx.x / group_threads, 0);
  if (group < groups) {
    take_registers();
    kernel.bring_pairs();
    kernel.bring_w();
    kernel.multiply(group);
  } else {
    give_registers();
    if (!problem.by_boxes) kernel.bring_x();
    if (problem.by_boxes && speaks) kernel.bring_boxes(&map);
  }
}

/// A product of X's rows of so many bytes in blocks of `Made`: chunks, and the stages that shared memory has beside W.
/// None: W does not fit.
template <class Way, class Made>
Problem problem_of(const Device& device, std::size_t x_row_bytes) {
  Problem problem;
  problem.chunks = static_cast<unsigned>((x_row_bytes + block_bytes - 1) / block_bytes);
  constexpr unsigned unpacked = Way::chunk_columns / block_bytes;  // columns of a byte of X
  problem.steps = static_cast<unsigned>((x_row_bytes * unpacked + step - 1) / step);
  problem.w_blocks = Way::w_blocks(problem.chunks);
  problem.stages = most_stages;
  const std::size_t most = cuda_limits(device).shared_bytes_a_block;
  while (problem.stages > 0 && Made::shared_bytes(problem.w_blocks, problem.stages) > most) --problem.stages;
  if (problem.stages < Way::fewest_stages(problem.chunks)) problem.stages = 0;
  problem.turns = std::clamp(problem.stages / std::max(problem.chunks, 1U), 1U, Made::tiles_at_once);
  return problem;
}

/// False: W does not fit, and nothing is done.
template <class Way, unsigned Outputs, unsigned Shares, bool ByRows>
bool launch(const Device& device, const LevelGemmArgs& args) {
  using Made = Kernel<Way, Outputs, Shares, ByRows>;
  Problem problem = problem_of<Way, Made>(device, args.x.row_bytes);
  if (problem.stages == 0) return false;
  problem.args = args;
  problem.tiles = static_cast<unsigned>((args.x.nrows + tile_rows - 1) / tile_rows);
  constexpr std::size_t most_rows = std::numeric_limits<int>::max();  // of a tensor map
  problem.by_boxes = args.x.row_bytes % piece == 0 && reinterpret_cast<std::uintptr_t>(args.x.data) % piece == 0 &&
                     args.x.nrows <= most_rows;
  CUtensorMap map{};
  if (problem.by_boxes) map = tensor_map({args.x.data, args.x.row_bytes, 1, args.x.nrows}, {block_bytes, 1, tile_rows});
  const std::size_t outputs = stored_columns(args.out, args.outputs);
  const auto slices = static_cast<unsigned>((outputs + Made::block_outputs - 1) / Made::block_outputs);
  const auto blocks = static_cast<unsigned>(
      std::min<std::size_t>(problem.tiles, std::max(1U, cuda_limits(device).multiprocessors / slices)));
  const std::size_t bytes = Made::shared_bytes(problem.w_blocks, problem.stages);
  allow_shared_bytes(level_gemm_wgmma<Way, Outputs, Shares, ByRows>, bytes, "level_gemm_wgmma");
  static ProgrammaticKernel kernel(level_gemm_wgmma<Way, Outputs, Shares, ByRows>, "level_gemm_wgmma");
  kernel.launch(device, dim3(blocks, slices), threads, bytes, map, problem);
  return true;
}

/// As many outputs a block as there are and fit.
template <class Way>
void launch_fitting(const Device& device, const LevelGemmArgs& args) {
  const std::size_t outputs = stored_columns(args.out, args.outputs);
  if (args.epilogue.is_late() || args.epilogue.adds()) {  // fewer kernels
    if (outputs > 32 && launch<Way, 64, 1, true>(device, args)) return;
    return static_cast<void>(launch<Way, 32, 1, true>(device, args));
  }
  if (outputs > 128 && launch<Way, 128, 2, false>(device, args)) return;
  if (outputs > 64 && launch<Way, 128, 1, false>(device, args)) return;
  if (outputs > 32 && launch<Way, 64, 1, false>(device, args)) return;
  static_cast<void>(launch<Way, 32, 1, false>(device, args));
}

/// Whether the fewest outputs a block fit. Levels out in planes have whole pieces.
template <class Way>
bool fits(const Device& device, std::size_t columns) {
  constexpr unsigned fewest = Way::packs_planes ? plane_piece_columns : 32;
  const std::size_t row_bytes = level_row_bytes(columns, Way::x_bits, Way::x_packing);
  return problem_of<Way, Kernel<Way, fewest, 1, false>>(device, row_bytes).stages != 0;
}

}  // namespace

bool bytes_fit(const Device& device, int x_bits, std::size_t columns) {
  return x_bits <= 4 ? fits<Bytes<4>>(device, columns) : fits<Bytes<8>>(device, columns);
}

void multiply_bytes(const Device& device, const LevelGemmArgs& args) {
  LevelGemmArgs of_bytes = args;
  if (level_image::has_planes(args.w_order)) of_bytes.w_image = nullptr;
  args.x.bits <= 4 ? launch_fitting<Bytes<4>>(device, of_bytes) : launch_fitting<Bytes<8>>(device, of_bytes);
}

bool planes_fit(const Device& device, std::size_t columns) { return fits<Planes>(device, columns); }

void multiply_planes(const Device& device, const LevelGemmArgs& args) { launch_fitting<Planes>(device, args); }

bool packed_planes_fit(const Device& device, std::size_t columns) { return fits<PackedPlanes>(device, columns); }

void multiply_packed_planes(const Device& device, const LevelGemmArgs& args) {
  launch_fitting<PackedPlanes>(device, args);
}

}  // namespace bitgraph::level_cuda
