// SPDX-License-Identifier: Apache-2.0
// Sums over pattern CSR on a CUDA device as a stream of entries. (sum/by_rows.cuh, sum/mesh.cuh and sum/ordered.cuh
// take row by row.) A block takes a merge-path span: rows and entries, counted together, for all degrees. Each of its
// groups of lanes adds up an equal run of the span's entries, with some loads in flight across the ends of rows. The
// partial sum of a row that began before a run, or continues after it, is joined in the order of the runs, and of the
// blocks: sums do not depend on timing.
#pragma once

#include "core/cuda/launch.cuh"
#include "ops/spmm/cuda/block.hpp"
#include "ops/spmm/cuda/epilogue/emit.cuh"
#include "ops/spmm/cuda/schedule/columns.cuh"
#include "ops/spmm/cuda/schedule/tails.cuh"
#include "ops/spmm/cuda/sum/readers.cuh"

#include <algorithm>

namespace bitgraph::spmm_cuda {

/// What a block knows of the entries of its span: arrays in shared memory, as long as a span and as many as are asked
/// for.
template <class Out>
struct SpanEntries {
  NodeId* columns;
  float* scales;        ///< null for ones
  float* row_scales;    ///< of framed outputs: of a row, where its last entry is
  std::uint16_t* rows;  ///< the row that ends with an entry, from the span's first on

  __device__ SpanEntries(std::uint32_t* scratch, unsigned items, bool weighted)
      : columns(scratch),
        scales(weighted ? reinterpret_cast<float*>(scratch + items) : nullptr),
        row_scales(reinterpret_cast<float*>(scratch + (weighted ? 2 : 1) * items)),
        rows(reinterpret_cast<std::uint16_t*>(row_scales + (is_framed<Out> ? items : 0))) {}

  static std::size_t bytes(unsigned items, bool weighted) {
    return items * ((1 + (weighted ? 1 : 0) + (is_framed<Out> ? 1 : 0)) * sizeof(float) + sizeof(std::uint16_t));
  }
};
template <class Args>
using EntriesOf = SpanEntries<std::remove_cvref_t<decltype(Args::out)>>;

template <unsigned Group, class Reader, class Out>
struct StreamStorage {
  static constexpr unsigned groups = block_threads / Group;
  static constexpr unsigned chunks = Reader::chunks;

