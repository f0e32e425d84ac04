// SPDX-License-Identifier: Apache-2.0
// Floats times signs on a CUDA device, on tensor cores (bfloat16_parts.cuh). A warp computes 16 rows, which it reads
// once, by up to 64 outputs. Their signs are in shared memory, in the order in which a thread has the columns.
#include "ops/cuda_float_rows.cuh"
#include "ops/gemm/cuda/bfloat16_parts.cuh"
#include "ops/gemm/cuda/bits.cuh"
#include "ops/gemm/cuda/image.cuh"
#include "ops/gemm/cuda/problem.hpp"

#include <algorithm>

namespace bitgraph::gemm_cuda {

namespace {

using float_rows::batch_columns;
using float_rows::batch_parts;
using Batch = float_rows::Batch<2>;
using Reader = float_rows::Reader<2>;

constexpr unsigned block_threads = cuda_gemm_tuning().block_threads;
constexpr unsigned block_warps = block_threads / 32;
constexpr unsigned chunk_columns = 128;  ///< columns whose signs fill one word of a thread
constexpr std::size_t most_chunks =
    32;  ///< chunks of signs in shared memory; signs of longer rows are made again for every tile

/// A thread's signs of one output in the columns 128 chunk + 16 i + 4 q + 0..3, i below 8, a set bit for -1: those of
/// pair m = 2 i + 0..1 are bits 15 - m and 31 - m, so that a shift by m brings them to the signs of two bfloat16.
template <class View>
__device__ std::uint32_t signs_of(const View& w, std::size_t output, std::size_t chunk) {
  const std::uint64_t* const row = w.words + output * w.words_per_row + 2 * chunk;
  const std::uint64_t words[2] = {__ldg(row), 2 * chunk + 1 < w.words_per_row ? __ldg(row + 1) : 0};
  std::uint32_t signs = 0;
#pragma unroll
  for (unsigned m = 0; m < 16; ++m) {
    const auto pair =
        ~static_cast<std::uint32_t>(words[m / 8] >> (8 * (m % 8 / 2 * 2) + 4 * (threadIdx.x % 4) + 2 * (m % 2)));
    signs |= (pair & 1U) << (15 - m) | (pair >> 1 & 1U) << (31 - m);
  }
  return signs;
}

/// A thread's sums: for each tile t, rows g and g + 8, outputs 8 t + 2 q and 8 t + 2 q + 1.
template <unsigned Tiles>
struct Sums {
  float of[Tiles][4] = {};

