// SPDX-License-Identifier: Apache-2.0
// Products of levels on a CUDA device, by the matrix instructions of bytes that all devices have. A block keeps its
// outputs' rows of W in shared memory and goes through tiles of 64 rows of X. Two groups of four warps have tiles in
// turns, so that one multiplies while the other makes levels of its sums. Rows of X come into shared memory a few
// chunks ahead, packed: nibbles become bytes on their way from there to registers.
#include "core/cuda/cooperative.cuh"
#include "core/cuda/launch.cuh"
#include "core/cuda/limits.hpp"
#include "ops/gemm/has_wgmma.hpp"
#include "ops/gemm/levels/args.hpp"
#include "ops/gemm/levels/cuda_places.cuh"
#include "ops/gemm/levels/cuda_quads.cuh"
#include "ops/gemm/levels/cuda_tiles.cuh"
#include "ops/gemm/levels/wgmma/image_order.hpp"
#include "ops/gemm/levels/wgmma/wgmma.hpp"

#include <algorithm>

namespace bitgraph {

namespace level_cuda {

namespace {

constexpr unsigned group_warps = 4;
constexpr unsigned group_threads = 32 * group_warps;
constexpr unsigned groups = 2;
constexpr unsigned threads = groups * group_threads;
constexpr unsigned tile_rows = 64;
constexpr unsigned stages = 4;  ///< chunks of X on their way
constexpr unsigned chunk_bytes = tile_rows * block_bytes;

/// A block's part of the work, the same for all its threads.
struct Tiles {
  unsigned slices;    ///< of outputs
  unsigned chunks;    ///< of a row of X
  unsigned w_pitch;   ///< bytes of a row of W in shared memory
  std::size_t tiles;  ///< of rows
};

template <unsigned Outputs>
struct Columns {
  ProductPlace place[Outputs];
  float least[Outputs];
};

/// The warps of a group share the outputs, `OutputWarps` ways, and the rows of a tile. Few outputs a block leave more
/// blocks to small products, and shared memory to long rows of W.
template <unsigned XBits, unsigned OutputTiles, unsigned OutputWarps>
struct Kernel {
  static constexpr unsigned row_warps = group_warps / OutputWarps;
  static constexpr unsigned row_tiles = tile_rows / row_warps / 16;  ///< of 16 rows, that a warp has
  static constexpr unsigned warp_outputs = 8 * OutputTiles;
  static constexpr unsigned outputs = OutputWarps * warp_outputs;
  static constexpr unsigned chunk_columns = block_bytes * 8 / XBits;
  static constexpr unsigned chunk_steps = chunk_columns / step;
  static_assert(OutputTiles % 2 == 0);

  const LevelGemmArgs& args;
  const Tiles& tiles;
  std::uint8_t* const w;  ///< rows of W
  Columns<outputs>& columns;
  std::uint8_t* const stage;  ///< this group's
  const unsigned first_output;
  const unsigned group = threadIdx.x / group_threads;
  const unsigned own = threadIdx.x % group_threads;
  const unsigned lane = threadIdx.x % 32;
  const unsigned output_warp = own / 32 / row_warps;
  const unsigned first_row = own / 32 % row_warps * (tile_rows / row_warps);  ///< of the warp

  static std::size_t shared_bytes(unsigned w_pitch) {
    return std::size_t{outputs} * w_pitch + sizeof(Columns<outputs>) + groups * stages * chunk_bytes;
  }

  __device__ Kernel(const LevelGemmArgs& the_args, const Tiles& the_tiles, std::uint8_t* shared)
      : args(the_args),
        tiles(the_tiles),
        w(shared + groups * stages * chunk_bytes),
        columns(*reinterpret_cast<Columns<outputs>*>(w + std::size_t{outputs} * tiles.w_pitch)),
        stage(shared + threadIdx.x / group_threads * stages * chunk_bytes),
        first_output(blockIdx.y * outputs) {}

