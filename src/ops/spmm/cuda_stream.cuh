// SPDX-License-Identifier: Apache-2.0
// Sums over pattern CSR on a CUDA device, as a stream of entries. A block takes a span of rows and entries, counted
// together, whatever the degrees; each of its groups of lanes adds up an equal run of the span's entries, eight of them
// on their way at a time across the ends of rows. What a run has of a row that began before it, or goes on behind it,
// is joined in the order of the runs, and of the blocks: sums do not depend on timing.
#pragma once

#include "ops/spmm/cuda_sum.cuh"

namespace bitgraph::spmm_cuda {

constexpr unsigned most_span_items = 1024;
constexpr unsigned stream_batch = 8;  ///< entries of a group on their way at a time

/// What blocks have of rows that end in later blocks, and whether it is there yet: for each slice of features.
struct Tails {
  float4* value = nullptr;
  Flags flags;

  template <unsigned Group>
  __device__ void leave(const float4& sum) const {
    const std::size_t place = std::size_t{blockIdx.y} * gridDim.x + blockIdx.x;
    __stcg(value + place * Group + threadIdx.x % Group, sum);
    __threadfence();
    __syncwarp(group_lanes<Group>());
    if (threadIdx.x % Group == 0) flags.set(place);
  }

  /// Those of the blocks from `first` up to this one, in their order; for a group of lanes.
  template <unsigned Group>
  __device__ __noinline__ float4 take(std::size_t first) const {
    const std::size_t slice = std::size_t{blockIdx.y} * gridDim.x;
    const unsigned own = threadIdx.x % Group;
    flags.await(slice + first, slice + blockIdx.x, own, Group);
    __syncwarp(group_lanes<Group>());
    float4 sum = {0, 0, 0, 0};
#pragma unroll 4
    for (std::size_t place = slice + first; place < slice + blockIdx.x; ++place) {
      add(sum, __ldcg(value + place * Group + own));
    }
    return sum;
  }
};

template <unsigned Group>
struct StreamStorage {
  static constexpr unsigned groups = block_threads / Group;