  /// Loads batch n of a chunk.
  __device__ void add(const Batch& x, const std::uint32_t (&signs)[Tiles], unsigned n) {
#pragma unroll
    for (unsigned i = 0; i < batch_parts; ++i) {
      const float(&upper)[4] = x.of[0][i];
      const float(&lower)[4] = x.of[1][i];
      std::uint32_t part[3][4];
      split(upper[0], upper[1], part[0][0], part[1][0], part[2][0]);
      split(lower[0], lower[1], part[0][1], part[1][1], part[2][1]);
      split(upper[2], upper[3], part[0][2], part[1][2], part[2][2]);
      split(lower[2], lower[3], part[0][3], part[1][3], part[2][3]);
      const unsigned m = 2 * (batch_parts * n + i);
#pragma unroll
      for (unsigned t = 0; t < Tiles; ++t) {
        const std::uint32_t w[2] = {(signs[t] << m & both_signs) ^ both_ones,
                                    (signs[t] << (m + 1) & both_signs) ^ both_ones};
#pragma unroll
        for (unsigned p = 3; p-- != 0;) multiply_add(of[t], part[p], w);
      }
    }
  }
};

/// The outputs of a block: their place, and how a thread stores its sums.
struct Place {
  std::size_t first;
  unsigned count;
  bool contiguous;  ///< the block computes whole rows, which lie side by side in the output
};

/// Applies the scales and stores the outputs. Whole rows go through shared memory, so that a warp stores consecutive
/// floats.
template <unsigned Tiles>
__device__ void store(const GemmOfFloats& args, const Place& place, const Sums<Tiles>& sums, std::size_t first_row,
                      float* image) {
  const unsigned g = threadIdx.x % 32 / 4;
  const unsigned q = threadIdx.x % 4;
#pragma unroll
  for (unsigned t = 0; t < Tiles; ++t) {
#pragma unroll
    for (unsigned n = 0; n < 4; ++n) {
      const unsigned output = 8 * t + 2 * q + n % 2;
      const unsigned r = g + n / 2 * 8;
      if (output >= place.count || first_row + r >= args.out.nrows) continue;
      const float y = args.apply(first_row + r, place.first + output, sums.of[t][n]);
      if (place.contiguous) {
        image[r * place.count + output] = y;
      } else {
        args.out.data[(first_row + r) * args.out.stride + place.first + output] = y;
      }
    }
  }
  if (place.contiguous) store_image(args.out, first_row, image);
}

/// Shared memory has the signs [chunk][tile][lane], then copies of the output rows.
template <unsigned Tiles>
__global__ void __launch_bounds__(block_threads, cuda_gemm_tuning().blocks) multiply_floats(GemmOfFloats args) {
  extern __shared__ __align__(16) std::uint32_t raw[];
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  const std::size_t chunks = (args.x.ncols + chunk_columns - 1) / chunk_columns;
  const bool fits = chunks <= most_chunks;
  Place place{std::size_t{blockIdx.y} * Tiles * 8, 0, false};
  place.count = static_cast<unsigned>(min(args.w.nrows - place.first, std::size_t{Tiles * 8}));
  place.contiguous = gridDim.y == 1 && args.out.stride == place.count &&
                     reinterpret_cast<std::uintptr_t>(args.out.data) % sizeof(float4) == 0;
  auto* const images = reinterpret_cast<float*>(raw + (fits ? chunks * Tiles * 32 : 0));
  const auto signs = [&](std::size_t chunk, unsigned t) {
    const unsigned output = 8 * t + lane / 4;
    return output < place.count ? signs_of(args.w, place.first + output, chunk) : 0;
  };
  std::size_t tile = std::size_t{warp} * gridDim.x + blockIdx.x;
  const std::size_t step = std::size_t{block_warps} * gridDim.x;
  const Reader reader(args.x);
  for (std::size_t n = warp; fits && n < chunks * Tiles; n += block_warps) {
    raw[32 * n + lane] = signs(n / Tiles, static_cast<unsigned>(n % Tiles));
  }
  __syncthreads();
  for (; 16 * tile < args.x.nrows; tile += step) {
    Sums<Tiles> sums;
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
      std::uint32_t w[Tiles];
#pragma unroll
      for (unsigned t = 0; t < Tiles; ++t) w[t] = fits ? raw[32 * (chunk * Tiles + t) + lane] : signs(chunk, t);
#pragma unroll
      for (unsigned n = 0; n < chunk_columns / batch_columns; ++n) {
        const std::size_t column = chunk * chunk_columns + n * batch_columns;
        if (column >= args.x.ncols) break;
        Batch x;
        reader.read(tile, column, x);
        sums.add(x, w, n);
      }
    }
    store(args, place, sums, 16 * tile, images + warp * 16 * Tiles * 8);
  }
}

template <unsigned Tiles>
void launch(const Device& device, const GemmOfFloats& args) {
  const std::size_t chunks = (args.x.ncols + chunk_columns - 1) / chunk_columns;
  const std::size_t bytes =
      (chunks <= most_chunks ? chunks * Tiles * 32 * 4 : 0) + block_warps * std::size_t{16} * Tiles * 8 * 4;
  allow_shared_bytes(multiply_floats<Tiles>, bytes, "gemm");
  const std::size_t places =
      std::max(1U, resident_blocks(device, multiply_floats<Tiles>, block_threads, bytes, "multiply_floats"));
  const std::size_t useful = (args.x.nrows + 15) / 16;
  const dim3 grid(static_cast<unsigned>(std::min(places, useful)), blocks_for(args.w.nrows, Tiles * 8));
  multiply_floats<Tiles><<<grid, block_threads, bytes, stream_of(device)>>>(args);
  cuda_check_launch("multiply_floats");
}

}  // namespace

}  // namespace bitgraph::gemm_cuda

namespace bitgraph {

void gemm(const Cuda& backend, const GemmOfFloats& args) {
  if (args.x.nrows == 0 || args.w.nrows == 0) return;
  const ScopedCudaDevice scope(backend.device.index());
  using namespace gemm_cuda;
  const Plan chosen = plan(problem_of(args, Factors::floats_and_bits, cuda_limits(backend.device).multiprocessors));
  switch (chosen.tiles) {
    case 1: return launch<1>(backend.device, args);
    case 3: return launch<3>(backend.device, args);
    case 6: return launch<6>(backend.device, args);
    default: return launch<8>(backend.device, args);
  }
}

}  // namespace bitgraph