  /// Rows of W; outputs and columns that are not there are zeros.
  __device__ void bring_w() {
    const unsigned steps = tiles.chunks * chunk_steps;
#pragma unroll 8
    for (unsigned n = threadIdx.x; n < outputs * steps; n += threads) {
      const unsigned f = n / steps, s = n % steps;
      StepOfW pieces;
      load_step_of_w(pieces, args, first_output + f, s);
      order_step_of_w<XBits>(pieces);
      std::uint8_t* const row = w + std::size_t{f} * tiles.w_pitch;
      auto* const to_first = reinterpret_cast<uint4*>(row + place_of_piece(f, 2 * s));
      auto* const to_second = reinterpret_cast<uint4*>(row + place_of_piece(f, 2 * s + 1));
      *to_first = pieces[0];
      *to_second = pieces[1];
    }
    for (unsigned f = threadIdx.x; f < outputs; f += threads) {
      const std::size_t output = first_output + f;
      ColumnPlace column;
      if (output < args.outputs) column = ColumnPlace(args.epilogue, output);
      columns.place[f] = output < args.outputs ? place_of_output(args, output, column) : ProductPlace();
      columns.least[f] = column.least;
    }
    __syncthreads();
  }

  /// Asks for chunk `chunk` of a tile; nothing behind the last tile. For a group.
  __device__ void ask_for(std::size_t tile, unsigned chunk, unsigned place) {
    if (tile < tiles.tiles) {
      args.x.row_bytes % piece == 0 ? copy_chunk<piece>(tile, chunk, place) : copy_chunk<8>(tile, chunk, place);
    }
    end_copies();
  }
  template <unsigned Bytes>
  __device__ void copy_chunk(std::size_t tile, unsigned chunk, unsigned place) {
    constexpr unsigned copies = block_bytes / Bytes;
#pragma unroll
    for (unsigned n = own; n < tile_rows * copies; n += group_threads) {
      const unsigned r = n / copies, at = n % copies * Bytes;
      const std::size_t row = tile * tile_rows + r;
      const std::size_t byte = std::size_t{chunk} * block_bytes + at;
      const bool exists = row < args.x.nrows && byte < args.x.row_bytes;
      const unsigned to =
          shared_address(stage + place * chunk_bytes + r * block_bytes) + place_of_piece(r, at / piece) + at % piece;
      copy_later<Bytes>(to, exists ? args.x.data + row * args.x.row_bytes + byte : args.x.data, exists);
    }
  }

  using Sums = std::int32_t[row_tiles][OutputTiles][4];
  using RowSums = std::uint32_t[row_tiles][2];  ///< of X's levels: two rows of a thread in each tile

  /// Adds the products of a chunk.
  __device__ void multiply(Sums& sums, RowSums& x_sum, unsigned chunk, unsigned place) {
    // A lane's rows differ by multiples of eight, so its pieces change places alike in all of them.
    const unsigned x = shared_address(stage) + place * chunk_bytes + (first_row + lane % 16) * block_bytes;
    const unsigned f = output_warp * warp_outputs + lane / 16 * 8 + lane % 8;
    const unsigned w_chunk = shared_address(w) + f * tiles.w_pitch + chunk * chunk_columns;
    constexpr unsigned pairs = XBits == 4 ? 2 : 1;  // steps whose columns of X come in one load
#pragma unroll
    for (unsigned s = 0; s < chunk_steps; s += pairs) {
      std::uint32_t raw[row_tiles][4];
#pragma unroll
      for (unsigned m = 0; m < row_tiles; ++m) {
        const unsigned p = XBits == 4 ? s + lane / 16 : 2 * s + lane / 16;
        load_matrices(raw[m], x + m * 16 * block_bytes + place_of_piece(lane, p));
      }
#pragma unroll
      for (unsigned half = 0; half < pairs; ++half) {
        std::uint32_t a[row_tiles][4];
#pragma unroll
        for (unsigned m = 0; m < row_tiles; ++m) {
          if constexpr (XBits == 4) {
            a[m][0] = raw[m][2 * half] & 0x0F0F0F0FU;
            a[m][1] = raw[m][2 * half + 1] & 0x0F0F0F0FU;
            a[m][2] = raw[m][2 * half] >> 4 & 0x0F0F0F0FU;
            a[m][3] = raw[m][2 * half + 1] >> 4 & 0x0F0F0F0FU;
          } else {
#pragma unroll
            for (unsigned q = 0; q < 4; ++q) a[m][q] = raw[m][q];
          }
          if (args.w_scale.offsets != nullptr) {
            x_sum[m][0] = __dp4a(a[m][0], 0x01010101U, __dp4a(a[m][2], 0x01010101U, x_sum[m][0]));
            x_sum[m][1] = __dp4a(a[m][1], 0x01010101U, __dp4a(a[m][3], 0x01010101U, x_sum[m][1]));
          }
        }
        const unsigned w_step = w_chunk + place_of_piece(lane, 2 * (s + half) + lane / 8 % 2);
#pragma unroll
        for (unsigned t = 0; t < OutputTiles; t += 2) {
          std::uint32_t b[4];
          load_matrices(b, w_step + t * 8 * tiles.w_pitch);
#pragma unroll
          for (unsigned m = 0; m < row_tiles; ++m) {
            mma::multiply_bytes(sums[m][t], a[m], b[0], b[1]);
            mma::multiply_bytes(sums[m][t + 1], a[m], b[2], b[3]);
          }
        }
      }
    }
  }

