// SPDX-License-Identifier: Apache-2.0
// Sums of neighbors' rows with up to 64 float features on a CUDA device. A group of 2 to 16 lanes reads one row of X,
// so a warp reads up to 16 neighbors at a time. A block takes a span of rows and entries (see sum/stream.cuh). The
// span's entries are cut into runs of equal length, one for each group. A group adds up its run, and writes the sums of
// rows that end in it to shared memory. Then the block writes all rows of the span to the output, side by side.
//
// A lane reads four floats of X at a time. This needs rows that begin at a multiple of four floats and have a multiple
// of four. Where X has other rows, or weights, the launch first makes a copy of X that is padded and weighted: the copy
// is small beside the bytes that are gathered. Wider rows get a weighted copy too, where the graph has many entries.
#pragma once

#include "core/cuda/launch.cuh"
#include "ops/spmm/cuda/block.hpp"
#include "ops/spmm/cuda/epilogue/emit.cuh"
#include "ops/spmm/cuda/schedule/columns.cuh"
#include "ops/spmm/cuda/schedule/tails.cuh"
#include "ops/spmm/cuda/sum/readers.cuh"

#include <algorithm>
#include <bit>

namespace bitgraph::spmm_cuda {

/// Copies rows of X, times their weights, padded with zeros to a multiple of four floats. 2^log2_lanes lanes copy a
/// row.
template <class In>
__global__ void __launch_bounds__(block_threads)
    spmm_fill_fours(const __grid_constant__ In x, const float* weights, float4* fours, unsigned log2_lanes) {
  trigger_dependent_launch();
  const auto ncols = static_cast<unsigned>(x.ncols);
  const unsigned fours_per_row = (ncols + own_features - 1) / own_features;
  const unsigned lanes = 1U << log2_lanes;
  const std::size_t row = (std::size_t{blockIdx.x} * block_threads + threadIdx.x) >> log2_lanes;
  wait_for_previous_kernel();
  if (row >= x.nrows) return;
  const float weight = weights == nullptr ? 1.0F : __ldg(weights + row);
  const float* const from = x.data + row * x.stride;
  const auto value = [&](unsigned f) { return f < ncols ? weight * __ldg(from + f) : 0.0F; };
  for (unsigned lane = threadIdx.x & (lanes - 1); lane < fours_per_row; lane += lanes) {
    const unsigned f = lane * own_features;
    fours[row * fours_per_row + lane] = {value(f), value(f + 1), value(f + 2), value(f + 3)};
  }
}

/// A row whose entries do not end with the runs looked at so far: the sum of its entries in these runs.
struct OpenRow {
  float4 sum = {0, 0, 0, 0};
  bool begins_here = false;  ///< another row ends in these runs, so the open row begins in them

  /// Joins these runs with the runs just before them.
  __device__ void follow(const OpenRow& before) {
    if (begins_here) return;
    float4 both = before.sum;
    add(both, sum);
    sum = both;
    begins_here = before.begins_here;
  }

  /// The OpenRow of the lane that is `step` lower in the warp.
  [[nodiscard]] __device__ OpenRow shifted(unsigned step) const {
    const auto shift = [&](float value) { return __shfl_up_sync(full_warp, value, step); };
    return {{shift(sum.x), shift(sum.y), shift(sum.z), shift(sum.w)},
            __shfl_up_sync(full_warp, begins_here ? 1 : 0, step) != 0};
  }
};

/// Shared memory of a block, and the steps of its work: the entries of a part of the span, and the sums of its rows.
template <unsigned Group>
struct NarrowSpan {
  static constexpr unsigned groups = block_threads / Group;
  static constexpr SpanSumTuning tuning =
      Group == 16 ? cuda_spmm_tuning().sum.narrow_of_64 : cuda_spmm_tuning().sum.narrow;
  static constexpr unsigned batch = tuning.batch;
  static constexpr unsigned most_span_items = tuning.most_span_items;
  static constexpr unsigned blocks = tuning.blocks;
  static constexpr std::size_t bringing = tuning.bringing;
  static constexpr unsigned chunks = 1;
  static constexpr unsigned most_rows = cuda_spmm_tuning().sum.narrow_fours / Group;  ///< in one part of a span

  std::uint32_t ends[most_span_items / 32];  ///< one bit an entry: set for the last entry of a row
  OpenRow of_warp[block_warps][Group];
  alignas(16) NodeId columns[most_span_items];
  /// For the last entry of a row: the row, counted from the first of the part.
  alignas(16) std::uint16_t rows[most_span_items];
  float4 begun[Group];  ///< the span's sum of a row that began before the span

