// SPDX-License-Identifier: Apache-2.0
// Products of bit planes on a CUDA device, by the matrix instruction for bits that devices from compute capability 8.0
// on have. A warp has 64 rows of A and as many columns of X as make 32 bit columns with up to four planes each. Both
// operands come straight from memory to registers, a step ahead: a thread's 64 bits of a row lie in sequence, and a
// slab of X has them as it needs them. Tiles of a row of tiles are taken four at a time, whatever lies between them.
#include <bitgraph/core/kernel.cuh>

#include "core/cuda/launch.cuh"
#include "core/cuda/limits.hpp"
#include "ops/cuda_store_pair.cuh"
#include "ops/gemm/cuda/bit_product.cuh"
#include "ops/gemm/has_wgmma.hpp"
#include "ops/gemm/planes/planes.hpp"
#include "ops/gemm/planes/wgmma.hpp"

#include <bitgraph/core/error.hpp>

#include <algorithm>
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

/// A block's rows, and a warp's columns. Planes of X are taken `Planes` at a time; all at once if `Single`.
template <class Source, class Sum, unsigned Planes, bool Single>
struct Kernel {
  static constexpr unsigned groups = bit_columns / Planes;  ///< of eight columns a warp
  static constexpr unsigned columns = 8 * groups;

  using Counts = int[row_tiles][bit_columns][4];
  using Totals = Sum[row_tiles][groups][4];

  /// What a thread has of a step's operands.
  struct Step {
    std::uint64_t x[bit_columns];
    RowWords a[row_tiles];
  };

  const PlaneGemmArgs& args;
  const Source source;
  const std::size_t first_row, first_column;
  const unsigned lane = threadIdx.x % 32;
  const std::size_t slab_words = args.x.num_octets() * args.x.octet_words();
  const std::uint64_t* x[bit_columns];  ///< the thread's words of the first slab; null where there are none

  __device__ explicit Kernel(const PlaneGemmArgs& given)
      : args(given),
        source(given, blockIdx.x),
        first_row(std::size_t{blockIdx.x} * block_rows),
        first_column((std::size_t{blockIdx.y} * warps + threadIdx.x / 32) * columns) {}

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

  /// What the plane of A has in common with the chosen planes of X.
  __device__ void count(Counts& counts, int plane) const {
    const unsigned count = source.count();
    Step next;
    load(next, lane % 4, plane);
    for (unsigned step = 0; step < count; step += step_words) {
      const Step now = next;
      load(next, step + step_words + lane % 4, plane);
      multiply(counts, now);
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
      store_in(args.sums, sum_at);
    } else {
      store_in(args.wide_sums, sum_at);
    }
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
    if (first_column >= args.x.ncols) return;
    if constexpr (Single) {
      Counts counts = {};
      choose_planes(0);
      count(counts, 0);
      store([&](unsigned m, unsigned g, unsigned k) { return joined(counts, m, g, k, 0); });
    } else {
      Totals totals = {};
      for (int first = 0; first < args.x.bits; first += static_cast<int>(Planes)) {
        choose_planes(first);
        for (int plane = 0; plane < args.a.bits; ++plane) {
          Counts counts = {};
          count(counts, plane);
          add(totals, counts, plane + first);
        }
      }
      store([&](unsigned m, unsigned g, unsigned k) { return totals[m][g][k]; });
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

template <class Source, class Sum, unsigned Planes, bool Single>
__global__ void __launch_bounds__(threads, 3) plane_gemm_mma(const __grid_constant__ PlaneGemmArgs args) {
  trigger_dependent_launch();
  wait_for_previous_kernel();
  Kernel<Source, Sum, Planes, Single>(args).run();
}

template <class Source, class Sum, unsigned Planes, bool Single>
void launch(const Device& device, const PlaneGemmArgs& args) {
  using Made = Kernel<Source, Sum, Planes, Single>;
  const dim3 blocks(static_cast<unsigned>((args.a.nrows + block_rows - 1) / block_rows),
                    static_cast<unsigned>((args.x.ncols + warps * Made::columns - 1) / (warps * Made::columns)));
  static ProgrammaticKernel kernel(plane_gemm_mma<Source, Sum, Planes, Single>, "plane_gemm_mma");
  kernel.launch(device, blocks, threads, 0, args);
}

template <class Source, class Sum>
void launch_planes(const Device& device, const PlaneGemmArgs& args) {
  if (args.a.bits > 1 || args.x.bits > 4) return launch<Source, Sum, 4, false>(device, args);
  if (args.x.bits == 1) return launch<Source, Sum, 1, true>(device, args);
  if (args.x.bits == 2) return launch<Source, Sum, 2, true>(device, args);
  launch<Source, Sum, 4, true>(device, args);
}

template <class Source>
void launch_sums(const Device& device, const PlaneGemmArgs& args) {
  if (args.sums.data != nullptr) return launch_planes<Source, std::uint32_t>(device, args);
  launch_planes<Source, std::uint64_t>(device, args);
}

}  // namespace

}  // namespace plane_cuda

bool plane_gemm_by_wgmma(const Cuda& backend, const PlaneGemmArgs& args) {
  const CudaLimits& limits = cuda_limits(backend.device);
  // What bulk copies and tensor maps ask for. Memory of a caller may begin anywhere.
  const auto aligned = [](const std::uint64_t* words) { return reinterpret_cast<std::uintptr_t>(words) % 16 == 0; };
  const bool copied = words_for_bits(args.a.ncols) % 2 == 0 && args.a.ncols != 0 && aligned(args.a.words) &&
                      aligned(args.x.words) && args.a.nrows <= std::numeric_limits<std::int32_t>::max();
  const bool takes = !args.has_tiles() && args.wide_sums.data == nullptr && copied;
  return takes && has_wgmma && limits.major == 9 && limits.minor == 0;
}

void plane_gemm(const Cuda& backend, const PlaneGemmArgs& args) {
  using namespace plane_cuda;
  if (args.a.nrows == 0 || args.x.ncols == 0) return;
  if (args.a.ncols > std::numeric_limits<std::int32_t>::max())
    fail(ErrorCode::not_possible, "plane gemm: a row of A has 2^31 columns or more, which no CUDA kernel counts");
  if constexpr (has_wgmma) {
    if (plane_gemm_by_wgmma(backend, args)) return multiply_by_wgmma(backend.device, args);
  }
  args.has_tiles() ? launch_sums<TileWords>(backend.device, args) : launch_sums<DenseWords>(backend.device, args);
}

}  // namespace bitgraph
