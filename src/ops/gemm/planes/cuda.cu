// SPDX-License-Identifier: Apache-2.0
// Products of bit planes on a CUDA device, by the matrix instruction for bits that devices from compute capability 8.0
// on have. A warp has 64 rows of A and as many columns of X as make 32 bit columns with up to four planes each. Both
// operands come straight from memory to registers, a step ahead: a thread's 64 bits of a row lie in sequence, and a
// slab of X has them as it needs them. Tiles of a row of tiles are taken four at a time, whatever lies between them.
#include <bitgraph/core/kernel.cuh>

#include "core/cuda/launch.cuh"
#include "core/cuda/limits.hpp"
#include "ops/cuda_level_epilogue.cuh"
#include "ops/cuda_store_pair.cuh"
#include "ops/gemm/cuda/bit_product.cuh"
#include "ops/gemm/has_wgmma.hpp"
#include "ops/gemm/planes/planes.hpp"
#include "ops/gemm/planes/wgmma.hpp"

#include <bitgraph/core/error.hpp>

#include <algorithm>
#include <bit>
#include <limits>

namespace bitgraph {

namespace plane_cuda {

namespace {

using gemm_cuda::RowWords;

constexpr unsigned warps = 4, threads = 32 * warps;
constexpr unsigned block_rows = 64, row_tiles = block_rows / 16;
constexpr unsigned bit_columns = 4;  ///< groups of eight bit columns a warp
constexpr unsigned step_words = 4;   ///< of a row, that an instruction takes

/// Rows of planes: word w of a row meets rows 64 w .. 64 w + 63 of X.
struct DenseWords {
  const PlaneGemmArgs& args;
  std::size_t first_row;
  unsigned words;

  __device__ DenseWords(const PlaneGemmArgs& of, std::size_t block)
      : args(of), first_row(block * block_rows), words(static_cast<unsigned>((of.a.ncols + 63) / 64)) {}
  [[nodiscard]] __device__ unsigned count() const { return words; }
  [[nodiscard]] __device__ unsigned column(unsigned w) const { return w; }
  [[nodiscard]] __device__ std::uint64_t word(unsigned row, int plane, unsigned w) const {
    const std::size_t i = first_row + row;
    return i < args.a.nrows ? __ldg(args.a.words + (i * args.a.bits + plane) * words + w) : 0;
  }
};

/// A row of tiles: tile w of it meets the rows of X that its column names.
struct TileWords {
  const NodeId* columns;
  const std::uint64_t* tiles;
  unsigned num_tiles;

  __device__ TileWords(const PlaneGemmArgs& args, std::size_t block) {
    const EdgeOffset first = args.tiles.tile_row_ptr[block];
    columns = args.tiles.tile_col_ind + first;
    tiles = args.tiles.bit_tiles + first * block_rows;
    num_tiles = static_cast<unsigned>(args.tiles.tile_row_ptr[block + 1] - first);
  }
  [[nodiscard]] __device__ unsigned count() const { return num_tiles; }
  [[nodiscard]] __device__ unsigned column(unsigned w) const { return __ldg(columns + w); }
  [[nodiscard]] __device__ std::uint64_t word(unsigned row, int, unsigned w) const {
    return __ldg(tiles + w * block_rows + row);
  }
};

/// Two neighbouring levels of a row, the first one of an even column.
__device__ inline void store_level_pair(const QuantizedView<std::uint8_t>& out, std::size_t row, std::size_t column,
                                        std::uint32_t first, std::uint32_t second) {
  std::uint8_t* const to = out.row(row) + column * level_place_bits(out.bits) / 8;
  if (out.bits <= 4) {
    *to = static_cast<std::uint8_t>(first | second << 4);
  } else if (out.bits <= 8) {
    *reinterpret_cast<std::uint16_t*>(to) = static_cast<std::uint16_t>(first | second << 8);
  } else {
    *reinterpret_cast<std::uint32_t*>(to) = first | second << 16;
  }
}

/// A block's rows, and a warp's columns. Planes of X are taken `Planes` at a time; all at once if `Single`. `Ends`:
/// sums over neighbours become floats or levels.
template <class Source, class Sum, unsigned Planes, bool Single, bool Ends>
struct Kernel {
  static constexpr unsigned groups = bit_columns / Planes;  ///< of eight columns a warp
  static constexpr unsigned columns = 8 * groups;