  /// The sums of a row, in the dynamic shared memory of the launch.
  __device__ static float4 (&sums_of(unsigned row))[Group] {
    extern __shared__ __align__(16) std::uint32_t scratch[];
    return reinterpret_cast<float4(*)[Group]>(scratch)[row];
  }

  /// Loads the columns of a part of a span, and marks the last entry of each row. The whole block calls it. Loads that
  /// do not depend on each other are issued together.
  __device__ void bring(const CsrPatternView& a, const Span& part) {
    constexpr unsigned rounds = most_span_items / block_threads;
    const unsigned padded = (part.count + batch - 1) / batch * batch;  // padded entries repeat the last column
    NodeId column[rounds];
#pragma unroll
    for (unsigned k = 0; k < rounds; ++k) {
      const unsigned i = k * block_threads + threadIdx.x;
      if (i < padded) column[k] = stream_in(a.col_ind + part.entry + min(i, part.count - 1));
    }
    const unsigned count = part.end_row - part.row;
    unsigned row = threadIdx.x;
    EdgeOffset begin = 0;
    EdgeOffset end = 0;
    const auto look_up = [&] {
      if (row >= count) return;
      begin = __ldg(a.row_ptr + part.row + row);
      end = __ldg(a.row_ptr + part.row + row + 1);
    };
    look_up();
    if (threadIdx.x < most_span_items / 32) ends[threadIdx.x] = 0;
    for (unsigned at = threadIdx.x; at < count * Group; at += block_threads)
      sums_of(at / Group)[at % Group] = {0, 0, 0, 0};
#pragma unroll
    for (unsigned k = 0; k < rounds; ++k) {
      const unsigned i = k * block_threads + threadIdx.x;
      if (i < padded) columns[i] = column[k];
    }
    __syncthreads();
#pragma unroll 1
    while (row < count) {
      if (begin != end && end > part.entry) {
        const auto last = static_cast<unsigned>(end - 1 - part.entry);
        rows[last] = static_cast<std::uint16_t>(row);
        atomicOr(&ends[last / 32], 1U << last % 32);
      }
      row += block_threads;
      look_up();
    }
    __syncthreads();
  }

  /// Adds up a group's run of the entries. Returns the row that is open at its end. `first_end` becomes 1 + the first
  /// row that ends in the run, else it stays 0: groups before this one may have more entries of that row.
  __device__ OpenRow add_run(const AlignedReader& reader, unsigned count, std::uint32_t& first_end) {
    const unsigned own = threadIdx.x % Group;
    const unsigned group = threadIdx.x / Group;
    constexpr unsigned portion = groups * batch;
    const unsigned length = (count + portion - 1) / portion * batch;
    const unsigned end = min((group + 1) * length, count);
    OpenRow open;
#pragma unroll 1
    for (unsigned at = group * length; at < end; at += batch) {
      float4 values[batch];
#pragma unroll
      for (unsigned u = 0; u < batch; u += 4) {
        const uint4 four = *reinterpret_cast<const uint4*>(columns + at + u);
        values[u] = reader.fetch(four.x);
        values[u + 1] = reader.fetch(four.y);
        values[u + 2] = reader.fetch(four.z);
        values[u + 3] = reader.fetch(four.w);
      }
      if (at + batch > count) {
#pragma unroll
        for (unsigned u = 0; u < batch; ++u) {
          if (at + u >= count) values[u] = {0, 0, 0, 0};
        }
      }
      const std::uint32_t here = ends[at / 32] >> at % 32 & ((1U << batch) - 1);
      if (here == 0) {
#pragma unroll
        for (unsigned u = 0; u < batch; u += 2) {
          add(values[u], values[u + 1]);
          add(open.sum, values[u]);
        }
        continue;
      }
      if (first_end == 0) first_end = rows[at + static_cast<unsigned>(__ffs(static_cast<int>(here))) - 1] + 1;
#pragma unroll
      for (unsigned u = 0; u < batch; ++u) {
        add(open.sum, values[u]);
        if ((here >> u & 1U) == 0) continue;
        sums_of(rows[at + u])[own] = open.sum;
        open.sum = {0, 0, 0, 0};
      }
    }
    open.begins_here = first_end != 0;
    return open;
  }