  std::uint32_t ends[Reader::most_span_items / 32];  ///< a bit for each entry: a row ends with it
  float4 heads[chunks][block_threads];               ///< of a run, up to the first end of a row
  float4 tails[chunks][block_threads];               ///< of a run, behind the last end of a row
  std::uint32_t first_ends[groups];                  ///< of a run: 1 + the row, 0 for none
  FrameOf<Group, chunks, Out> frame;
};

template <unsigned Group, class Args>
using StorageOf = StreamStorage<Group, ReaderOfArgs<Args>, std::remove_cvref_t<decltype(Args::out)>>;

/// Brings the span's columns, with their weights, and marks where rows end. True where some row is empty. For a whole
/// block. What does not depend on one another is asked for at once. Behind it all kernels before this one have ended;
/// what is not of the graph is read only then.
template <unsigned Group, class Args>
__device__ bool bring_entries(StorageOf<Group, Args>& storage, const EntriesOf<Args>& entries, const Args& args,
                              const Span& span) {
  using Reader = ReaderOfArgs<Args>;
  constexpr unsigned rounds = Reader::most_span_items / block_threads;
  constexpr bool framed = is_framed<std::remove_cvref_t<decltype(args.out)>>;
  // Filled up to whole batches with columns that are there.
  const unsigned padded = (span.count + Reader::batch - 1) / Reader::batch * Reader::batch;
  NodeId column[rounds];
#pragma unroll
  for (unsigned k = 0; k < rounds; ++k) {
    const unsigned i = k * block_threads + threadIdx.x;
    if (i < padded) column[k] = stream_in(args.a.col_ind + span.entry + min(i, span.count - 1));
  }
  std::size_t row = std::size_t{span.row} + threadIdx.x;
  EdgeOffset begin = 0;
  EdgeOffset end = 0;
  float row_scale = 1;
  const auto look_up = [&] {
    if (row >= span.end_row) return;
    begin = __ldg(args.a.row_ptr + row);
    end = __ldg(args.a.row_ptr + row + 1);
    if constexpr (framed) row_scale = row_scale_of(args, row);
  };
  const bool waits_early = framed || args.col_scale != nullptr;
  if (waits_early) wait_for_previous_kernel();
  look_up();
  if (threadIdx.x < Reader::most_span_items / 32) storage.ends[threadIdx.x] = 0;
  storage.frame.fill(args.epilogue, args.out.ncols);
  float scale[rounds];
  if (args.col_scale != nullptr) {
#pragma unroll
    for (unsigned k = 0; k < rounds; ++k) {
      if (k * block_threads + threadIdx.x < padded) scale[k] = __ldg(args.col_scale + column[k]);
    }
  }
#pragma unroll
  for (unsigned k = 0; k < rounds; ++k) {
    const unsigned i = k * block_threads + threadIdx.x;
    if (i < padded) entries.columns[i] = column[k];
  }
  __syncthreads();
  bool empty = false;
#pragma unroll 1
  while (row < span.end_row) {
    if (begin == end) {
      empty = true;
    } else if (end > span.entry) {
      const auto last = static_cast<unsigned>(end - 1 - span.entry);
      entries.rows[last] = static_cast<std::uint16_t>(row - span.row);
      if constexpr (framed) entries.row_scales[last] = row_scale;
      atomicOr(&storage.ends[last / 32], 1U << last % 32);
    }
    row += block_threads;
    look_up();
  }
  if (args.col_scale != nullptr) {
#pragma unroll
    for (unsigned k = 0; k < rounds; ++k) {
      const unsigned i = k * block_threads + threadIdx.x;
      if (i < padded) entries.scales[i] = scale[k];
    }
  }
  if (!waits_early) wait_for_previous_kernel();
  return __syncthreads_or(empty ? 1 : 0) != 0;
}

/// Some entries on their way: floats are weighted when they are there, bits when they are asked for. Those from `count`
/// on are 0.
template <class Reader>
class Batch {
  static constexpr unsigned batch = Reader::batch;

 public:
  __device__ Batch(const Reader& reader, const NodeId* columns, const float* scales, unsigned count) {
    fetch(reader, columns);
    if constexpr (Reader::always_weighted) {
      bring(scales);
    } else if (scales != nullptr) {
      bring(scales);
#pragma unroll
      for (unsigned u = 0; u < batch; ++u) values_[u] = Reader::terms(values_[u], scale_[u]);
    }
    if (count < batch) clear_from(count);
  }

  __device__ float4 terms(const Reader& reader, unsigned u, unsigned chunk) const {
    if constexpr (Reader::always_weighted) {
      return reader.terms(values_[u], scale_[u], chunk);
    } else {
      return values_[u];
    }
  }

 private:
  __device__ void fetch(const Reader& reader, const NodeId* columns) {
#pragma unroll
    for (unsigned u = 0; u < batch; u += 4) {
      const uint4 four = *reinterpret_cast<const uint4*>(columns + u);
      values_[u] = reader.fetch(four.x);
      values_[u + 1] = reader.fetch(four.y);
      values_[u + 2] = reader.fetch(four.z);
      values_[u + 3] = reader.fetch(four.w);
    }
  }

  __device__ void clear_from(unsigned count) {
#pragma unroll
    for (unsigned u = 0; u < batch; ++u) {
      if (u < count) continue;
      if constexpr (Reader::always_weighted) {
        scale_[u] = 0;
      } else {
        values_[u] = {0, 0, 0, 0};
      }
    }
  }
  __device__ void bring(const float* scales) {
#pragma unroll
    for (unsigned u = 0; u < batch; u += 4) {
      const float4 four = scales == nullptr ? float4{1, 1, 1, 1} : *reinterpret_cast<const float4*>(scales + u);
      scale_[u] = four.x;
      scale_[u + 1] = four.y;
      scale_[u + 2] = four.z;
      scale_[u + 3] = four.w;
    }
  }

