// SPDX-License-Identifier: Apache-2.0
// Launches of the kernels that sum floats, or weights with signs, as a plan says (cuda/plan.hpp).
#pragma once

#include "core/cuda/limits.hpp"
#include "ops/spmm/cuda/problem.hpp"
#include "ops/spmm/cuda/sum/mesh.cuh"
#include "ops/spmm/cuda/sum/narrow.cuh"
#include "ops/spmm/cuda/sum/ordered.cuh"
#include "ops/spmm/cuda/sum/signs_of_fp16.cuh"

namespace bitgraph::spmm_cuda {

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
      const unsigned few_blocks = cuda_spmm_tuning().early_blocks_a_multiprocessor * multiprocessors;
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
  const bool few = args.x.ncols <= cuda_spmm_tuning().few_features && args.col_scale == nullptr;
  const bool in_whole_fours = is_in_fours(args.x) && (few || args.x.ncols % own_features == 0);
  if (!in_whole_fours) return start_float_sum(device, args, plan);
  start_float_sum(device, over_fours(args, in_fours(args.x.data, args.x.stride, args.x.ncols), true), plan);
}

template <class Out>
void launch_sum(const Device& device, const SpmmArgs<AnyTiles, FloatIn, Out>& args, const Plan&) {
  if (!is_in_fours(args.x) || args.x.ncols % own_features != 0) return start_tile_sum(device, args);
  start_tile_sum(device, over_fours(args, in_fours(args.x.data, args.x.stride, args.x.ncols), true));
}

}  // namespace bitgraph::spmm_cuda
