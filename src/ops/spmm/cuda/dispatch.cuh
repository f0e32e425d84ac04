// SPDX-License-Identifier: Apache-2.0
// The CUDA backend of spmm; the types of X and of the output choose the kernel. The .cu files of
// this folder instantiate it for some of them each.
#pragma once

#include "core/cuda/launch.cuh"
#include "core/cuda/limits.hpp"
#include "ops/spmm/cuda/epilogue/outputs.cuh"
#include "ops/spmm/cuda/problem.hpp"
#include "ops/spmm/cuda/spmm.hpp"
#include "ops/spmm/cuda/sum/by_rows.cuh"
#include "ops/spmm/cuda/sum/mesh.cuh"
#include "ops/spmm/cuda/sum/narrow.cuh"
#include "ops/spmm/cuda/sum/ordered.cuh"
#include "ops/spmm/cuda/sum/signs_of_fp16.cuh"
#include "ops/spmm/cuda/sum/stream.cuh"
#include "ops/spmm/cuda/vote/by_spans.cuh"
#include "ops/spmm/cuda/vote/ordered.cuh"
#include "ops/spmm/cuda/vote/short_rows.cuh"
#include "ops/spmm/cuda/vote/tiles.cuh"

#include <type_traits>

namespace bitgraph {

namespace spmm_cuda {

template <int Lanes, int Words, class Out>
void start_short(const Device& device, const SpmmArgs<CsrPatternView, BitsIn, Out>& args, unsigned slices) {
  const unsigned warp_rows = is_bits<Out> ? 32 / Lanes : rows_of_warp<Lanes>(args.a);
  const unsigned blocks = blocks_for(args.a.nrows, block_warps * warp_rows);
  with_plain(args, [&](const auto& kernel_args) {
    using Args = std::remove_cvref_t<decltype(kernel_args)>;
    static ProgrammaticKernel kernel(spmm_vote_short<Lanes, Words, Args>, "spmm_vote_short");
    kernel.launch(device, blocks * slices, block_threads, 0, kernel_args, warp_rows, blocks);
  });
}

/// Calls fn(lanes, words) with the shapes that kernels with several words a lane are built for.
template <class Fn>
void with_wide_shape(const Plan& plan, const Fn& fn) {
  const auto call = [&]<int Lanes, int Words>() {
    fn(std::integral_constant<int, Lanes>(), std::integral_constant<int, Words>());
  };
  if (plan.words == 2) return plan.lanes == 1 ? call.template operator()<1, 2>() : call.template operator()<8, 2>();
  if (plan.lanes == 1) return call.template operator()<1, 4>();
  if (plan.lanes == 2) return call.template operator()<2, 4>();
  call.template operator()<4, 4>();
}

/// The same with a word a lane.
template <class Fn>
void with_narrow_shape(const Plan& plan, const Fn& fn) {
  if (plan.lanes == 2) return fn(std::integral_constant<int, 2>());
  if (plan.lanes == 4) return fn(std::integral_constant<int, 4>());
  if (plan.lanes == 8) return fn(std::integral_constant<int, 8>());
  fn(std::integral_constant<int, 16>());
}

/// Rows wider than 512 features are cut into slices.
template <class Out>
void launch_vote(const Device& device, const SpmmArgs<CsrPatternView, BitsIn, Out>& args, const Plan& plan) {
  const auto words = static_cast<unsigned>(2 * args.x.words_per_row);
  const unsigned slices = (words + most_words - 1) / most_words;
  switch (plan.kernel) {
    case Kernel::vote_short_rows:
      if constexpr (is_bits<Out>) {
        return with_wide_shape(plan,
                               [&](auto lanes, auto each) { start_short<lanes(), each()>(device, args, slices); });
      } else {
        return with_narrow_shape(plan, [&](auto lanes) { start_short<lanes(), 1>(device, args, slices); });
      }
    case Kernel::vote_ordered:
      return with_wide_shape(
          plan, [&](auto lanes, auto each) { start_ordered<lanes(), each()>(device, args, slices, plan); });
    case Kernel::vote_direct:
      return with_narrow_shape(plan, [&](auto lanes) { start_direct<lanes()>(device, args, slices); });
    default: return with_narrow_shape(plan, [&](auto lanes) { start_spans<lanes()>(device, args, slices); });
  }
}

template <unsigned Group, class In, class Out>
void start_sum(const Device& device, const SpmmArgs<CsrPatternView, In, Out>& args, Kernel kernel_kind) {
  using Reader = typename ReaderOf<In>::type;
  constexpr unsigned chunks = Reader::chunks;
  const unsigned slices = num_slices<Group, chunks>(args.out);
  const unsigned multiprocessors = cuda_limits(device).multiprocessors;
  if (kernel_kind == Kernel::sum_mesh) {
    const cudaStream_t stream = stream_of(device);
    const dim3 grid(blocks_for(args.a.nrows, mesh_rows), slices);
    with_frame(args, [&](const auto& kernel_args) {
      if (Reader::always_weighted || args.col_scale != nullptr) {
        spmm_sum_mesh<Group, true><<<grid, block_threads, 0, stream>>>(kernel_args);
      } else if constexpr (!Reader::always_weighted) {
        spmm_sum_mesh<Group, false><<<grid, block_threads, 0, stream>>>(kernel_args);
      }
    });
    return cuda_check_launch("spmm_sum_mesh");
  }
  // Floats that go by rows do so 64 at a time.
  if constexpr (Reader::always_weighted || Group == 16) {
    if (kernel_kind == Kernel::sum_by_rows) {
      const dim3 grid(blocks_for(std::size_t{args.a.nrows} * Group, block_threads), slices);
      // Of so few blocks the way to the device is much of their time.
      const unsigned few_blocks = cuda_spmm_tuning().sum.early_blocks_a_multiprocessor * multiprocessors;
      return with_frame(args, [&]<class Args>(const Args& kernel_args) {
        static ProgrammaticKernel kernel(spmm_sum_short<Group, Args>, "spmm_sum_short");
        kernel.launch(device, grid, block_threads, 0, kernel_args, grid.x * grid.y <= few_blocks);
      });
    }
    if (kernel_kind == Kernel::sum_ordered) {
      const SumClasses classes = sum_classes(args.a, args.row_order, Group);
      const std::size_t tail_bytes = Tails::bytes<Group, chunks>(classes.part_blocks, slices);
      const Tails tails = Tails::in_workspace(device, tail_bytes, classes.part_blocks, slices);
      return with_frame(args, [&]<class Args>(const Args& kernel_args) {
        static ProgrammaticKernel kernel(spmm_sum_ordered<Group, Args>, "spmm_sum_ordered");
        kernel.launch(device, dim3(classes.blocks, slices), block_threads, 0, kernel_args, classes, tails);
      });
    }
  }
  const auto shape = StreamShape::of<Group, Reader>(args.a, slices, multiprocessors);
  const Tails tails = shape.tails(device);
  with_frame(args, [&]<class Args>(const Args& kernel_args) {
    static ProgrammaticKernel kernel(spmm_stream<Group, Args>, "spmm_stream");
    const std::size_t scratch = EntriesOf<Args>::bytes(shape.items, args.col_scale != nullptr);
    kernel.launch(device, dim3(shape.blocks, slices), block_threads, scratch, kernel_args, shape.items, tails,
                  shape.lets_next_begin(Reader::blocks));
  });
}

template <class In, class Out>
void start_tile_sum(const Device& device, const SpmmArgs<AnyTiles, In, Out>& args) {
  const dim3 grid(blocks_for(args.a.nrows, block_warps), num_slices<32>(args.out));
  spmm_sum_tiles<<<grid, block_threads, 0, stream_of(device)>>>(args);
  cuda_check_launch("spmm_sum_tiles");
}

/// Floats: half a warp has 64 features of a row, a warp 128.
template <class In, class Out>
void start_float_sum(const Device& device, const SpmmArgs<CsrPatternView, In, Out>& args, const Plan& plan) {
  if (plan.lanes == 16) return start_sum<16>(device, args, plan.kernel);
  start_sum<32>(device, args, plan.kernel);
}

template <class Out>
void launch_sum(const Device& device, const SpmmArgs<CsrPatternView, BitsIn, Out>& args, const Plan& plan) {
  const WordPairs x{args.x.words, args.x.words_per_row};
  const SpmmArgs<CsrPatternView, WordPairs, Out> pairs{args.a,        x, args.out, args.col_scale, args.epilogue,
                                                       args.row_order};
  if (plan.lanes == 8) return start_sum<8>(device, pairs, plan.kernel);
  if (plan.lanes == 16) return start_sum<16>(device, pairs, plan.kernel);
  start_sum<32>(device, pairs, plan.kernel);
}

template <class Out>
void launch_sum(const Device& device, const SpmmArgs<AnyTiles, BitsIn, Out>& args, const Plan&) {
  start_tile_sum(device, args);
}

/// The same product over X that is read in whole fours.
template <class Graph, class Out>
SpmmArgs<Graph, AlignedFloats, Out> over_fours(const SpmmArgs<Graph, FloatIn, Out>& args, const AlignedFloats& x,
                                               bool weighted) {
  return {args.a, x, args.out, weighted ? args.col_scale : nullptr, args.epilogue, args.row_order};
}

/// Bytes of the workspace that a kernel keeps for rows that several blocks have a part of.
template <class Out>
std::size_t tail_bytes(const Device& device, const SpmmArgs<CsrPatternView, FloatIn, Out>& args, const Plan& plan) {
  const unsigned slices = num_slices<16>(args.out);
  if (plan.kernel == Kernel::sum_stream) {
    return StreamShape::of<16, AlignedReader>(args.a, slices, cuda_limits(device).multiprocessors).tail_bytes;
  }
  if (plan.kernel != Kernel::sum_ordered) return 0;
  return Tails::bytes<16, 1>(sum_classes(args.a, args.row_order, 16).part_blocks, slices);
}

template <unsigned Group, class Out>
void launch_narrow(const Device& device, const SpmmArgs<CsrPatternView, FloatIn, Out>& args, const Plan& plan) {
  const auto shape = StreamShape::of<Group, NarrowSpan<Group>>(args.a, 1, cuda_limits(device).multiprocessors);
  const AlignedFloats x = plan.copy == Copy::none ? in_fours(args.x.data, args.x.stride, args.x.ncols)
                                                  : copy_in_fours(device, args.x, args.col_scale, shape.tail_bytes);
  start_narrow_sum<Group>(device, over_fours(args, x, false), shape);
}

template <class Out>
void launch_sum(const Device& device, const SpmmArgs<CsrPatternView, FloatIn, Out>& args, const Plan& plan) {
  if constexpr (is_bits<Out>) {
    if (plan.kernel == Kernel::signs_of_fp16) return start_signs_of_fp16(device, args);
  }
  if (plan.kernel == Kernel::sum_narrow) {
    switch (plan.lanes) {
      case 2: return launch_narrow<2>(device, args, plan);
      case 4: return launch_narrow<4>(device, args, plan);
      case 8: return launch_narrow<8>(device, args, plan);
      default: return launch_narrow<16>(device, args, plan);
    }
  }
  if (plan.copy == Copy::fours) {
    // The copy lies behind the tails.
    const AlignedFloats x = copy_in_fours(device, args.x, args.col_scale, tail_bytes(device, args, plan));
    return start_sum<16>(device, over_fours(args, x, false), plan.kernel);
  }
  const bool few = args.x.ncols <= cuda_spmm_tuning().sum.few_features && args.col_scale == nullptr;
  const bool in_whole_fours = is_in_fours(args.x) && (few || args.x.ncols % own_features == 0);
  if (!in_whole_fours) return start_float_sum(device, args, plan);
  start_float_sum(device, over_fours(args, in_fours(args.x.data, args.x.stride, args.x.ncols), true), plan);
}

template <class Out>
void launch_sum(const Device& device, const SpmmArgs<AnyTiles, FloatIn, Out>& args, const Plan&) {
  if (!is_in_fours(args.x) || args.x.ncols % own_features != 0) return start_tile_sum(device, args);
  start_tile_sum(device, over_fours(args, in_fours(args.x.data, args.x.stride, args.x.ncols), true));
}

template <class Graph, class In, class Out>
void launch(const Device& device, const SpmmArgs<Graph, In, Out>& args) {
  const Problem problem = problem_of(args, cuda_limits(device).multiprocessors);
  const Plan chosen = plan(problem);
  if constexpr (std::is_same_v<In, BitsIn>) {
    if (problem.is_vote()) return launch_vote(device, args, chosen);
  }
  launch_sum(device, args, chosen);
}

template <int K>
AnyTiles graph_for_kernels(const BitTileView<K>& a) {
  return AnyTiles::of(a);
}
inline const CsrPatternView& graph_for_kernels(const CsrPatternView& a) { return a; }

}  // namespace spmm_cuda

template <class Graph, class In, class Out>
void spmm(const Cuda& backend, const SpmmArgs<Graph, In, Out>& args) {
  if (args.a.nrows == 0 || args.x.ncols == 0) return;
  const ScopedCudaDevice scope(backend.device.index());
  const auto& graph = spmm_cuda::graph_for_kernels(args.a);
  using Kernels = SpmmArgs<std::remove_cvref_t<decltype(graph)>, In, Out>;
  spmm_cuda::launch(backend.device, Kernels{graph, args.x, args.out, args.col_scale, args.epilogue, args.row_order});
}

}  // namespace bitgraph
