// SPDX-License-Identifier: Apache-2.0
// Products of levels by wgmma. A block keeps its outputs' rows of W in shared memory, in the order that descriptors
// name, and goes through tiles of 64 rows of X. Four warps copy X, packed, some chunks ahead. Four groups of four warps
// have tiles in turns, so that some multiply while others make levels of their sums; of more than 128 outputs a group
// has half, since the unrolled code behind the sums of all would not fit the instruction cache. X comes to groups
// through registers, where nibbles become bytes while the products before are under way.
#include "core/cuda/bulk_copy.cuh"
#include "core/cuda/cooperative.cuh"
#include "core/cuda/launch.cuh"
#include "core/cuda/limits.hpp"
#include "ops/gemm/levels/cuda_tiles.cuh"
#include "ops/gemm/levels/wgmma.hpp"
#include "ops/gemm/levels/wgmma_store.cuh"
#include "ops/gemm/wgmma.cuh"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace bitgraph::level_cuda {

namespace {

using wgmma::group_threads;

constexpr unsigned groups = 4, threads = (groups + 1) * group_threads;
constexpr unsigned tile_rows = 64;
constexpr unsigned chunk_bytes = tile_rows * block_bytes;
constexpr unsigned most_stages = 12;  ///< chunks of X on their way
constexpr unsigned block_steps = block_bytes / step;
constexpr unsigned steps_at_once = 2;  ///< whose rows of X are in registers, while as many others are multiplied

/// Registers of a thread: as many as the compiler gives to all of a block that is alone, then more to groups that
/// multiply and fewer to the one that copies. A block that asks for more than it was given waits for ever.
constexpr unsigned registers = (65536 / threads) / 8 * 8, more_registers = 112, fewer_registers = 32;
static_assert(groups * more_registers + fewer_registers <= (groups + 1) * registers);
__device__ inline void take_registers() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(more_registers)); }
__device__ inline void give_registers() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(fewer_registers)); }

/// A product in tiles of rows.
struct Problem {
  LevelGemmArgs args;
  unsigned chunks = 0;    ///< of a row of X
  unsigned steps = 0;     ///< of an instruction, the same
  unsigned w_blocks = 0;  ///< of 128 columns of W
  unsigned stages = 0;
  unsigned turns = 0;  ///< tiles of a block that are multiplied at a time
  std::size_t tiles = 0;
};

/// `Shares` groups have `Outputs` each of a tile.
template <unsigned XBits, unsigned Outputs, unsigned Shares, bool ByRows>
struct Kernel {
  static constexpr unsigned block_outputs = Outputs * Shares;
  static constexpr unsigned tiles_at_once = groups / Shares;
  static constexpr unsigned chunk_columns = block_bytes * 8 / XBits;
  static constexpr unsigned chunk_steps = chunk_columns / step;
  static constexpr unsigned w_block_bytes = block_outputs * block_bytes;
  static constexpr unsigned pair_bytes = block_outputs / 2 * sizeof(OutputPair);
  static constexpr unsigned barrier_bytes = 2 * most_stages * sizeof(std::uint64_t);

  using Store = TileStore<Outputs, ByRows>;
  using Sums = typename Store::Sums;
  using StepsOfX = std::uint32_t[steps_at_once][4];

  const Problem& problem;
  const LevelGemmArgs& args;
  const unsigned w, stages, full, empty, pairs;  ///< in shared memory; two barriers a stage
  const std::size_t first_output;
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x % group_threads / 32;

  /// `memory` begins at a multiple of 1,024 bytes.
  __device__ Kernel(const Problem& the_problem, unsigned memory)
      : problem(the_problem),
        args(the_problem.args),
        w(memory),
        stages(w + problem.w_blocks * w_block_bytes),
        full(stages + problem.stages * chunk_bytes),
        empty(full + barrier_bytes / 2),
        pairs(empty + barrier_bytes / 2),
        first_output(std::size_t{blockIdx.y} * block_outputs) {}

  static std::size_t shared_bytes(unsigned w_blocks, unsigned stages) {
    constexpr std::size_t alignment = 1024;
    return alignment + w_blocks * w_block_bytes + stages * chunk_bytes + barrier_bytes + pair_bytes;
  }