  static constexpr unsigned together = OutputTiles < 4 ? OutputTiles : 4;  ///< tiles of outputs that end together

  /// Two neighbouring outputs that a thread has of a tile of outputs.
  struct Pair {
    ProductPlace place[2];
    float least[2];
  };

  /// Stores a tile's outputs.
  __device__ void store(const Sums& sums, const RowSums& x_sum, std::size_t tile) {
    const bool offsets = args.w_scale.offsets != nullptr || args.x_scale.offsets != nullptr;
    const LevelRule rule(args.epilogue, args.out.levels.data == nullptr ? 1 : args.out.levels.bits);
    if (args.epilogue.is_rare()) return store_rare(sums, x_sum, tile, rule);
    if (rule.nearest) {
      offsets ? store_all<true, true>(sums, x_sum, tile, rule) : store_all<false, true>(sums, x_sum, tile, rule);
    } else {
      offsets ? store_all<true, false>(sums, x_sum, tile, rule) : store_all<false, false>(sums, x_sum, tile, rule);
    }
  }

  /// Calls fn(m, upper, row, sum_of_row) for the rows that a thread has of a tile, those behind the last one too.
  template <class Fn>
  __device__ void for_each_row(const RowSums& x_sum, std::size_t tile, const Fn& fn) const {
#pragma unroll
    for (unsigned m = 0; m < row_tiles; ++m) {
#pragma unroll
      for (unsigned upper = 0; upper < 2; ++upper) {
        const float sum_of_row = args.w_scale.offsets == nullptr ? 0.0F : add_quad(x_sum[m][upper]);
        fn(m, upper, tile * tile_rows + first_row + m * 16 + upper * 8 + lane / 4, sum_of_row);
      }
    }
  }

  /// Late levels, and values with an addend or behind a tanh.
  __device__ void store_rare(const Sums& sums, const RowSums& x_sum, std::size_t tile, const LevelRule& rule) const {
    const bool levels = args.out.levels.data != nullptr;
    for_each_row(x_sum, tile, [&](unsigned m, unsigned upper, std::size_t row, float sum_of_row) {
      const bool exists = row < args.x.nrows;
      const RowOfX of_x = row_of_x(args, exists ? row : 0, sum_of_row);
      const LateRow<> late(args.epilogue, exists ? row : 0);
#pragma unroll
      for (unsigned t = 0; t < OutputTiles; t += together) {
        const auto value_of = [&](unsigned n, unsigned k) {
          const auto sum = static_cast<float>(sums[m][t + n][2 * upper + k]);
          const unsigned f = first_of_pair(t + n) + k;
          const float value = columns.place[f].template place<true, true>(sum, of_x);
          const std::size_t output = first_output + f;
          return exists && output < args.outputs ? with_addend(args.epilogue, row, output, value) : value;
        };
        if (levels) {
          store_levels_of_row<together>(row, exists, t, [&](unsigned n, unsigned k) {
            const unsigned f = first_of_pair(t + n) + k;
            return late.level(rule, value_of(n, k), first_output + f, columns.least[f]);
          });
        } else if (exists) {
#pragma unroll
          for (unsigned n = 0; n < together; ++n)
            store_numbers(row, first_output + first_of_pair(t + n), sums[m][t + n][2 * upper],
                          sums[m][t + n][2 * upper + 1], rule.value(value_of(n, 0)), rule.value(value_of(n, 1)));
        }
      }
    });
  }