  typename Reader::Values values_[batch];  ///< of floats the terms
  float scale_[batch];
};

/// A row's sums to the output, through the frame where there is one; a framed row's scale is given.
template <unsigned Group, class Args, class Storage, unsigned Chunks>
__device__ void write_row(const Storage& storage, const Args& args, NodeId row, float row_scale, std::size_t first,
                          const LaneSums<Chunks>& sum) {
#pragma unroll
  for (unsigned c = 0; c < Chunks; ++c) {
    float4 y = sum.of[c];
    if constexpr (is_framed<std::remove_cvref_t<decltype(args.out)>>)
      y = storage.frame.apply(args.epilogue, y, row_scale, c);
    emit_sums<Group>(args, row, first + c * chunk_features, y);
  }
}

/// Adds up the run of a group, and writes the rows that lie within it.
template <unsigned Group, class Args>
__device__ void sum_run(StorageOf<Group, Args>& storage, const EntriesOf<Args>& entries, const Args& args,
                        const Span& span, std::size_t first) {
  using Reader = ReaderOfArgs<Args>;
  constexpr bool framed = is_framed<std::remove_cvref_t<decltype(args.out)>>;
  constexpr unsigned portion = StorageOf<Group, Args>::groups * Reader::batch;
  const Reader reader(args.x, first);
  const unsigned group = threadIdx.x / Group;
  const unsigned length = (span.count + portion - 1) / portion * Reader::batch;
  const unsigned end = min((group + 1) * length, span.count);
  std::uint32_t first_end = 0;
  LaneSums<Reader::chunks> sum;
#pragma unroll 1
  for (unsigned at = group * length; at < end; at += Reader::batch) {
    const Batch<Reader> batch(reader, entries.columns + at, entries.scales == nullptr ? nullptr : entries.scales + at,
                              span.count - at);
    const std::uint32_t ends = storage.ends[at / 32] >> at % 32 & ((1U << Reader::batch) - 1);
    if (ends == 0) {
#pragma unroll
      for (unsigned u = 0; u < Reader::batch; u += 2) {
#pragma unroll
        for (unsigned c = 0; c < Reader::chunks; ++c) {
          float4 pair = batch.terms(reader, u, c);
          add(pair, batch.terms(reader, u + 1, c));
          add(sum.of[c], pair);
        }
      }
      continue;
    }
#pragma unroll
    for (unsigned u = 0; u < Reader::batch; ++u) {
#pragma unroll
      for (unsigned c = 0; c < Reader::chunks; ++c) add(sum.of[c], batch.terms(reader, u, c));
      if ((ends >> u & 1U) == 0) continue;
      if (first_end == 0) {
        first_end = entries.rows[at + u] + 1;
#pragma unroll
        for (unsigned c = 0; c < Reader::chunks; ++c) storage.heads[c][threadIdx.x] = sum.of[c];
      } else {
        float row_scale = 1;
        if constexpr (framed) row_scale = entries.row_scales[at + u];
        write_row<Group>(storage, args, span.row + entries.rows[at + u], row_scale, first, sum);
      }
      sum.clear();
    }
  }
#pragma unroll
  for (unsigned c = 0; c < Reader::chunks; ++c) storage.tails[c][threadIdx.x] = sum.of[c];
  if (threadIdx.x % Group == 0) storage.first_ends[group] = first_end;
}

/// What the runs before run `end` have of the row at its beginning; where that is the span's first row, `from_earlier`
/// says whether it has more in earlier blocks.
template <unsigned Group, class Reader, class Out>
__device__ LaneSums<Reader::chunks> sum_before(const StreamStorage<Group, Reader, Out>& storage, unsigned end,
                                               bool& from_earlier) {
  const unsigned own = threadIdx.x % Group;
  unsigned begin = end;
  while (begin > 0 && storage.first_ends[begin - 1] == 0) --begin;
  from_earlier = begin == 0;
  LaneSums<Reader::chunks> sum;
#pragma unroll 1
  for (unsigned run = begin == 0 ? 0 : begin - 1; run < end; ++run) {
#pragma unroll
    for (unsigned c = 0; c < Reader::chunks; ++c) add(sum.of[c], storage.tails[c][run * Group + own]);
  }
  return sum;
}

/// Joins the parts of rows that go from one run to the next, and writes those rows and empty ones.
template <unsigned Group, class Args>
__device__ void join_runs(const StorageOf<Group, Args>& storage, const Args& args, const Span& span, bool some_empty,
                          const Tails& tails, std::size_t first) {
  using Sums = LaneSums<ReaderOfArgs<Args>::chunks>;
  constexpr unsigned groups = StorageOf<Group, Args>::groups;
  const auto write = [&](NodeId row, const Sums& sum) {
    float row_scale = 1;
    if constexpr (is_framed<std::remove_cvref_t<decltype(args.out)>>) row_scale = row_scale_of(args, row);
    write_row<Group>(storage, args, row, row_scale, first, sum);
  };
  const unsigned group = threadIdx.x / Group;
  const unsigned last = span.count - 1;
  bool from_earlier = false;
  if (group == groups - 1 && span.count != 0 && (storage.ends[last / 32] >> last % 32 & 1U) == 0) {
    tails.template leave<Group>(sum_before(storage, groups, from_earlier));  // before anything is waited for
  }
  const std::uint32_t ended = storage.first_ends[group];
  NodeId row = ended == 0 ? no_row : span.row + ended - 1;
  Sums sum;
  if (ended != 0) {
    sum = sum_before(storage, group, from_earlier);
#pragma unroll
    for (unsigned c = 0; c < ReaderOfArgs<Args>::chunks; ++c) add(sum.of[c], storage.heads[c][threadIdx.x]);
    from_earlier = from_earlier && span.continues;
  }
  if (span.only_ends && group == groups - 1) {
    // This group's run has no head: what is in the span begins here.
    if (ended != 0) write(row, sum);
    row = span.row;
    sum.clear();
    from_earlier = true;
  }
  if (row != no_row) {
    if (from_earlier) {
      Sums all = tails.template take<Group, ReaderOfArgs<Args>::chunks>((span.row + span.first_begin) / span.items);
      add(all, sum);
      sum = all;
    }
    write(row, sum);
  }
  if (!some_empty) return;
#pragma unroll 1
  for (std::size_t empty = std::size_t{span.row} + group; empty < span.end_row; empty += groups) {
    if (__ldg(args.a.row_ptr + empty) != __ldg(args.a.row_ptr + empty + 1)) continue;
    write(static_cast<NodeId>(empty), Sums());
  }
}

template <unsigned Group, class Args>
__global__ void __launch_bounds__(block_threads, ReaderOfArgs<Args>::blocks)
    spmm_stream(const __grid_constant__ Args args, unsigned items, Tails tails, bool next_early) {
  extern __shared__ __align__(16) std::uint32_t scratch[];
  __shared__ StorageOf<Group, Args> storage;
  const std::size_t first = first_feature<Group, ReaderOfArgs<Args>::chunks>();
  const Span span = find_span(args.a, items, blockIdx.x);
  const EntriesOf<Args> entries(scratch, items, args.col_scale != nullptr);
  const bool some_empty = bring_entries<Group>(storage, entries, args, span);
  if (next_early) trigger_dependent_launch();
  sum_run<Group>(storage, entries, args, span, first);
  __syncthreads();
  join_runs<Group>(storage, args, span, some_empty, tails, first);
}

}  // namespace bitgraph::spmm_cuda