  /// Joins the sums of rows whose entries lie in several runs. Returns the row that is open at the end of the group's
  /// run, over all runs up to it. The whole block calls it.
  __device__ OpenRow join(OpenRow open, std::uint32_t first_end) {
    const unsigned lane = threadIdx.x % 32;
    const unsigned warp = threadIdx.x / 32;
#pragma unroll
    for (unsigned step = Group; step < 32; step *= 2) {
      const OpenRow earlier = open.shifted(step);
      if (lane >= step) open.follow(earlier);
    }
    if (lane >= 32 - Group) of_warp[warp][lane % Group] = open;
    __syncthreads();
    OpenRow carried;
#pragma unroll 1
    for (unsigned w = 0; w < warp; ++w) {
      OpenRow next = of_warp[w][lane % Group];
      next.follow(carried);
      carried = next;
    }
    open.follow(carried);
    OpenRow before = open.shifted(Group);
    if (lane < Group) before = carried;
    if (first_end != 0) {
      float4& sum = sums_of(first_end - 1)[lane % Group];
      add(before.sum, sum);
      sum = before.sum;
    }
    return open;
  }
};

/// Writes rows of up to 64 features to the output; a group of lanes writes a row.
template <unsigned Group, class Out>
class NarrowWriter {
 public:
  template <class Args>
  explicit __device__ NarrowWriter(const Args& args)
      : out_(args.out), row_scale_(args.epilogue.row_scale), first_(threadIdx.x % Group * own_features) {
    const auto four = [&](const float* values, float otherwise) {
      const auto one = [&](unsigned f) { return values == nullptr || f >= out_.ncols ? otherwise : __ldg(values + f); };
      return float4{one(first_), one(first_ + 1), one(first_ + 2), one(first_ + 3)};
    };
    scale_ = four(args.epilogue.feature_scale, 1);
    offset_ = four(args.epilogue.feature_offset, 0);
    bias_ = four(args.epilogue.bias, 0);
  }

  /// Whether groups write whole rows. Rows of floats that do not lie at multiples of four are written one float a lane.
  [[nodiscard]] __device__ bool writes_rows() const {
    if constexpr (is_bits<Out>) {
      return true;
    } else {
      return out_.ncols % own_features == 0 && out_.stride % own_features == 0 &&
             reinterpret_cast<std::uintptr_t>(out_.data) % sizeof(float4) == 0;
    }
  }

  __device__ void write_one(const SpmmEpilogue& epilogue, std::size_t row, unsigned f, float sum) const {
    if constexpr (!is_bits<Out>) __stcs(out_.data + row * out_.stride + f, through(epilogue, row, f, sum));
  }

  /// Writes a row; the whole group calls it.
  __device__ void write(std::size_t row, const float4& sum) const {
    const float scale = row_scale_ == nullptr ? 1.0F : __ldg(row_scale_ + row);
    const float y[own_features] = {
        scale * (scale_.x * sum.x + offset_.x) + bias_.x, scale * (scale_.y * sum.y + offset_.y) + bias_.y,
        scale * (scale_.z * sum.z + offset_.z) + bias_.z, scale * (scale_.w * sum.w + offset_.w) + bias_.w};
    if constexpr (is_bits<Out>) {
      write_bits(row, y);
    } else {
      float* const to = out_.data + row * out_.stride + first_;
      if (first_ + own_features <= out_.ncols && reinterpret_cast<std::uintptr_t>(to) % sizeof(float4) == 0) {
        __stcs(reinterpret_cast<float4*>(to), float4{y[0], y[1], y[2], y[3]});
        return;
      }
#pragma unroll
      for (unsigned n = 0; n < own_features; ++n) {
        if (first_ + n < out_.ncols) __stcs(to + n, y[n]);
      }
    }
  }

 private:
  __device__ void write_bits(std::size_t row, const float (&y)[own_features]) const {
    std::uint32_t bits = 0;
#pragma unroll
    for (unsigned n = 0; n < own_features; ++n) bits |= (first_ + n < out_.ncols && y[n] >= 0 ? 1U : 0U) << n;
    bits <<= first_ % 32;
#pragma unroll
    for (unsigned step = 1; step < Group && step < 8; step *= 2)
      bits |= __shfl_xor_sync(group_lanes<Group>(), bits, step);
    if (first_ % 32 != 0) return;
    std::uint64_t* const words = out_.words + row * out_.words_per_row;
    if constexpr (Group == 16) {
      reinterpret_cast<std::uint32_t*>(words)[first_ / 32] = bits;
      if (first_ != 0) return;
    } else {
      words[0] = bits;
    }
    for (std::size_t w = 1; w < out_.words_per_row; ++w) words[w] = 0;
  }