  /// By one thread.
  __device__ void init_barriers() const {
    for (unsigned s = 0; s < problem.stages; ++s) {
      bulk_copy::init(full + s * 8, group_threads);
      bulk_copy::init(empty + s * 8, Shares * group_threads);
    }
    bulk_copy::show_barriers();
  }

  /// Rows of W; outputs and columns that are not there are zeros. By all groups that multiply.
  __device__ void bring_w() const {
    constexpr unsigned all = groups * group_threads, at_once = 8;
    const unsigned steps = problem.w_blocks * block_steps;
    for (unsigned begin = threadIdx.x; begin < block_outputs * steps; begin += at_once * all) {
      // Lanes have four steps of eight outputs: whole lines of memory, and different banks.
      const auto output_of = [](unsigned n) { return n / block_steps % block_outputs; };
      const auto step_of = [](unsigned n) { return n / (block_steps * block_outputs) * block_steps + n % block_steps; };
      StepOfW pieces[at_once];
#pragma unroll
      for (unsigned k = 0; k < at_once; ++k)
        load_step_of_w(pieces[k], args, first_output + output_of(begin + k * all), step_of(begin + k * all));
#pragma unroll
      for (unsigned k = 0; k < at_once; ++k) {
        const unsigned f = output_of(begin + k * all), s = step_of(begin + k * all);
        if (s >= steps) break;
        const unsigned row = w + s / block_steps * w_block_bytes + f * block_bytes;
        const unsigned at = s % block_steps * 2;
        order_step_of_w<XBits>(pieces[k]);
        store_piece(row + place_of_piece(f, at), pieces[k][0]);
        store_piece(row + place_of_piece(f, at + 1), pieces[k][1]);
      }
    }
    wgmma::show_writes();
    barrier(1, threads);  // bring_pairs() is done, too
  }

  /// By the last group.
  __device__ void bring_pairs() const {
    static_assert(block_outputs / 2 <= group_threads);
    const unsigned own = threadIdx.x % group_threads;
    if (own < block_outputs / 2) pair_at(pairs, own) = pair_of(args, first_output + 2 * own);
    arrive_at_barrier(1, threads);
  }

  /// The chunks of all tiles of the block, one after the other. By the last group.
  template <unsigned Bytes>
  __device__ void bring_x() const {
    constexpr unsigned copies = block_bytes / Bytes;
    const unsigned own = threadIdx.x % group_threads;
    const unsigned at = own % copies * Bytes, first = own / copies;
    constexpr unsigned rows_at_once = group_threads / copies;
    unsigned stage = 0, parity = 1;
    for (std::size_t tile = blockIdx.x; tile < problem.tiles; tile += gridDim.x) {
      for (unsigned chunk = 0; chunk < problem.chunks; ++chunk) {
        bulk_copy::wait(empty + stage * 8, parity);
        const std::size_t byte = std::size_t{chunk} * block_bytes + at;
        const unsigned to = stages + stage * chunk_bytes;
#pragma unroll 4
        for (unsigned n = 0; n < tile_rows / rows_at_once; ++n) {
          const unsigned r = first + n * rows_at_once;
          const std::size_t row = tile * tile_rows + r;
          const bool exists = row < args.x.nrows && byte < args.x.row_bytes;
          copy_later<Bytes>(to + r * block_bytes + place_of_piece(r, at / piece) + at % piece,
                            exists ? args.x.data + row * args.x.row_bytes + byte : args.x.data, exists);
        }
        bulk_copy::arrive_behind_copies(full + stage * 8);
        if (++stage == problem.stages) stage = 0, parity ^= 1;
      }
    }
    wait_for_all_copies();
  }

  /// Where a group is in the chunks of the block.
  struct Place {
    unsigned stage, parity = 0;

    __device__ void advance(unsigned count, unsigned all) {
      stage += count;
      while (stage >= all) stage -= all, parity ^= 1;
    }
  };

