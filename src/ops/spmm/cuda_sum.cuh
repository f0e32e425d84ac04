// SPDX-License-Identifier: Apache-2.0
// Sums of floats, or of weights with signs, on a CUDA device. A lane has four features of a row and adds them up over
// the row's columns in their order, as every backend does: results are those of the host to the last bit. So a row
// cannot be split, and speed comes from many neighbours on their way at a time. Of a hub's neighbours a block's warps
// fetch a portion each, and the sums go from warp to warp.
#pragma once

#include "ops/spmm/cuda_emit.cuh"

namespace bitgraph::spmm_cuda {

constexpr unsigned own_features = 4;  ///< of a lane
constexpr unsigned slice_features = 32 * own_features;
constexpr unsigned hub_portion = 12;  ///< neighbours of a hub that a warp fetches at a time

/// Rows of X that can be read four floats at a time.
struct AlignedFloats {
  const float* data;
  std::size_t stride;
  std::size_t ncols;
};

/// What a lane reads of each neighbour: its four features. Those behind the last are read from where there are some.
class AlignedReader {
 public:
  using Values = float4;

  __device__ AlignedReader(const AlignedFloats& x, std::size_t first)
      : at_(x.data + min(first, x.ncols - own_features)), stride_(x.stride) {}
  __device__ Values fetch(NodeId j) const {
    Values values;
    asm volatile("ld.global.nc.v4.f32 {%0,%1,%2,%3}, [%4];"
                 : "=f"(values.x), "=f"(values.y), "=f"(values.z), "=f"(values.w)
                 : "l"(at_ + j * stride_));
    return values;
  }
  __device__ static float4 terms(const Values& values, float scale) {
    return {scale * values.x, scale * values.y, scale * values.z, scale * values.w};
  }

 private:
  const float* at_;
  std::size_t stride_;
};

class FloatReader {
 public:
  using Values = float4;

  __device__ FloatReader(const FloatIn& x, std::size_t first) : data_(x.data), stride_(x.stride) {
    for (unsigned n = 0; n < own_features; ++n) at_[n] = static_cast<unsigned>(min(first + n, x.ncols - 1));
  }
  __device__ Values fetch(NodeId j) const {
    const float* const row = data_ + j * stride_;
    Values values;
    load(values.x, row + at_[0]);
    load(values.y, row + at_[1]);
    load(values.z, row + at_[2]);
    load(values.w, row + at_[3]);
    return values;
  }
  __device__ static float4 terms(const Values& values, float scale) { return AlignedReader::terms(values, scale); }

 private:
  __device__ static void load(float& value, const float* place) {
    asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(value) : "l"(place));
  }

  const float* data_;
  std::size_t stride_;
  unsigned at_[own_features];
};

/// Four bits of one word.
class SignReader {
 public:
  using Values = std::uint32_t;

  __device__ SignReader(const BitsIn& x, std::size_t first)
      : at_(reinterpret_cast<const std::uint32_t*>(x.words) + min(first / 32, 2 * x.words_per_row - 1)),
        stride_(2 * x.words_per_row),
        shift_(31 - static_cast<unsigned>(first % 32)) {}
  __device__ Values fetch(NodeId j) const {
    std::uint32_t word;
    asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(word) : "l"(at_ + j * stride_));
    return ~word << (shift_ - 3);  // the lane's first bit three below the sign
  }
  /// A set bit is +scale.
  __device__ static float4 terms(const Values& values, float scale) {
    return {signed_by(scale, values << 3), signed_by(scale, values << 2), signed_by(scale, values << 1),
            signed_by(scale, values)};
  }

 private:
  __device__ static float signed_by(float scale, std::uint32_t sign) {
    return __uint_as_float(__float_as_uint(scale) ^ (sign & 0x80000000U));
  }

  const std::uint32_t* at_;
  std::size_t stride_;
  unsigned shift_;
};

template <class In>
struct ReaderOf;
template <>
struct ReaderOf<AlignedFloats> {
  using type = AlignedReader;
};
template <>
struct ReaderOf<FloatIn> {
  using type = FloatReader;
};
template <>
struct ReaderOf<BitsIn> {
  using type = SignReader;
};

__device__ inline void add(float (&sum)[own_features], const float4& terms) {
  sum[0] += terms.x;
  sum[1] += terms.y;
  sum[2] += terms.z;
  sum[3] += terms.w;
}