  template <bool offsets, bool nearest>
  __device__ void store_all(const Sums& sums, const RowSums& x_sum, std::size_t tile, const LevelRule& rule) const {
#pragma unroll
    for (unsigned t = 0; t < OutputTiles; t += together) {
      Pair pairs[together];
#pragma unroll
      for (unsigned n = 0; n < together; ++n) {
#pragma unroll
        for (unsigned k = 0; k < 2; ++k) {
          const unsigned f = first_of_pair(t + n) + k;
          pairs[n].place[k] = columns.place[f];
          pairs[n].least[k] = columns.least[f];
        }
      }
      for_each_row(x_sum, tile, [&](unsigned m, unsigned upper, std::size_t row, float sum_of_row) {
        const bool exists = row < args.x.nrows;
        const RowOfX of_x = row_of_x(args, exists ? row : 0, sum_of_row);
        const auto place_of = [&](unsigned n, unsigned k) {
          const std::int32_t sum = sums[m][t + n][2 * upper + k];
          return pairs[n].place[k].template place<offsets, offsets>(static_cast<float>(sum), of_x);
        };
        if (args.out.levels.data != nullptr) {
          store_levels_of_row<together>(row, exists, t, [&](unsigned n, unsigned k) {
            return rule.template level<nearest>(place_of(n, k), pairs[n].least[k]);
          });
        } else if (exists) {
#pragma unroll
          for (unsigned n = 0; n < together; ++n) {
            store_numbers(row, first_output + first_of_pair(t + n), sums[m][t + n][2 * upper],
                          sums[m][t + n][2 * upper + 1], rule.template value<false>(place_of(n, 0)),
                          rule.template value<false>(place_of(n, 1)));
          }
        }
      });
    }
  }

  /// The first output of a thread's pair of a tile of outputs, from the block's first on.
  [[nodiscard]] __device__ unsigned first_of_pair(unsigned t) const {
    return output_warp * warp_outputs + t * 8 + lane % 4 * 2;
  }

  __device__ void store_numbers(std::size_t row, std::size_t output, std::int32_t sum, std::int32_t next_sum,
                                float value, float next_value) const {
    const LevelOut& out = args.out;
    const bool first = output < args.outputs, both = output + 1 < args.outputs;
    if (out.sums.data != nullptr) {
      std::int32_t* const to = out.sums.data + row * out.sums.stride + output;
      if (first) to[0] = sum;
      if (both) to[1] = next_sum;
    } else if (out.wide_sums.data != nullptr) {
      std::int64_t* const to = out.wide_sums.data + row * out.wide_sums.stride + output;
      if (first) to[0] = sum;
      if (both) to[1] = next_sum;
    } else {
      float* const to = out.values.data + value_row_of(out, row) * out.values.stride + output;
      if (both && reinterpret_cast<std::uintptr_t>(to) % sizeof(float2) == 0) {
        *reinterpret_cast<float2*>(to) = {value, next_value};
      } else {
        if (first) to[0] = value;
        if (both) to[1] = next_value;
      }
    }
  }

  /// The four lanes of a row have pairs of each eight outputs. They change them for all eight of some. `level_of`(n, k)
  /// is a level of tile t + n.
  template <unsigned Together, class LevelOf>
  __device__ void store_levels_of_row(std::size_t row, bool exists, unsigned t, const LevelOf& level_of) const {
    const unsigned quarter = lane % 4;
    std::uint32_t pair[4] = {};  // of tile t + n: 16 bits each
#pragma unroll
    for (unsigned n = 0; n < Together; ++n) pair[n] = pack_two<16>(level_of(n, 0), level_of(n, 1));
    // Lane q gets what all lanes have of tile t + q.
    exchange<1>(pair, quarter);
    exchange<2>(pair, quarter);
    if (!exists || quarter >= Together) return;
    const std::size_t first = first_output + output_warp * warp_outputs + (t + quarter) * 8;
    store_levels<8>(args.out.levels, row, first, [&](unsigned n) { return pair[n / 2] >> (16 * (n % 2)) & 0xFFFFU; });
  }

