// SPDX-License-Identifier: Apache-2.0
// Which kernel sums floats, or weights with signs, on a CUDA device: by the graph, the number of features and where X
// lies.
#pragma once

#include "ops/spmm/cuda/sum/copies.hpp"
#include "ops/spmm/cuda/sum/mesh.cuh"
#include "ops/spmm/cuda/sum/narrow.cuh"
#include "ops/spmm/cuda/sum/ordered.cuh"
#include "ops/spmm/cuda/sum/signs_of_halves.cuh"

namespace bitgraph::spmm_cuda {

/// Whether each row has a group of lanes: rows of about one length, but not a great many of few entries each, which
/// would not keep enough of X on its way.
inline bool sum_by_rows(const CsrPatternView& a) {
  return is_even(a) && (a.num_entries >= EdgeOffset{8} * a.nrows || a.nrows <= NodeId{1} << 18);
}

/// Whether such groups, of so many lanes for a row, leave much of the device without work, and rows are long enough for
/// more.
inline bool are_few(const CsrPatternView& a, std::size_t lanes) {
  constexpr std::size_t quarter_full = std::size_t{512} * multiprocessors;
  return std::size_t{a.nrows} * lanes < quarter_full && a.num_entries >= EdgeOffset{16} * a.nrows;
}

/// How a block comes to its rows: sum/mesh.cuh, sum/by_rows.cuh, sum/ordered.cuh or sum/stream.cuh.
enum class SumWay { mesh, by_rows, in_order, stream };

template <class In, class Out>
SumWay sum_way(const SpmmArgs<CsrPatternView, In, Out>& args) {
  if (is_mesh(args.a)) return SumWay::mesh;
  constexpr bool of_bits = ReaderOf<In>::type::always_weighted;
  if (sum_by_rows(args.a)) {
    const bool more_lanes =
        args.row_order.row != nullptr && are_few(args.a, args.out.ncols / (of_bits ? 2 * own_features : own_features));
    return more_lanes ? SumWay::in_order : SumWay::by_rows;
  }
  return sum_in_order<of_bits>(args.a, args.row_order, args.out.ncols) ? SumWay::in_order : SumWay::stream;
}

template <unsigned Group, class In, class Out>
void start_sum(const Device& device, const SpmmArgs<CsrPatternView, In, Out>& args) {
  using Reader = typename ReaderOf<In>::type;
  constexpr unsigned chunks = Reader::chunks;
  const unsigned slices = num_slices<Group, chunks>(args.out);
  const SumWay way = sum_way(args);
  if (way == SumWay::mesh) {
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
  // Floats that go by rows do so 64 at a time: see choose_group.
  if constexpr (Reader::always_weighted || Group * own_features == few_features) {
    if (way == SumWay::by_rows) {
      const dim3 grid(blocks_for(std::size_t{args.a.nrows} * Group, block_threads), slices);
      constexpr unsigned few_blocks = 8 * multiprocessors;  // the way to the device is much of their time
      return with_frame(args, [&]<class Args>(const Args& kernel_args) {
        static ProgrammaticKernel kernel(spmm_sum_short<Group, Args>, "spmm_sum_short");
        kernel.launch(device, grid, block_threads, 0, kernel_args, grid.x * grid.y <= few_blocks);
      });
    }
    if (way == SumWay::in_order) {
      const SumClasses classes = sum_classes(args.a, args.row_order, Group);
      const std::size_t tail_bytes = Tails::bytes<Group, chunks>(classes.part_blocks, slices);
      const Tails tails = Tails::in_workspace(device, tail_bytes, classes.part_blocks, slices);
      return with_frame(args, [&]<class Args>(const Args& kernel_args) {
        static ProgrammaticKernel kernel(spmm_sum_ordered<Group, Args>, "spmm_sum_ordered");
        kernel.launch(device, dim3(classes.blocks, slices), block_threads, 0, kernel_args, classes, tails);
      });
    }
  }
  const auto shape = StreamShape::of<Group, Reader>(args.a, slices);
  const Tails tails = shape.tails(device);
  with_frame(args, [&]<class Args>(const Args& kernel_args) {
    static ProgrammaticKernel kernel(spmm_stream<Group, Args>, "spmm_stream");
    const std::size_t room = EntriesOf<Args>::bytes(shape.items, args.col_scale != nullptr);
    kernel.launch(device, dim3(shape.blocks, slices), block_threads, room, kernel_args, shape.items, tails,
                  shape.lets_next_begin(Reader::blocks));
  });
}

template <unsigned Group, class In, class Out>
void start_sum(const Device& device, const SpmmArgs<AnyTiles, In, Out>& args) {
  const dim3 grid(blocks_for(args.a.nrows, block_warps), num_slices<32>(args.out));
  spmm_sum_tiles<<<grid, block_threads, 0, stream_of(device)>>>(args);
  cuda_check_launch("spmm_sum_tiles");
}

/// Rows of up to 64 features have half a warp each, and so have slices of 64 of those that are summed up row by row. Of
/// a great many entries 64 features are summed up, then the next 64: the caches keep more of X. Weights would be asked
/// for each time.
template <class In, class Out>
void choose_group(const Device& device, const SpmmArgs<CsrPatternView, In, Out>& args) {
  const SumWay way = sum_way(args);
  const bool in_slices = way == SumWay::stream && args.a.num_entries > great_many_entries && args.col_scale == nullptr;
  const bool half = args.x.ncols <= few_features || way == SumWay::by_rows || way == SumWay::in_order || in_slices;
  if (half) {
    start_sum<16>(device, args);
  } else {
    start_sum<32>(device, args);
  }
}

template <class In, class Out>
void choose_group(const Device& device, const SpmmArgs<AnyTiles, In, Out>& args) {
  start_sum<32>(device, args);
}

template <class Out>
void launch_sum(const Device& device, const SpmmArgs<CsrPatternView, BitsIn, Out>& args) {
  const WordPairs x{args.x.words, args.x.words_per_row};
  const SpmmArgs<CsrPatternView, WordPairs, Out> pairs{args.a,        x, args.out, args.col_scale, args.epilogue,
                                                       args.row_order};
  if (args.x.words_per_row <= 1) return start_sum<8>(device, pairs);
  if (args.x.words_per_row <= 2) return start_sum<16>(device, pairs);
  start_sum<32>(device, pairs);
}

template <class Out>
void launch_sum(const Device& device, const SpmmArgs<AnyTiles, BitsIn, Out>& args) {
  start_sum<32>(device, args);
}

template <class Graph, class Out>
void launch_wide_sum(const Device& device, const SpmmArgs<Graph, FloatIn, Out>& args) {
  if (!is_in_fours(args.x) || args.x.ncols % own_features != 0) return choose_group(device, args);
  const AlignedFloats x = in_fours(args.x.data, args.x.stride, args.x.ncols);
  choose_group(device,
               SpmmArgs<Graph, AlignedFloats, Out>{args.a, x, args.out, args.col_scale, args.epilogue, args.row_order});
}

/// X that is read in fours: as it is where it can be and has no weights, else from a copy.
template <class Out>
void launch_in_fours(const Device& device, const SpmmArgs<CsrPatternView, FloatIn, Out>& args, bool as_it_is) {
  // tail_bytes() of the workspace are not the copy's.
  const auto start = [&](const auto& tail_bytes, const auto& sum) {
    const AlignedFloats x = as_it_is ? in_fours(args.x.data, args.x.stride, args.x.ncols)
                                     : copy_in_fours(device, args.x, args.col_scale, tail_bytes());
    sum(SpmmArgs<CsrPatternView, AlignedFloats, Out>{args.a, x, args.out, nullptr, args.epilogue, args.row_order});
  };
  const auto narrow = [&]<unsigned Group>(std::integral_constant<unsigned, Group>) {
    const auto shape = StreamShape::of<Group, NarrowSpan<Group>>(args.a, 1);
    start([&] { return shape.tail_bytes; }, [&](const auto& sum) { start_narrow_sum<Group>(device, sum, shape); });
  };
  const std::size_t lanes = (args.x.ncols + own_features - 1) / own_features;
  if (lanes <= 2) return narrow(std::integral_constant<unsigned, 2>());
  const SumWay way = sum_way(args);
  if (lanes <= 16 && (way == SumWay::stream || way == SumWay::in_order)) {
    if (lanes <= 4) return narrow(std::integral_constant<unsigned, 4>());
    if (!sums_by_order(args.x.ncols)) return narrow(std::integral_constant<unsigned, 8>());
    // In whole fours rows that go out side by side gain nothing where they are long, one of them holds a large share of
    // the entries, or entries are many.
    const bool ragged = args.x.ncols % own_features != 0;
    const EdgeOffset most = ragged ? great_many_entries : great_many_entries / 2;
    const bool short_rows = args.a.num_entries < EdgeOffset{24} * args.a.nrows;
    const bool has_hub = args.a.longest_row > args.a.num_entries / 64;
    const bool gains = ragged || (short_rows && !has_hub && way == SumWay::stream);
    if (gains && args.a.num_entries <= most) return narrow(std::integral_constant<unsigned, 16>());
  }
  const auto tail_bytes = [&]() -> std::size_t {
    const unsigned slices = num_slices<16>(args.out);
    if (way == SumWay::stream) return StreamShape::of<16, AlignedReader>(args.a, slices).tail_bytes;
    if (way != SumWay::in_order) return 0;
    return Tails::bytes<16, 1>(sum_classes(args.a, args.row_order, 16).part_blocks, slices);
  };
  start(tail_bytes, [&](const auto& sum) { start_sum<16>(device, sum); });
}

template <class Graph, class Out>
void launch_sum(const Device& device, const SpmmArgs<Graph, FloatIn, Out>& args) {
  if constexpr (std::is_same_v<Graph, CsrPatternView>) {
    const FloatIn& x = args.x;
    const bool in_fours = is_in_fours(x);
    if constexpr (is_bits<Out>) {
      if (args.row_order.row != nullptr && in_fours && args.epilogue.is_identity() &&
          gathers_halves(x.nrows, x.ncols, args.a.num_entries)) {
        return start_signs_of_halves(device, args);
      }
    }
    const bool weighted = args.col_scale != nullptr;
    const bool as_it_is = in_fours && !weighted && x.ncols <= few_features;
    if (as_it_is || copies_features(x.nrows, x.ncols, args.a.num_entries, in_fours, weighted)) {
      return launch_in_fours(device, args, as_it_is);
    }
  }
  launch_wide_sum(device, args);
}

}  // namespace bitgraph::spmm_cuda