/// The sums of a row, four features a lane from `first` on, to the output; of every lane of the warp.
template <class Args>
__device__ void emit_sums(const Args& args, NodeId row, std::size_t first, const float (&sum)[own_features]) {
  float y[own_features];
#pragma unroll
  for (unsigned n = 0; n < own_features; ++n) {
    y[n] = row != no_row && first + n < args.out.ncols ? through(args.epilogue, row, first + n, sum[n]) : -1.0F;
  }
  if constexpr (is_bits<decltype(args.out)>) {
    std::uint32_t bits = 0;
#pragma unroll
    for (unsigned n = 0; n < own_features; ++n) bits |= (y[n] >= 0 ? 1U : 0U) << (first % 32 + n);
#pragma unroll
    for (unsigned step = 1; step < 32 / own_features; step *= 2) bits |= __shfl_xor_sync(full_warp, bits, step);
    const auto word = static_cast<unsigned>(first / 32);
    if (first % 32 == 0 && row != no_row && word < half_words(args.out)) *half_word(args.out, row, word) = bits;
  } else {
    if (row == no_row || first >= args.out.ncols) return;
    float* const out = args.out.data + std::size_t{row} * args.out.stride + first;
    if (first + own_features <= args.out.ncols && reinterpret_cast<std::uintptr_t>(out) % sizeof(float4) == 0) {
      *reinterpret_cast<float4*>(out) = {y[0], y[1], y[2], y[3]};
      return;
    }
#pragma unroll
    for (unsigned n = 0; n < own_features; ++n) {
      if (first + n < args.out.ncols) out[n] = y[n];
    }
  }
}

/// Columns and their weights, for a warp.
struct Queue {
  NodeId column[queue_size];
  float scale[queue_size];
};

/// Adds Count neighbours, all of them on their way at once.
template <unsigned Count, class Reader>
__device__ void add_neighbors(float (&sum)[own_features], const Reader& reader, const NodeId* columns,
                              const float* scales) {
  typename Reader::Values values[Count];
#pragma unroll
  for (unsigned u = 0; u < Count; ++u) values[u] = reader.fetch(columns[u]);
#pragma unroll
  for (unsigned u = 0; u < Count; ++u) add(sum, Reader::terms(values[u], scales[u]));
}

/// A warp's row.
template <class Args>
__device__ void sum_row(const Args& args, NodeId row, std::size_t first, Queue& queue) {
  const unsigned lane = threadIdx.x % 32;
  using Reader = typename ReaderOf<std::remove_cvref_t<decltype(args.x)>>::type;
  const Reader reader(args.x, first);
  RowColumns<decltype(args.a)> columns(args.a, row);
  float sum[own_features] = {};
  for (unsigned count = columns.refill(queue.column, lane); count != 0; count = columns.refill(queue.column, lane)) {
    for (unsigned i = lane; i < count; i += 32) {
      queue.scale[i] = args.col_scale == nullptr ? 1.0F : __ldg(args.col_scale + queue.column[i]);
    }
    __syncwarp();
    unsigned at = 0;
    for (; at + 8 <= count; at += 8) add_neighbors<8>(sum, reader, queue.column + at, queue.scale + at);
    if (at + 4 <= count) {
      add_neighbors<4>(sum, reader, queue.column + at, queue.scale + at);
      at += 4;
    }
    if (at + 2 <= count) {
      add_neighbors<2>(sum, reader, queue.column + at, queue.scale + at);
      at += 2;
    }
    if (at < count) add_neighbors<1>(sum, reader, queue.column + at, queue.scale + at);
  }
  emit_sums(args, row, first, sum);
}

/// Two warps meet at the barrier of the later one.
__device__ inline void meet(unsigned warp) {
  asm volatile("bar.sync %0, 64;" ::"r"(warp % block_warps + 1) : "memory");
}

/// A hub's row for a block. Portion p is fetched by warp p % block_warps, ahead of its turn.
template <class Args>
__device__ void sum_hub(const Args& args, NodeId row, std::size_t first, Queue& queue, float4 (&sums)[32]) {
  const unsigned warp = threadIdx.x / 32;
  const unsigned lane = threadIdx.x % 32;
  using Reader = typename ReaderOf<std::remove_cvref_t<decltype(args.x)>>::type;
  const Reader reader(args.x, first);
  const NodeId* const cols = args.a.col_ind + __ldg(args.a.row_ptr + row);
  const auto n = static_cast<std::uint32_t>(row_length(args.a, row));
  const std::uint32_t portions = (n + hub_portion - 1) / hub_portion;
  const auto column_of = [&](std::uint32_t p) {
    const std::uint32_t i = p * hub_portion + lane;
    return lane < hub_portion && i < n ? __ldg(cols + i) : __ldg(cols);
  };
  __syncthreads();  // of the hub before
  NodeId column = warp < portions ? column_of(warp) : 0;
  for (std::uint32_t p = warp; p < portions; p += block_warps) {
    __syncwarp();
    if (lane < hub_portion) {
      queue.column[lane] = column;
      queue.scale[lane] = args.col_scale == nullptr ? 1.0F : __ldg(args.col_scale + column);
    }
    __syncwarp();
    const unsigned count = min(hub_portion, n - p * hub_portion);
    typename Reader::Values values[hub_portion];
#pragma unroll
    for (unsigned u = 0; u < hub_portion; ++u) values[u] = reader.fetch(queue.column[u]);
    if (p + block_warps < portions) column = column_of(p + block_warps);
    float sum[own_features] = {};
    if (p != 0) {
      meet(warp);
      sum[0] = sums[lane].x;
      sum[1] = sums[lane].y;
      sum[2] = sums[lane].z;
      sum[3] = sums[lane].w;
    }
#pragma unroll
    for (unsigned u = 0; u < hub_portion; ++u) {
      if (u < count) add(sum, Reader::terms(values[u], queue.scale[u]));
    }
    if (p + 1 == portions) {
      emit_sums(args, row, first, sum);
    } else {
      sums[lane] = {sum[0], sum[1], sum[2], sum[3]};
      meet(warp + 1);
    }
  }
}

