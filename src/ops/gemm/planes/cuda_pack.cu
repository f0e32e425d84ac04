// SPDX-License-Identifier: Apache-2.0
// Levels to bit planes on a CUDA device: a block has a slab of 128 rows, a warp 32 of them, a lane one. The bits of a
// plane and a column that the lanes of a warp have are one ballot.
#include <bitgraph/core/kernel.cuh>

#include "core/cuda/launch.cuh"
#include "ops/cuda_level_epilogue.cuh"
#include "ops/gemm/planes/planes.hpp"

#include <algorithm>

namespace bitgraph {

namespace plane_cuda {

namespace {

constexpr unsigned octet_columns = BitPlanesView<>::octet_columns;
constexpr unsigned pack_threads = BitPlanesView<>::slab_rows;
constexpr unsigned pack_warps = pack_threads / 32;

/// A warp has 32 bits of each column and plane of an octet: lane l keeps those of ballot l, l + 32 and so on.
__global__ void __launch_bounds__(pack_threads) pack_planes_of_levels(const __grid_constant__ PackPlanesArgs args) {
  trigger_dependent_launch();
  wait_for_previous_kernel();
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const std::size_t row = std::size_t{blockIdx.x} * pack_threads + threadIdx.x;
  const auto planes = static_cast<unsigned>(args.x.bits);
  const unsigned ballots = planes * octet_columns;
  for (std::size_t o = blockIdx.y; o < args.out.num_octets(); o += gridDim.y) {
    std::uint32_t level[octet_columns];
#pragma unroll
    for (unsigned c = 0; c < octet_columns; ++c) {
      const std::size_t column = o * octet_columns + c;
      const bool exists = row < args.x.nrows && column < args.x.ncols;
      level[c] = exists ? level_cuda::level_of(args.x, row, column) : 0;
    }
    auto* const to = reinterpret_cast<std::uint32_t*>(args.out.octet(blockIdx.x, o));
    for (unsigned first = 0; first < ballots; first += 32) {
      std::uint32_t kept = 0;
#pragma unroll
      for (unsigned n = 0; n < 32; ++n) {  // behind the last plane of levels there are zeros
        const std::uint32_t bits =
            __ballot_sync(full_warp, level[n % octet_columns] >> ((first + n) / octet_columns) & 1U);
        if (lane == n) kept = bits;
      }
      if (first + lane < ballots) to[(first + lane) * pack_warps + warp] = kept;
    }
  }
}

}  // namespace

}  // namespace plane_cuda

void pack_planes(const Cuda& backend, const PackPlanesArgs& args) {
  using namespace plane_cuda;
  if (args.x.nrows == 0 || args.x.ncols == 0) return;
  constexpr std::size_t most_blocks = 65535;
  const dim3 blocks(static_cast<unsigned>(args.out.num_slabs()),
                    static_cast<unsigned>(std::min(args.out.num_octets(), most_blocks)));
  static ProgrammaticKernel kernel(pack_planes_of_levels, "pack_planes_of_levels");
  kernel.launch(backend.device, blocks, pack_threads, 0, args);
}

}  // namespace bitgraph
