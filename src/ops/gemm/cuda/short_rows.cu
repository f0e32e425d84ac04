// SPDX-License-Identifier: Apache-2.0
// Binary gemm of rows of up to 1,024 bits on a CUDA device: a warp has 16 rows in its registers, read once, and loads
// the next 16 meanwhile (double buffering).
#include "core/cuda/launch.cuh"
#include "ops/gemm/cuda/short_rows.cuh"

namespace bitgraph::gemm_cuda {

namespace {

template <Finish How>
inline constexpr unsigned block_threads = of_many(How) ? cuda_gemm_tuning().large_block
                                                       : cuda_gemm_tuning().block_threads;
template <Finish How>
inline constexpr unsigned blocks_at_once = cuda_gemm_tuning().large_block / block_threads<How>;

/// A thread's words of one row: 16 bytes at a time where steps come in pairs and rows begin at multiples of them.
template <unsigned Steps, bool Aligned, class View>
__device__ void load_row(const View& matrix, std::size_t row, bool exists, std::uint64_t (&word)[Steps]) {
  const unsigned q = threadIdx.x % 4;
  const auto words = static_cast<unsigned>(matrix.words_per_row);
  const std::uint64_t* const from = matrix.words + row * words;
  const auto one = [&](unsigned at) { return exists && at < words ? __ldg(from + at) : std::uint64_t{0}; };
#pragma unroll
  for (unsigned step = 0; step < Steps; step += 2) {
    if (step + 1 == Steps) {
      word[step] = one(4 * step + q);
      continue;
    }
    const unsigned at = 4 * step + 2 * q;
    if constexpr (Aligned) {
      ulonglong2 both{0, 0};
      if (exists && at < words) both = __ldg(reinterpret_cast<const ulonglong2*>(from + at));
      word[step] = both.x;
      word[step + 1] = both.y;
    } else {
      word[step] = one(at);
      word[step + 1] = one(at + 1);
    }
  }
}

/// The other sign of all columns of a row that load_row has loaded.
template <unsigned Steps>
__device__ void turn_row(std::uint64_t (&word)[Steps], std::size_t ncols) {
  const unsigned q = threadIdx.x % 4;
#pragma unroll
  for (unsigned step = 0; step < Steps; ++step) {
    const bool paired = step % 2 != 0 || step + 1 < Steps;
    const std::size_t first = 64 * std::size_t{paired ? 4 * (step - step % 2) + 2 * q + step % 2 : 4 * step + q};
    if (first >= ncols) continue;
    word[step] ^= ncols - first >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << (ncols - first)) - 1;
  }
}

template <class View>
__device__ bool is_aligned(const View& matrix) {
  return matrix.words_per_row % 2 == 0 && reinterpret_cast<std::uintptr_t>(matrix.words) % sizeof(ulonglong2) == 0;
}

template <unsigned Steps, class View>
__device__ void load_rows(Rows<Steps>& rows, const View& x, std::size_t row, bool aligned) {
  if (aligned) {
    load_row<Steps, true>(x, row, row < x.nrows, rows.upper);
    load_row<Steps, true>(x, row + 8, row + 8 < x.nrows, rows.lower);
  } else {
    load_row<Steps, false>(x, row, row < x.nrows, rows.upper);
    load_row<Steps, false>(x, row + 8, row + 8 < x.nrows, rows.lower);
  }
}

/// Each warp takes every so many tiles; all its loads are under way before the first word is looked at. Whether what
/// the thread has seen is tame is returned.
template <unsigned Steps, Finish How, bool Aligned, class Args>
__device__ bool load_weights(const Shared<Steps>& shared, const Args& args, const Outputs& outputs) {
  constexpr unsigned warps = block_threads<How> / 32;
  constexpr unsigned most = block_outputs / 8 / warps;
  const unsigned n = threadIdx.x % 32 / 4;
  const unsigned warp = threadIdx.x / 32;
  std::uint64_t w[most][Steps];
#pragma unroll
  for (unsigned k = 0; k < most; ++k) {
    const unsigned t = warp + k * warps;
    const unsigned output = outputs.template at<Args>(t, n);
    load_row<Steps, Aligned>(args.w, outputs.first + output, t < outputs.tiles && output < outputs.count, w[k]);
  }
  bool tame = true;
#pragma unroll
  for (unsigned k = 0; k < most; ++k) {
    const unsigned t = warp + k * warps;
    if (t >= outputs.tiles) break;
    if constexpr (signs_alone(How)) {
      const unsigned output = outputs.template at<Args>(t, n);
      if (args.col_scale != nullptr && output < outputs.count && __ldg(args.col_scale + outputs.first + output) < 0) {
        turn_row(w[k], args.w.ncols);
      }
    }
    tame = put_weights<Steps, !signs_alone(How)>(shared, args, outputs, t, w[k]) && tame;
  }
  return tame;
}

/// Warps of all blocks take tiles of rows by turns, neighbouring ones in different blocks.
template <unsigned Steps, Finish How, class Args>
__global__ void __launch_bounds__(block_threads<How>, blocks_at_once<How>) gemm_short_rows(Args args) {
  extern __shared__ __align__(16) std::uint64_t raw[];
  const Outputs outputs(args);
  const Shared<Steps> shared(raw, outputs.tiles);
  const std::size_t row_tiles = (args.x.nrows + 15) / 16;
  const std::size_t blocks = gridDim.x / Outputs::groups(args.w.nrows);
  const std::size_t step = block_threads<How> / 32 * blocks;
  const unsigned g = threadIdx.x % 32 / 4;
  const bool aligned = is_aligned(args.x);
  std::size_t tile = threadIdx.x / 32 * blocks + blockIdx.x / Outputs::groups(args.w.nrows);
  wait_for_previous_kernel();
  trigger_dependent_launch();
  Rows<Steps> next;
  load_rows(next, args.x, 16 * tile + g, aligned);
  const bool tame = __syncthreads_and(is_aligned(args.w) ? load_weights<Steps, How, true>(shared, args, outputs)
                                                         : load_weights<Steps, How, false>(shared, args, outputs)) != 0;
  for (; tile < row_tiles; tile += step) {
    const std::size_t row = 16 * tile + g;
    const Rows<Steps> x = next;
    load_rows(next, args.x, 16 * (tile + step) + g, aligned);
    int ones[2];
    x.count(ones);
    if constexpr (signs_alone(How)) {
      finish_rows<How>(args, outputs, PlainSigns<Steps>(shared, args.x.ncols, ones), x, row, nullptr);
    } else {
      const auto row_scale = [&](std::size_t i) {
        return args.row_scale != nullptr && i < args.x.nrows ? __ldg(args.row_scale + i) : 1.0F;
      };
      const float scale[2] = {row_scale(row), row_scale(row + 8)};
      const auto finish = [&](auto all_tame) {
        const Scaled<Steps, all_tame()> epilogue(shared, args.x.ncols, ones, scale);
        finish_rows<How>(args, outputs, epilogue, x, row, shared.image(outputs));
      };
      if (!to_bits<Args>) {
        finish(std::false_type());
      } else if (tame && __all_sync(full_warp, fabsf(scale[0]) <= FLT_MAX && fabsf(scale[1]) <= FLT_MAX)) {
        finish(std::true_type());
      } else {
        finish(std::false_type());
      }
    }
  }
}

template <unsigned Steps, Finish How, class Args>
void launch(const Device& device, const Args& args) {
  static ProgrammaticKernel kernel(gemm_short_rows<Steps, How, Args>, "gemm_short_rows");
  const std::size_t groups = Outputs::groups(args.w.nrows);
  const std::size_t outputs = std::min<std::size_t>(args.w.nrows, block_outputs);
  const std::size_t bytes =
      Shared<Steps>::bytes((outputs + 63) / 64 * group_tiles) + image_bytes<How>(args, block_threads<How> / 32);
  // At least four tiles of rows a block, or its weights would cost more than they bring; at most what fits at once.
  const std::size_t places = blocks_at_once<How> * cuda_limits(device).multiprocessors;
  const std::size_t useful = (args.x.nrows + 63) / 64;
  const std::size_t blocks = std::min((places + groups - 1) / groups, useful);
  kernel.launch(device, static_cast<unsigned>(blocks * groups), block_threads<How>, bytes, args);
}

template <Finish How, class Args>
void launch_for_length(const Device& device, const Args& args, unsigned steps) {
  switch (steps) {
    case 1: return launch<1, How>(device, args);
    case 2: return launch<2, How>(device, args);
    case 3: return launch<3, How>(device, args);
    default: return launch<4, How>(device, args);
  }
}

}  // namespace

template <class Args>
void multiply_short_rows(const Device& device, const Args& args, const Plan& chosen) {
  if constexpr (to_bits<Args>) {
    switch (chosen.finish) {
      case Finish::scaled_of_many: return launch_for_length<Finish::scaled_of_many>(device, args, chosen.steps);
      case Finish::signs: return launch_for_length<Finish::signs>(device, args, chosen.steps);
      case Finish::signs_of_many: return launch_for_length<Finish::signs_of_many>(device, args, chosen.steps);
      default: break;
    }
  } else if (chosen.finish == Finish::by_way_of_an_image) {
    return launch_for_length<Finish::by_way_of_an_image>(device, args, chosen.steps);
  }
  launch_for_length<Finish::scaled>(device, args, chosen.steps);
}

template void multiply_short_rows(const Device&, const GemmToBits&, const Plan&);
template void multiply_short_rows(const Device&, const GemmToFloats&, const Plan&);

}  // namespace bitgraph::gemm_cuda