  const Out& out_;
  const float* row_scale_;
  unsigned first_;
  float4 scale_, offset_, bias_;
};

template <unsigned Group, class Out>
__global__ void __launch_bounds__(block_threads, NarrowSpan<Group>::blocks)
    spmm_sum_narrow(const __grid_constant__ SpmmArgs<CsrPatternView, AlignedFloats, Out> args, unsigned items,
                    unsigned rows_at_a_time, Tails tails, bool next_early) {
  __shared__ NarrowSpan<Group> shared;
  constexpr unsigned groups = NarrowSpan<Group>::groups;
  const unsigned group = threadIdx.x / Group;
  const unsigned own = threadIdx.x % Group;
  const Span span = find_span(args.a, items, blockIdx.x);
  const bool began_before = span.first_begin < span.entry && span.row < span.end_row;
  Span part = span;
  if (next_early) trigger_dependent_launch();
  for (bool more = true; more;) {
    // The last part also has the entries of the row that goes on in the next span.
    more = span.end_row - part.row > rows_at_a_time;
    part.end_row = more ? part.row + rows_at_a_time : span.end_row;
    const EdgeOffset end = more ? __ldg(args.a.row_ptr + part.end_row) : span.entry + span.count;
    part.count = static_cast<unsigned>(end - part.entry);
    shared.bring(args.a, part);
    wait_for_previous_kernel();
    std::uint32_t first_end = 0;
    const OpenRow open = shared.add_run(AlignedReader(args.x, own * own_features), part.count, first_end);
    const OpenRow through = shared.join(open, first_end);
    const unsigned last = part.count - 1;
    if (group == groups - 1 && part.count != 0 && (shared.ends[last / 32] >> last % 32 & 1U) == 0) {
      LaneSums<1> left;
      left.of[0] = through.sum;
      tails.template leave<Group>(left);
    }
    __syncthreads();
    const NarrowWriter<Group, Out> writer(args);
    const unsigned count = part.end_row - part.row;
    unsigned done = 0;
    if (began_before && part.row == span.row) {  // it waits for another block: written last
      if (group == 0) shared.begun[own] = shared.sums_of(0)[own];
      done = 1;
    }
    if (writer.writes_rows()) {
      for (unsigned r = done + group; r < count; r += groups) writer.write(part.row + r, shared.sums_of(r)[own]);
    } else {
      const auto ncols = static_cast<unsigned>(args.out.ncols);
      for (unsigned at = done * ncols + threadIdx.x; at < count * ncols; at += block_threads) {
        const unsigned r = at / ncols;
        const unsigned f = at - r * ncols;
        writer.write_one(args.epilogue, part.row + r, f, reinterpret_cast<const float*>(shared.sums_of(r))[f]);
      }
    }
    part.row = part.end_row;
    part.entry = end;
    if (more) __syncthreads();
  }
  if (group != 0 || !began_before) return;
  float4 sum = tails.template take<Group, 1>((span.row + span.first_begin) / span.items).of[0];
  add(sum, shared.begun[own]);
  NarrowWriter<Group, Out>(args).write(span.row, sum);
}

/// Launches the kernel; Group lanes hold a whole row of X.
template <unsigned Group, class Out>
void start_narrow_sum(const Device& device, const SpmmArgs<CsrPatternView, AlignedFloats, Out>& args,
                      const StreamShape& shape) {
  static ProgrammaticKernel kernel(spmm_sum_narrow<Group, Out>, "spmm_sum_narrow");
  // Some times as many rows as a span has on average: shared memory that is not taken serves as first-level cache.
  const CudaSumTuning& t = cuda_spmm_tuning().sum;
  const std::size_t items = std::size_t{args.a.nrows} + args.a.num_entries;
  const std::size_t usual = shape.items * std::size_t{args.a.nrows} * t.narrow_mean_rows / items + t.narrow_more_rows;
  const auto rows = static_cast<unsigned>(std::min<std::size_t>(usual, NarrowSpan<Group>::most_rows));
  kernel.launch(device, dim3(shape.blocks), block_threads, std::size_t{rows} * Group * sizeof(float4), args,
                shape.items, rows, shape.tails(device), shape.lets_next_begin(NarrowSpan<Group>::blocks));
}

/// Makes the padded and weighted copy of X, `from` bytes behind the beginning of the device's workspace.
inline AlignedFloats copy_in_fours(const Device& device, const FloatIn& x, const float* weights, std::size_t from) {
  const AlignedFloats none = in_fours(nullptr, 0, x.ncols);
  const std::size_t bytes = x.nrows * none.ncols * sizeof(float);
  auto* const to = reinterpret_cast<float*>(static_cast<std::byte*>(device.workspace(from + bytes)) + from);
  const auto log2_lanes = std::min(static_cast<unsigned>(std::bit_width(none.ncols / own_features - 1)), 5U);
  static ProgrammaticKernel kernel(spmm_fill_fours<FloatIn>, "spmm_fill_fours");
  kernel.launch(device, dim3(blocks_for(x.nrows << log2_lanes, block_threads)), block_threads, 0, x, weights,
                reinterpret_cast<float4*>(to), log2_lanes);
  return in_fours(to, none.ncols, x.ncols);
}

}  // namespace bitgraph::spmm_cuda