  /// A group's rows of some steps of a chunk, as instructions take them.
  __device__ void load_steps(StepsOfX& a, unsigned chunk_at, unsigned first) const {
    const unsigned rows = chunk_at + (warp * 16 + lane % 16) * block_bytes;
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
  __device__ void multiply_chunk(Sums& sums, StepsOfX (&a)[2], std::uint32_t (&x_sum)[2], unsigned chunk,
                                 unsigned share, unsigned stage) const {
    static_assert(2 * steps_at_once == block_steps);
    const unsigned chunk_at = stages + stage * chunk_bytes;
    const unsigned steps = min(chunk_steps, problem.steps - chunk * chunk_steps);
    const unsigned block = chunk * (chunk_steps / block_steps);
    std::uint64_t of_w = wgmma::descriptor_of_rows(w + block * w_block_bytes + share * (Outputs * block_bytes));
#pragma unroll 1
    for (unsigned first = 0; first < steps; first += block_steps) {
#pragma unroll
      for (unsigned half = 0; half < 2; ++half) {
        load_steps(a[half], chunk_at, first + half * steps_at_once);
        if (args.w_scale.offsets != nullptr) add_levels(x_sum, a[half]);
        wgmma::begin_products();
#pragma unroll
        for (unsigned s = 0; s < steps_at_once; ++s)
          wgmma::multiply_bytes(sums, a[half][s], of_w + (half * steps_at_once + s) * (step >> 4),
                                chunk != 0 || first != 0 || half != 0 || s != 0);
        wgmma::end_products();
        wgmma::wait_for_products<1>();
      }
      of_w += w_block_bytes >> 4;
    }
    bulk_copy::arrive(empty + stage * 8);
  }

  /// By one of the groups that multiply: its tiles of the block.
  ///
  /// A barrier tells its last two phases apart and no more. So a group must not wait for a stage whose phase before is
  /// not over: it would take the one before that for its own. Of tiles that fit the stages together that phase is one
  /// of its own last tile or older. Where rows are longer fewer groups multiply.
  __device__ void multiply(unsigned group) const {
    const unsigned share = group % Shares, turn = group / Shares;
    if (turn >= problem.turns) return;
    Place place{0};
    place.advance(turn * problem.chunks, problem.stages);
    for (std::size_t tile = blockIdx.x + std::size_t{turn} * gridDim.x; tile < problem.tiles;
         tile += std::size_t{problem.turns} * gridDim.x) {
      Sums sums;
      StepsOfX a[2];
      std::uint32_t x_sum[2] = {};
#pragma unroll 1
      for (unsigned chunk = 0; chunk < problem.chunks; ++chunk) {
        bulk_copy::wait(full + place.stage * 8, place.parity);
        multiply_chunk(sums, a, x_sum, chunk, share, place.stage);
        place.advance(1, problem.stages);
      }
      wgmma::wait_for_products<0>();
      place.advance((problem.turns - 1) * problem.chunks, problem.stages);
      finish(sums, x_sum, tile);
    }
  }

  /// Stores a tile. The number of the thread is asked for again, so that no place that follows from it takes a register
  /// while products need all of them.
  __device__ void finish(const Sums& sums, const std::uint32_t (&x_sum)[2], std::size_t tile) const {
    unsigned thread;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
    const unsigned share = thread / group_threads % Shares;
    const std::size_t row = tile * tile_rows + thread % group_threads / 32 * 16 + thread % 32 / 4;
    const Store out(args, pairs + share * (pair_bytes / Shares), first_output + share * Outputs, thread % 32);
    out.store(sums, x_sum, out.scales_of(row), row);
  }
};

template <unsigned XBits, unsigned Outputs, unsigned Shares, bool ByRows>
__global__ void __launch_bounds__(threads, 1) level_gemm_wgmma(const __grid_constant__ Problem problem) {
  extern __shared__ std::uint8_t memory[];
  const unsigned begin = bulk_copy::shared_address(memory);
  const Kernel<XBits, Outputs, Shares, ByRows> kernel(problem, (begin + 1023U) / 1024 * 1024);
  if (threadIdx.x == 0) kernel.init_barriers();
  trigger_dependent_launch();
  wait_for_previous_kernel();
  __syncthreads();
  const unsigned group = threadIdx.x / group_threads;
  if (group < groups) {
    take_registers();
    kernel.bring_w();
    kernel.multiply(group);
  } else {
    give_registers();
    kernel.bring_pairs();
    problem.args.x.row_bytes % piece == 0 ? kernel.template bring_x<piece>() : kernel.template bring_x<8>();
  }
}

/// A product of X's rows of so many bytes in blocks of `Made`: chunks, and the stages that shared memory has beside W.
/// None: W does not fit.
template <class Made>
Problem problem_of(const Device& device, std::size_t x_row_bytes) {
  constexpr unsigned fewest_stages = 4;
  Problem problem;
  problem.chunks = static_cast<unsigned>((x_row_bytes + block_bytes - 1) / block_bytes);
  constexpr unsigned unpacked = Made::chunk_columns / block_bytes;  // bytes of a byte of X
  problem.steps = static_cast<unsigned>((x_row_bytes * unpacked + step - 1) / step);
  problem.w_blocks = problem.chunks * unpacked;
  problem.stages = most_stages;
  const std::size_t most = cuda_limits(device).shared_bytes_a_block;
  while (problem.stages > 0 && Made::shared_bytes(problem.w_blocks, problem.stages) > most) --problem.stages;
  if (problem.stages < fewest_stages) problem.stages = 0;
  problem.turns = std::clamp(problem.stages / std::max(problem.chunks, 1U), 1U, Made::tiles_at_once);
  return problem;
}

/// False: W does not fit, and nothing is done.
template <unsigned XBits, unsigned Outputs, unsigned Shares, bool ByRows>
bool launch(const Device& device, const LevelGemmArgs& args) {
  using Made = Kernel<XBits, Outputs, Shares, ByRows>;
  Problem problem = problem_of<Made>(device, args.x.row_bytes);
  if (problem.stages == 0) return false;
  problem.args = args;
  problem.tiles = (args.x.nrows + tile_rows - 1) / tile_rows;
  const std::size_t outputs = stored_columns(args.out, args.outputs);
  const auto slices = static_cast<unsigned>((outputs + Made::block_outputs - 1) / Made::block_outputs);
  const auto blocks = static_cast<unsigned>(
      std::min<std::size_t>(problem.tiles, std::max(1U, cuda_limits(device).multiprocessors / slices)));
  const std::size_t bytes = Made::shared_bytes(problem.w_blocks, problem.stages);
  allow_shared_bytes(level_gemm_wgmma<XBits, Outputs, Shares, ByRows>, bytes, "level_gemm_wgmma");
  static ProgrammaticKernel kernel(level_gemm_wgmma<XBits, Outputs, Shares, ByRows>, "level_gemm_wgmma");
  kernel.launch(device, dim3(blocks, slices), threads, bytes, problem);
  return true;
}

/// As many outputs a block as there are and fit.
template <unsigned XBits>
void launch_fitting(const Device& device, const LevelGemmArgs& args) {
  const std::size_t outputs = stored_columns(args.out, args.outputs);
  if (args.epilogue.is_late()) {  // rare: fewer kernels
    if (outputs > 32 && launch<XBits, 64, 1, true>(device, args)) return;
    return static_cast<void>(launch<XBits, 32, 1, true>(device, args));
  }
  if (outputs > 128 && launch<XBits, 128, 2, false>(device, args)) return;
  if (outputs > 64 && launch<XBits, 128, 1, false>(device, args)) return;
  if (outputs > 32 && launch<XBits, 64, 1, false>(device, args)) return;
  static_cast<void>(launch<XBits, 32, 1, false>(device, args));
}

}  // namespace

bool wgmma_fits(const Device& device, int x_bits, std::size_t columns) {
  const std::size_t row_bytes = level_row_bytes(columns, x_bits);
  return (x_bits <= 4 ? problem_of<Kernel<4, 32, 1, false>>(device, row_bytes)
                      : problem_of<Kernel<8, 32, 1, false>>(device, row_bytes))
             .stages != 0;
}

void multiply_by_wgmma(const Device& device, const LevelGemmArgs& args) {
  args.x.bits <= 4 ? launch_fitting<4>(device, args) : launch_fitting<8>(device, args);
}

}  // namespace bitgraph::level_cuda