/// Rows of pattern CSR by chunks; `parts` is 0 where none is long, and each warp has one.
template <class Args>
__device__ void sum_rows(const Args& args, const CsrPatternView& a, Queue& queue, std::size_t first, unsigned parts) {
  __shared__ BlockRows rows;
  __shared__ float4 sums[32];
  const unsigned warp = threadIdx.x / 32;
  if (parts == 0) {
    const std::size_t row = std::size_t{blockIdx.x} * block_warps + warp;
    if (row < a.nrows) sum_row(args, static_cast<NodeId>(row), first, queue);
    return;
  }
  const Share share(parts);
  find_rows(rows, a, share);
  for (unsigned n = 0; n < rows.num_hubs; ++n) sum_hub(args, rows.hubs[n], first, queue, sums);
  for (unsigned task = take(rows); task < rows.num_long; task = take(rows)) {
    sum_row(args, rows.long_rows[task], first, queue);
  }
  const std::size_t step = std::size_t{block_warps} * parts;
  for (std::size_t row = rows.first + std::size_t{warp} * parts + share.part; row < rows.end; row += step) {
    if (row_length(a, static_cast<NodeId>(row)) < long_row) sum_row(args, static_cast<NodeId>(row), first, queue);
  }
}

/// Rows of tiles, a warp each.
template <class Args>
__device__ void sum_rows(const Args& args, const AnyTiles& a, Queue& queue, std::size_t first, unsigned) {
  const std::size_t row = std::size_t{blockIdx.x} * block_warps + threadIdx.x / 32;
  if (row < a.nrows) sum_row(args, static_cast<NodeId>(row), first, queue);
}

template <class Args>
__global__ void __launch_bounds__(block_threads, 3) spmm_sum(Args args, unsigned parts) {
  __shared__ Queue queues[block_warps];
  const std::size_t first = std::size_t{blockIdx.y} * slice_features + threadIdx.x % 32 * own_features;
  sum_rows(args, args.a, queues[threadIdx.x / 32], first, parts);
}

inline dim3 sum_grid(const CsrPatternView& a, unsigned slices, unsigned parts) {
  return dim3(parts == 0 ? blocks_for(a.nrows, block_warps) : a.num_chunks * parts, slices);
}
inline dim3 sum_grid(const AnyTiles& a, unsigned slices, unsigned) {
  return dim3(blocks_for(a.nrows, block_warps), slices);
}
inline unsigned parts_of(const CsrPatternView& a) {
  return a.longest_row < long_row ? 0 : blocks_a_chunk(a.num_chunks);
}
inline unsigned parts_of(const AnyTiles&) { return 1; }

template <class Args>
void start_sum(const Device& device, const Args& args) {
  // A binary output has all the words of its rows written.
  const auto slices = static_cast<unsigned>((args.out.ncols + 63) / 64 * 64 + slice_features - 1) / slice_features;
  const unsigned parts = parts_of(args.a);
  spmm_sum<<<sum_grid(args.a, slices, parts), block_threads, 0, stream_of(device)>>>(args, parts);
  cuda_check_launch("spmm_sum");
}

template <class Graph, class Out>
void launch_sum(const Device& device, const SpmmArgs<Graph, BitsIn, Out>& args) {
  start_sum(device, args);
}

template <class Graph, class Out>
void launch_sum(const Device& device, const SpmmArgs<Graph, FloatIn, Out>& args) {
  const auto address = reinterpret_cast<std::uintptr_t>(args.x.data);
  if (args.x.stride % own_features != 0 || args.x.ncols % own_features != 0 || address % sizeof(float4) != 0) {
    return start_sum(device, args);
  }
  const AlignedFloats x{args.x.data, args.x.stride, args.x.ncols};
  start_sum(device, SpmmArgs<Graph, AlignedFloats, Out>{args.a, x, args.out, args.col_scale, args.epilogue});
}

}  // namespace bitgraph::spmm_cuda