  alignas(16) NodeId columns[most_span_items];
  alignas(16) float scales[most_span_items];
  std::uint16_t rows[most_span_items];       ///< the row that ends with an entry, from the span's first on
  std::uint32_t ends[most_span_items / 32];  ///< a bit for each entry: a row ends with it
  float4 heads[block_threads];               ///< of a run, up to the first end of a row
  float4 tails[block_threads];               ///< of a run, behind the last end of a row
  std::uint32_t first_ends[groups];          ///< of a run: 1 + the row, 0 for none
};

/// Brings the span's columns and marks where rows end. True where some row is empty. For a whole block.
template <unsigned Group, class Args>
__device__ bool bring_entries(StreamStorage<Group>& storage, const Args& args, const Span& span) {
  if (threadIdx.x < most_span_items / 32) storage.ends[threadIdx.x] = 0;
  // Filled up to whole batches with columns that are there.
  const unsigned padded = (span.count + stream_batch - 1) / stream_batch * stream_batch;
  for (unsigned i = threadIdx.x; i < padded; i += block_threads) {
    const NodeId column = stream_in(args.a.col_ind + span.entry + min(i, span.count - 1));
    storage.columns[i] = column;
    if (args.col_scale != nullptr) storage.scales[i] = __ldg(args.col_scale + column);
  }
  __syncthreads();
  bool empty = false;
#pragma unroll 1
  for (std::size_t row = std::size_t{span.row} + threadIdx.x; row < span.end_row; row += block_threads) {
    const EdgeOffset begin = __ldg(args.a.row_ptr + row);
    const EdgeOffset end = __ldg(args.a.row_ptr + row + 1);
    if (begin == end) {
      empty = true;
    } else if (end > span.entry) {
      const auto last = static_cast<unsigned>(end - 1 - span.entry);
      storage.rows[last] = static_cast<std::uint16_t>(row - span.row);
      atomicOr(&storage.ends[last / 32], 1U << last % 32);
    }
  }
  return __syncthreads_or(empty ? 1 : 0) != 0;
}

/// Fetches a batch of entries, weighted. Those from `count` on are 0.
template <class Reader>
__device__ void fetch_batch(float4 (&terms)[stream_batch], const Reader& reader, const NodeId* columns,
                            const float* scales, unsigned count) {
  typename Reader::Values values[stream_batch];
#pragma unroll
  for (unsigned u = 0; u < stream_batch; u += 4) {
    const uint4 four = *reinterpret_cast<const uint4*>(columns + u);
    values[u] = reader.fetch(four.x);
    values[u + 1] = reader.fetch(four.y);
    values[u + 2] = reader.fetch(four.z);
    values[u + 3] = reader.fetch(four.w);
  }
  if (Reader::always_weighted || scales != nullptr) {
#pragma unroll
    for (unsigned u = 0; u < stream_batch; ++u) {
      terms[u] = Reader::terms(values[u], scales == nullptr ? 1.0F : scales[u]);
    }
  } else if constexpr (!Reader::always_weighted) {
#pragma unroll
    for (unsigned u = 0; u < stream_batch; ++u) terms[u] = values[u];
  }
  if (count < stream_batch) {
#pragma unroll
    for (unsigned u = 0; u < stream_batch; ++u) {
      if (u >= count) terms[u] = {0, 0, 0, 0};
    }
  }
}

/// Adds up the run of a group, and writes the rows that lie within it.
template <unsigned Group, class Args>
__device__ void sum_run(StreamStorage<Group>& storage, const Args& args, const Span& span, std::size_t first) {
  using Reader = typename ReaderOf<std::remove_cvref_t<decltype(args.x)>>::type;
  constexpr unsigned portion = StreamStorage<Group>::groups * stream_batch;
  const Reader reader(args.x, first);
  const unsigned group = threadIdx.x / Group;
  const unsigned length = (span.count + portion - 1) / portion * stream_batch;
  const unsigned end = min((group + 1) * length, span.count);
  std::uint32_t first_end = 0;
  float4 sum = {0, 0, 0, 0};
#pragma unroll 1
  for (unsigned at = group * length; at < end; at += stream_batch) {
    float4 terms[stream_batch];
    fetch_batch(terms, reader, storage.columns + at, args.col_scale == nullptr ? nullptr : storage.scales + at,
                span.count - at);
    const std::uint32_t ends = storage.ends[at / 32] >> at % 32 & ((1U << stream_batch) - 1);
    if (ends == 0) {
#pragma unroll
      for (unsigned u = 0; u < stream_batch; u += 2) {
        add(terms[u], terms[u + 1]);
        add(sum, terms[u]);
      }
      continue;
    }
#pragma unroll
    for (unsigned u = 0; u < stream_batch; ++u) {
      add(sum, terms[u]);
      if ((ends >> u & 1U) == 0) continue;
      if (first_end == 0) {
        first_end = storage.rows[at + u] + 1;
        storage.heads[threadIdx.x] = sum;
      } else {
        write_sums<Group>(args, span.row + storage.rows[at + u], first, sum);
      }
      sum = {0, 0, 0, 0};
    }
  }
  storage.tails[threadIdx.x] = sum;
  if (threadIdx.x % Group == 0) storage.first_ends[group] = first_end;
}

/// What the runs before run `end` have of the row at its beginning; where that is the span's first row, `from_earlier`
/// says whether it has more in earlier blocks.
template <unsigned Group>
__device__ float4 sum_before(const StreamStorage<Group>& storage, unsigned end, bool& from_earlier) {
  const unsigned own = threadIdx.x % Group;
  unsigned begin = end;
  while (begin > 0 && storage.first_ends[begin - 1] == 0) --begin;
  from_earlier = begin == 0;
  float4 sum = {0, 0, 0, 0};
#pragma unroll 1
  for (unsigned run = begin == 0 ? 0 : begin - 1; run < end; ++run) add(sum, storage.tails[run * Group + own]);
  return sum;
}

/// Joins the parts of rows that go from one run to the next, and writes those rows and empty ones.
template <unsigned Group, class Args>
__device__ void join_runs(StreamStorage<Group>& storage, const Args& args, const Span& span, bool some_empty,
                          const Tails& tails, std::size_t first) {
  constexpr unsigned groups = StreamStorage<Group>::groups;
  const unsigned group = threadIdx.x / Group;
  const unsigned last = span.count - 1;
  bool from_earlier = false;
  if (group == groups - 1 && span.count != 0 && (storage.ends[last / 32] >> last % 32 & 1U) == 0) {
    tails.template leave<Group>(sum_before(storage, groups, from_earlier));  // before anything is waited for
  }
  const std::uint32_t ended = storage.first_ends[group];
  NodeId row = ended == 0 ? no_row : span.row + ended - 1;
  float4 sum = {0, 0, 0, 0};
  if (ended != 0) {
    sum = sum_before(storage, group, from_earlier);
    add(sum, storage.heads[threadIdx.x]);
    from_earlier = from_earlier && span.continues;
  }
  if (span.only_ends && group == groups - 1) {
    // This group's run has no head: what is in the span begins here.
    if (ended != 0) write_sums<Group>(args, row, first, sum);
    row = span.row;
    sum = {0, 0, 0, 0};
    from_earlier = true;
  }
  if (row != no_row) {
    if (from_earlier) {
      float4 all = tails.template take<Group>((span.row + span.first_begin) / span.items);
      add(all, sum);
      sum = all;
    }
    write_sums<Group>(args, row, first, sum);
  }
  if (!some_empty) return;
#pragma unroll 1
  for (std::size_t empty = std::size_t{span.row} + group; empty < span.end_row; empty += groups) {
    if (__ldg(args.a.row_ptr + empty) != __ldg(args.a.row_ptr + empty + 1)) continue;
    write_sums<Group>(args, static_cast<NodeId>(empty), first, {0, 0, 0, 0});
  }
}

template <unsigned Group, class Args>
__global__ void __launch_bounds__(block_threads, 3)
    spmm_stream(const __grid_constant__ Args args, unsigned items, Tails tails) {
  __shared__ StreamStorage<Group> storage;
  const std::size_t first = first_feature<Group>();
  const Span span = find_span(args.a, items, blockIdx.x);
  const bool some_empty = bring_entries<Group>(storage, args, span);
  sum_run<Group>(storage, args, span, first);
  __syncthreads();
  join_runs<Group>(storage, args, span, some_empty, tails, first);
}

/// Slices of as many features as a group has; a binary output has all the words of its rows written.
template <unsigned Group, class Out>
unsigned num_slices(const Out& out) {
  constexpr std::size_t features = Group * own_features;
  return static_cast<unsigned>(((out.ncols + 63) / 64 * 64 + features - 1) / features);
}

/// Whether each row has a group of lanes: rows of about one length, but not a great many of few entries each, which
/// would not keep enough of X on its way.
inline bool sum_by_rows(const CsrPatternView& a) {
  return is_even(a) && (a.num_entries >= EdgeOffset{8} * a.nrows || a.nrows <= NodeId{1} << 18);
}

template <unsigned Group, class In, class Out>
void start_sum(const Device& device, const SpmmArgs<CsrPatternView, In, Out>& args) {
  const cudaStream_t stream = stream_of(device);
  const unsigned slices = num_slices<Group>(args.out);
  if (sum_by_rows(args.a)) {
    const dim3 grid(blocks_for(std::size_t{args.a.nrows} * Group, block_threads), slices);
    with_plain(
        args, [&](const auto& kernel_args) { spmm_sum_short<Group><<<grid, block_threads, 0, stream>>>(kernel_args); });
    return cuda_check_launch("spmm_sum_short");
  }
  const unsigned items = span_items(args.a, most_span_items, slices);
  const unsigned blocks = blocks_for(std::size_t{args.a.nrows} + args.a.num_entries, items);
  const std::size_t places = std::size_t{blocks} * slices;
  const Tails tails{static_cast<float4*>(device.workspace(places * Group * sizeof(float4))),
                    {static_cast<std::uint32_t*>(device.zeroed_workspace(places * sizeof(std::uint32_t)))}};
  with_plain(args, [&](const auto& kernel_args) {
    spmm_stream<Group><<<dim3(blocks, slices), block_threads, 0, stream>>>(kernel_args, items, tails);
  });
  cuda_check_launch("spmm_stream");
}

template <unsigned Group, class In, class Out>
void start_sum(const Device& device, const SpmmArgs<AnyTiles, In, Out>& args) {
  const dim3 grid(blocks_for(args.a.nrows, block_warps), num_slices<32>(args.out));
  spmm_sum_tiles<<<grid, block_threads, 0, stream_of(device)>>>(args);
  cuda_check_launch("spmm_sum_tiles");
}

/// Rows of up to 64 features have half a warp each, and so have those that are summed up row by row.
template <class In, class Out>
void choose_group(const Device& device, const SpmmArgs<CsrPatternView, In, Out>& args) {
  const bool half = args.x.ncols <= 16 * own_features || sum_by_rows(args.a);
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

template <class Graph, class Out>
void launch_sum(const Device& device, const SpmmArgs<Graph, BitsIn, Out>& args) {
  choose_group(device, args);
}

template <class Graph, class Out>
void launch_sum(const Device& device, const SpmmArgs<Graph, FloatIn, Out>& args) {
  const auto address = reinterpret_cast<std::uintptr_t>(args.x.data);
  if (args.x.stride % own_features != 0 || args.x.ncols % own_features != 0 || address % sizeof(float4) != 0) {
    return start_sum<32>(device, args);
  }
  const AlignedFloats x{args.x.data, args.x.stride, args.x.ncols};
  choose_group(device, SpmmArgs<Graph, AlignedFloats, Out>{args.a, x, args.out, args.col_scale, args.epilogue});
}

}  // namespace bitgraph::spmm_cuda