  using Counts = int[row_tiles][bit_columns][4];
  using Totals = Sum[row_tiles][groups][4];
  using Ones = int[Ends ? row_tiles : 1][4];  ///< neighbours of rows, four times each

  /// What a thread has of a step's operands.
  struct Step {
    std::uint64_t x[bit_columns];
    RowWords a[row_tiles];
  };

  const PlaneGemmArgs& args;
  const Source source;
  const std::size_t first_row, first_column;
  const unsigned lane = threadIdx.x % 32;
  const std::size_t stored_columns;
  const std::size_t slab_words = args.x.num_octets() * args.x.octet_words();
  const std::uint64_t* x[bit_columns];  ///< the thread's words of the first slab; null where there are none

  __device__ Kernel(const PlaneGemmArgs& given, std::size_t stored)
      : args(given),
        source(given, blockIdx.x),
        first_row(std::size_t{blockIdx.x} * block_rows),
        first_column((std::size_t{blockIdx.y} * warps + threadIdx.x / 32) * columns),
        stored_columns(stored) {}

  /// Columns that the output has, behind the last one too.
  [[nodiscard]] __device__ std::size_t stored() const { return Ends ? stored_columns : args.x.ncols; }

  __device__ void choose_planes(int first) {
#pragma unroll
    for (unsigned n = 0; n < bit_columns; ++n) {
      const int q = first + static_cast<int>(n % Planes);
      const std::size_t j = first_column + n / Planes * 8 + lane / 4;
      x[n] = q < args.x.bits && j < args.x.ncols ? args.x.column(0, q, j) : nullptr;
    }
  }

  __device__ void load(Step& step, unsigned w, int plane) const {
    const bool exists = w < source.count();
    const unsigned row_of_x = exists ? source.column(w) : 0;
    const std::size_t at = row_of_x / 2 * slab_words + row_of_x % 2;
#pragma unroll
    for (unsigned n = 0; n < bit_columns; ++n) step.x[n] = exists && x[n] != nullptr ? __ldg(x[n] + at) : 0;
#pragma unroll
    for (unsigned m = 0; m < row_tiles; ++m) {
      const unsigned row = m * 16 + lane / 4;
      step.a[m] = {exists ? source.word(row, plane, w) : 0, exists ? source.word(row + 8, plane, w) : 0};
    }
  }

  __device__ static void multiply(Counts& counts, const Step& step) {
#pragma unroll
    for (unsigned m = 0; m < row_tiles; ++m) {
#pragma unroll
      for (unsigned n = 0; n < bit_columns; ++n) gemm_cuda::multiply_add(counts[m][n], step.a[m], step.x[n]);
    }
  }

  /// What the plane of A has in common with the chosen planes of X. If `counts_ones`, a column of ones
  /// counts those of A, too.
  __device__ void count(Counts& counts, int plane, Ones& ones, bool counts_ones) const {
    const unsigned count = source.count();
    Step next;
    load(next, lane % 4, plane);
    for (unsigned step = 0; step < count; step += step_words) {
      const Step now = next;
      load(next, step + step_words + lane % 4, plane);
      multiply(counts, now);
      if constexpr (Ends) {
        if (!counts_ones) continue;
#pragma unroll
        for (unsigned m = 0; m < row_tiles; ++m) gemm_cuda::multiply_add(ones[m], now.a[m], ~std::uint64_t{0});
      }
    }
  }

  /// Joins the planes of column group g: their weights, but for `shift`, are 1, 2, 4 and 8.
  [[nodiscard]] __device__ static Sum joined(const Counts& counts, unsigned m, unsigned g, unsigned k, int shift) {
    Sum sum = 0;
#pragma unroll
    for (unsigned p = 0; p < Planes; ++p) sum += static_cast<Sum>(counts[m][g * Planes + p][k]) << p;
    return sum << shift;
  }

  template <class SumAt>
  __device__ void store(const SumAt& sum_at) const {
    if constexpr (sizeof(Sum) == sizeof(std::int32_t)) {
      store_in(args.out.sums, sum_at);
    } else {
      store_in(args.out.wide_sums, sum_at);
    }
  }