  /// A step of turning a square of four lanes by four words: words whose numbers differ in bit `Bit` change places with
  /// those of the lane that differs in it.
  template <unsigned Bit>
  __device__ static void exchange(std::uint32_t (&word)[4], unsigned quarter) {
    const bool upper = (quarter & Bit) != 0;
#pragma unroll
    for (unsigned n = 0; n < 4; ++n) {
      if ((n & Bit) != 0) continue;
      const std::uint32_t given = upper ? word[n] : word[n + Bit];
      const std::uint32_t got = __shfl_xor_sync(full_warp, given, Bit);
      (upper ? word[n] : word[n + Bit]) = got;
    }
  }

  __device__ void run() {
    const unsigned barrier_id = 1 + group;
    const std::size_t stride = std::size_t{gridDim.x} * groups;
    std::size_t tile = std::size_t{blockIdx.x} * groups + group;
    std::size_t asked_tile = tile;
    unsigned asked_chunk = 0, asked = 0;
    const auto ask = [&] {
      ask_for(asked_tile, asked_chunk, asked);
      asked = asked + 1 == stages ? 0 : asked + 1;
      if (++asked_chunk == tiles.chunks) asked_chunk = 0, asked_tile += stride;
    };
#pragma unroll
    for (unsigned n = 0; n + 1 < stages; ++n) ask();
    unsigned place = 0;
    for (; tile < tiles.tiles; tile += stride) {
      Sums sums = {};
      RowSums x_sum = {};
#pragma unroll 1
      for (unsigned chunk = 0; chunk < tiles.chunks; ++chunk) {
        wait_for_copies<stages - 2>();
        barrier(barrier_id, group_threads);
        ask();
        multiply(sums, x_sum, chunk, place);
        place = place + 1 == stages ? 0 : place + 1;
      }
      store(sums, x_sum, tile);
    }
    wait_for_copies<0>();
  }
};

template <unsigned XBits, unsigned OutputTiles, unsigned OutputWarps>
__global__ void __launch_bounds__(threads, 1)
    level_gemm_tiles(const __grid_constant__ LevelGemmArgs args, const __grid_constant__ Tiles tiles) {
  extern __shared__ __align__(128) std::uint8_t shared[];
  trigger_dependent_launch();
  wait_for_previous_kernel();
  Kernel<XBits, OutputTiles, OutputWarps> kernel(args, tiles, shared);
  kernel.bring_w();
  kernel.run();
}

unsigned chunks_of(std::size_t row_bytes) { return static_cast<unsigned>((row_bytes + block_bytes - 1) / block_bytes); }

/// False where the rows of W do not fit shared memory.
template <unsigned XBits, unsigned OutputTiles, unsigned OutputWarps>
bool launch(const Device& device, const LevelGemmArgs& args) {
  using Made = Kernel<XBits, OutputTiles, OutputWarps>;
  Tiles tiles;
  tiles.chunks = chunks_of(args.x.row_bytes);
  tiles.w_pitch = tiles.chunks * Made::chunk_columns;
  tiles.tiles = (args.x.nrows + tile_rows - 1) / tile_rows;
  tiles.slices = static_cast<unsigned>((stored_columns(args.out, args.outputs) + Made::outputs - 1) / Made::outputs);
  const std::size_t bytes = Made::shared_bytes(tiles.w_pitch);
  const CudaLimits& limits = cuda_limits(device);
  if (bytes > limits.shared_bytes_a_block) return false;
  const auto blocks = static_cast<unsigned>(
      std::min<std::size_t>((tiles.tiles + groups - 1) / groups, std::max(1U, limits.multiprocessors / tiles.slices)));
  static ProgrammaticKernel kernel(level_gemm_tiles<XBits, OutputTiles, OutputWarps>, "level_gemm_tiles");
  allow_shared_bytes(level_gemm_tiles<XBits, OutputTiles, OutputWarps>, bytes, "level_gemm_tiles");
  kernel.launch(device, dim3(blocks, tiles.slices), threads, bytes, args, tiles);
  return true;
}

/// As many outputs a block as fit; of a small product as few as still give each multiprocessor one block at most.
template <unsigned XBits>
void launch_fitting(const Device& device, const LevelGemmArgs& args) {
  const std::size_t outputs = stored_columns(args.out, args.outputs);
  const std::size_t pairs = (args.x.nrows + groups * tile_rows - 1) / (groups * tile_rows);
  const auto one_wave = [&](std::size_t outputs_a_block) {
    return (outputs + outputs_a_block - 1) / outputs_a_block * pairs <= cuda_limits(device).multiprocessors;
  };
  const bool fewest = outputs <= 16 || one_wave(16);
  const bool few = outputs <= 32 || one_wave(32);
  if (!few && outputs > 128 && launch<XBits, 8, 4>(device, args)) return;
  if (!few && outputs > 64 && launch<XBits, 4, 4>(device, args)) return;
  if (!few && launch<XBits, 2, 4>(device, args)) return;
  if (!fewest && launch<XBits, 2, 2>(device, args)) return;
  static_cast<void>(launch<XBits, 2, 1>(device, args));
}

template <unsigned XBits>
bool least_fits(const Device& device, std::size_t columns) {
  using Made = Kernel<XBits, 2, 1>;
  const unsigned chunks = chunks_of(level_row_bytes(columns, XBits));
  return Made::shared_bytes(chunks * Made::chunk_columns) <= cuda_limits(device).shared_bytes_a_block;
}

}  // namespace

}  // namespace level_cuda

bool level_gemm_can(const Cuda& backend, LevelGemmKernel kernel, const LevelGemmShape& shape) {
  using namespace level_cuda;
  const Device& device = backend.device;
  if ((shape.packing == LevelPacking::planes) != (kernel == LevelGemmKernel::packed)) return false;
  if (kernel == LevelGemmKernel::plain) return true;
  if (kernel == LevelGemmKernel::halves) return halves_can(shape.columns);
  if (shape.x_bits > 8 || shape.w_bits > 8 || shape.columns == 0) return false;
  if (!sums_fit(shape.x_bits, shape.w_bits, shape.columns, 31)) return false;
  if (kernel == LevelGemmKernel::tiles)
    return shape.x_bits <= 4 ? least_fits<4>(device, shape.columns) : least_fits<8>(device, shape.columns);
  if constexpr (has_wgmma) {
    const CudaLimits& limits = cuda_limits(device);
    if (limits.major != 9 || limits.minor != 0) return false;
    if (kernel == LevelGemmKernel::wgmma) return bytes_fit(device, shape.x_bits, shape.columns);
    if (kernel == LevelGemmKernel::packed)
      return level_image::is_packed(shape.image) && packed_planes_fit(device, shape.columns);
    return shape.image == level_image::Order::planes && planes_fit(device, shape.columns);
  }
  return false;
}

LevelGemmKernel level_gemm_kernel(const Cuda& backend, const LevelGemmShape& shape) {
  for (const auto kernel : {LevelGemmKernel::packed, LevelGemmKernel::planes, LevelGemmKernel::wgmma,
                            LevelGemmKernel::tiles, LevelGemmKernel::halves}) {
    if (level_gemm_can(backend, kernel, shape)) return kernel;
  }
  return LevelGemmKernel::plain;
}

void level_gemm(const Cuda& backend, const LevelGemmArgs& args) {
  LevelGemmKernel kernel = level_gemm_kernel(backend, shape_of(args));
  // The code behind sums of wgmma has no place for a tanh, and tiles fit where its operands do.
  const bool by_wgmma = kernel == LevelGemmKernel::planes || kernel == LevelGemmKernel::wgmma;
  if (by_wgmma && args.epilogue.activation == Activation::tanh) kernel = LevelGemmKernel::tiles;
  level_gemm_by(backend, kernel, args);
}

void level_gemm_by(const Cuda& backend, LevelGemmKernel kernel, const LevelGemmArgs& args) {
  using namespace level_cuda;
  const Device& device = backend.device;
  if (args.x.nrows == 0 || args.outputs == 0) return;
  if constexpr (has_wgmma) {
    if (kernel == LevelGemmKernel::packed) return multiply_packed_planes(device, args);
    if (kernel == LevelGemmKernel::planes) return multiply_planes(device, args);
    if (kernel == LevelGemmKernel::wgmma) return multiply_bytes(device, args);
  }
  if (kernel == LevelGemmKernel::tiles)
    return args.x.bits <= 4 ? launch_fitting<4>(device, args) : launch_fitting<8>(device, args);
  if (kernel == LevelGemmKernel::halves) return level_gemm_by_halves(backend, args);
  level_gemm_plainly(backend, args);
}

}  // namespace bitgraph