  /// Two neighbouring columns of row i from column j on, whose places are given.
  __device__ void store_places(std::size_t i, std::size_t j, float first, float second, float first_least,
                               float second_least) const {
    const level_cuda::LevelRule rule(args.epilogue, args.out.levels.data == nullptr ? 1 : args.out.levels.bits);
    if (args.out.values.data == nullptr) {
      const bool is_late = args.epilogue.is_late();
      const level_cuda::LateRow<> late(args.epilogue, i);
      const auto level_of = [&](std::size_t column, float place, float least) {
        if (column >= args.x.ncols) return 0U;  // whatever the scale
        return static_cast<std::uint32_t>(is_late ? late.level(rule, place, column) : rule.level(place, least));
      };
      return store_level_pair(args.out.levels, i, j, level_of(j, first, first_least),
                              level_of(j + 1, second, second_least));
    }
    float* const to = args.out.values.data + level_cuda::value_row_of(args.out, i) * args.out.values.stride + j;
    if (j + 1 < stored() && takes_pairs(args.out.values)) return store_pair(to, rule.value(first), rule.value(second));
    to[0] = rule.value(first);
    if (j + 1 < stored()) to[1] = rule.value(second);
  }

  /// Sums as floats or levels.
  template <bool offsets, class SumAt>
  __device__ void store_ends(const SumAt& sum_at, const Ones& ones) const {
#pragma unroll
    for (unsigned g = 0; g < groups; ++g) {
      const std::size_t j = first_column + g * 8 + lane % 4 * 2;
      if (j >= stored()) return;
      const level_cuda::SumPlace first(args, args.x.ncols, j), second(args, args.x.ncols, j + 1);
#pragma unroll
      for (unsigned row = 0; row < 2 * row_tiles; ++row) {
        const unsigned m = row / 2, k = row % 2 * 2;
        const std::size_t i = first_row + row * 8 + lane / 4;
        if (i >= args.a.nrows) continue;
        const float scale = args.row_scale == nullptr ? 1.0F : __ldg(args.row_scale + i);
        const auto left = static_cast<float>(sum_at(m, g, k)), right = static_cast<float>(sum_at(m, g, k + 1));
        const float neighbors = scale * static_cast<float>(ones[m][k]);
        store_places(i, j, first.template place<offsets>(left, neighbors, scale),
                     second.template place<offsets>(right, neighbors, scale), first.least, second.least);
      }
    }
  }

  template <class SumAt>
  __device__ void finish(const SumAt& sum_at, const Ones& ones) const {
    if constexpr (!Ends) return store(sum_at);
    args.x_scale.offsets == nullptr ? store_ends<false>(sum_at, ones) : store_ends<true>(sum_at, ones);
  }

  template <class Out, class SumAt>
  __device__ void store_in(const DenseView<Out>& out, const SumAt& sum_at) const {
    const auto left =
        static_cast<int>(min(args.x.ncols - first_column, std::size_t{columns})) - static_cast<int>(lane % 4 * 2);
    const bool in_pairs = takes_pairs(out);
#pragma unroll
    for (unsigned m = 0; m < row_tiles; ++m) {
#pragma unroll
      for (unsigned half = 0; half < 2; ++half) {
        const std::size_t i = first_row + m * 16 + half * 8 + lane / 4;
        if (i >= args.a.nrows) continue;
        Out* const to = out.data + i * out.stride + first_column + lane % 4 * 2;
#pragma unroll
        for (unsigned g = 0; g < groups; ++g) {
          const auto first = static_cast<Out>(sum_at(m, g, half * 2));
          const auto second = static_cast<Out>(sum_at(m, g, half * 2 + 1));
          const int behind = left - static_cast<int>(g * 8);  // columns from the pair's first on
          if (behind >= 2 && in_pairs) {
            store_pair(to + g * 8, first, second);
          } else {
            if (behind >= 1) to[g * 8] = first;
            if (behind >= 2) to[g * 8 + 1] = second;
          }
        }
      }
    }
  }

  __device__ void run() {
    if (first_column >= stored()) return;
    Ones ones = {};
    const bool counts_ones = args.x_scale.offsets != nullptr;
    if constexpr (Single) {
      Counts counts = {};
      choose_planes(0);
      count(counts, 0, ones, counts_ones);
      finish([&](unsigned m, unsigned g, unsigned k) { return joined(counts, m, g, k, 0); }, ones);
    } else {
      Totals totals = {};
      for (int first = 0; first < args.x.bits; first += static_cast<int>(Planes)) {
        choose_planes(first);
        for (int plane = 0; plane < args.a.bits; ++plane) {
          Counts counts = {};
          count(counts, plane, ones, counts_ones && first == 0);
          add(totals, counts, plane + first);
        }
      }
      finish([&](unsigned m, unsigned g, unsigned k) { return totals[m][g][k]; }, ones);
    }
  }

  __device__ static void add(Totals& totals, const Counts& counts, int shift) {
#pragma unroll
    for (unsigned m = 0; m < row_tiles; ++m) {
#pragma unroll
      for (unsigned n = 0; n < groups * 4; ++n) totals[m][n / 4][n % 4] += joined(counts, m, n / 4, n % 4, shift);
    }
  }
};

template <class Source, class Sum, unsigned Planes, bool Single, bool Ends>
__global__ void __launch_bounds__(threads, 3)
    plane_gemm_mma(const __grid_constant__ PlaneGemmArgs args, std::size_t stored_columns) {
  trigger_dependent_launch();
  wait_for_previous_kernel();
  Kernel<Source, Sum, Planes, Single, Ends>(args, stored_columns).run();
}

template <class Source, class Sum, bool Ends, unsigned Planes, bool Single>
void launch(const Device& device, const PlaneGemmArgs& args) {
  using Made = Kernel<Source, Sum, Planes, Single, Ends>;
  const std::size_t columns = level_cuda::stored_columns(args.out, args.x.ncols);
  const dim3 blocks(static_cast<unsigned>((args.a.nrows + block_rows - 1) / block_rows),
                    static_cast<unsigned>((columns + warps * Made::columns - 1) / (warps * Made::columns)));
  static ProgrammaticKernel kernel(plane_gemm_mma<Source, Sum, Planes, Single, Ends>, "plane_gemm_mma");
  kernel.launch(device, blocks, threads, 0, args, columns);
}

template <class Source, class Sum, bool Ends>
void launch_planes(const Device& device, const PlaneGemmArgs& args) {
  if (args.a.bits > 1 || args.x.bits > 4) return launch<Source, Sum, Ends, 4, false>(device, args);
  if (args.x.bits == 1) return launch<Source, Sum, Ends, 1, true>(device, args);
  if (args.x.bits == 2) return launch<Source, Sum, Ends, 2, true>(device, args);
  launch<Source, Sum, Ends, 4, true>(device, args);
}

template <class Source, bool Ends>
void launch_sums(const Device& device, const PlaneGemmArgs& args) {
  if (args.wide || args.out.wide_sums.data != nullptr) return launch_planes<Source, std::uint64_t, Ends>(device, args);
  launch_planes<Source, std::uint32_t, Ends>(device, args);
}

template <class Source>
void launch_ends(const Device& device, const PlaneGemmArgs& args) {
  args.ends() ? launch_sums<Source, true>(device, args) : launch_sums<Source, false>(device, args);
}

}  // namespace

}  // namespace plane_cuda

bool plane_gemm_by_wgmma(const Cuda& backend, const PlaneGemmArgs& args) {
  const CudaLimits& limits = cuda_limits(backend.device);
  if (!has_wgmma || limits.major != 9 || limits.minor != 0) return false;
  if (args.out.wide_sums.data != nullptr || args.ends()) return false;
  // What bulk copies and tensor maps ask for. Memory of a caller may begin anywhere.
  const auto aligned = [](const std::uint64_t* words) { return reinterpret_cast<std::uintptr_t>(words) % 16 == 0; };
  if (!aligned(args.x.words)) return false;
  if (args.has_tiles())
    return aligned(args.tiles.bit_tiles) && args.x.bits <= 8 && std::has_single_bit(static_cast<unsigned>(args.x.bits));
  return words_for_bits(args.a.ncols) % 2 == 0 && args.a.ncols != 0 && aligned(args.a.words) &&
         args.a.nrows <= std::numeric_limits<std::int32_t>::max();
}

void plane_gemm(const Cuda& backend, const PlaneGemmArgs& args) {
  using namespace plane_cuda;
  if (args.a.nrows == 0 || args.x.ncols == 0) return;
  if (args.a.ncols > std::numeric_limits<std::int32_t>::max())
    fail(ErrorCode::not_possible, "plane gemm: a row of A has 2^31 columns or more, which no CUDA kernel counts");
  if constexpr (has_wgmma) {
    if (plane_gemm_by_wgmma(backend, args)) {
      return args.has_tiles() ? multiply_tiles_by_wgmma(backend.device, args) : multiply_by_wgmma(backend.device, args);
    }
  }
  args.has_tiles() ? launch_ends<TileWords>(backend.device, args) : launch_ends<DenseWords>(backend.device, args);
}

}  // namespace bitgraph
