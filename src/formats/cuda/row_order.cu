// SPDX-License-Identifier: Apache-2.0
// Rows of a pattern on a CUDA device by falling length: a counting sort over classes of lengths, by warps that have
// a range of rows each.
#include <bitgraph/core/kernel.cuh>
#include "formats/cuda/formats.hpp"
#include "formats/cuda/keys.cuh"

#include <algorithm>

namespace bitgraph::cuda_formats {

namespace {

constexpr unsigned block_warps = 4;
constexpr unsigned block_threads = 32 * block_warps;
constexpr NodeId range_rows = 4096;

/// Lengths below 64 have a class each, longer ones 32 an octave.
constexpr unsigned exact_bits = 6;
constexpr unsigned exact = 1U << exact_bits;
constexpr unsigned octave_bits = 5;
constexpr unsigned num_classes = exact + ((33 - exact_bits) << octave_bits);

/// The longest rows' class is 0.
__host__ __device__ constexpr unsigned class_of(EdgeOffset length) {
  constexpr unsigned last = num_classes - 1;
  if (length < exact) return last - static_cast<unsigned>(length);
  unsigned octave = exact_bits;
  while (length >> (octave + 1) != 0) ++octave;
  const auto part = static_cast<unsigned>(length >> (octave - octave_bits)) & ((1U << octave_bits) - 1);
  return last - (exact + ((octave - exact_bits) << octave_bits) + part);
}
static_assert(class_of((EdgeOffset{1} << 33) - 1) == 0 && class_of(0) == num_classes - 1);
static_assert(class_of(63) == class_of(64) + 1 && class_of(127) == class_of(128) + 1);

struct Rows {
  NodeId nrows;
  const EdgeOffset* row_ptr;
  NodeId num_ranges;

  /// Calls use(row, its class, the lanes that have one of the same class) with 32 rows of a range at a time; lanes
  /// without a row have the class num_classes.
  template <class Use>
  __device__ void for_each(NodeId range, const Use& use) const {
    const std::size_t end = min(std::size_t{nrows}, (std::size_t{range} + 1) * range_rows);
    for (std::size_t first = std::size_t{range} * range_rows; first < end; first += 32) {
      const std::size_t row = first + threadIdx.x % 32;
      const unsigned its_class = row < end ? class_of(row_ptr[row + 1] - row_ptr[row]) : num_classes;
      use(static_cast<NodeId>(row), its_class, __match_any_sync(full_warp, its_class));
      __syncwarp();
    }
  }
};

/// counts[c * num_ranges + r]: rows of class c in range r.
__global__ void __launch_bounds__(block_threads) count_classes(Rows rows, EdgeOffset* counts) {
  __shared__ unsigned count[block_warps][num_classes + 1];
  const unsigned warp = threadIdx.x / 32;
  const NodeId range = blockIdx.x * block_warps + warp;
  if (range >= rows.num_ranges) return;
  for (unsigned c = threadIdx.x % 32; c < num_classes; c += 32) count[warp][c] = 0;
  __syncwarp();
  rows.for_each(range, [&](NodeId, unsigned its_class, unsigned alike) {
    if ((alike & lanes_below()) == 0) count[warp][its_class] += __popc(alike);
  });
  for (unsigned c = threadIdx.x % 32; c < num_classes; c += 32) {
    counts[std::size_t{c} * rows.num_ranges + range] = count[warp][c];
  }
}

/// `places` are the sums of the counts before each.
__global__ void __launch_bounds__(block_threads) write_order(Rows rows, const EdgeOffset* places, NodeId* order) {
  __shared__ NodeId next[block_warps][num_classes + 1];
  const unsigned warp = threadIdx.x / 32;
  const NodeId range = blockIdx.x * block_warps + warp;
  if (range >= rows.num_ranges) return;
  for (unsigned c = threadIdx.x % 32; c < num_classes; c += 32) {
    next[warp][c] = static_cast<NodeId>(places[std::size_t{c} * rows.num_ranges + range]);
  }
  __syncwarp();
  rows.for_each(range, [&](NodeId row, unsigned its_class, unsigned alike) {
    const unsigned rank = __popc(alike & lanes_below());
    const NodeId first = next[warp][its_class];
    __syncwarp();
    if (its_class < num_classes) order[first + rank] = row;
    if (rank == 0) next[warp][its_class] = first + __popc(alike);
  });
}

/// Rows of 2^p entries or more, for each of so many p, and then of d entries or more.
__global__ void read_borders(Rows rows, const EdgeOffset* places, unsigned powers, NodeId* at_least) {
  const unsigned n = threadIdx.x;
  const std::size_t behind = class_of(n < powers ? EdgeOffset{1} << n : n - powers) + 1;
  at_least[n] = static_cast<NodeId>(places[behind * rows.num_ranges]);
}

__global__ void look_up_places(std::span<const NodeId> rows, const EdgeOffset* row_ptr, RowPlace* places) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= rows.size()) return;
  const NodeId row = rows[i];
  const EdgeOffset begin = row_ptr[row];
  places[i] = {begin, row, static_cast<NodeId>(row_ptr[row + 1] - begin)};
}

}  // namespace

Buffer<NodeId> rows_by_length(const Cuda& backend, const CsrPattern& a, std::span<NodeId> at_least,
                              std::span<NodeId> at_least_of_few) {
  const Device& device = backend.device;
  const ScopedCudaDevice scope(device.index());
  const Rows rows{a.nrows(), a.view().row_ptr, (a.nrows() + range_rows - 1) / range_rows};
  Buffer<NodeId> order(a.nrows(), device);
  Buffer<EdgeOffset> places(std::size_t{num_classes} * rows.num_ranges + 1, EdgeOffset{0}, device);
  const auto powers = static_cast<unsigned>(at_least.size());
  Buffer<NodeId> borders(at_least.size() + at_least_of_few.size(), device);
  const unsigned blocks = blocks_for(rows.num_ranges, block_warps);
  count_classes<<<blocks, block_threads, 0, stream_of(device)>>>(rows, places.data());
  cuda_check_launch("count_classes");
  static_cast<void>(exclusive_scan(places));
  write_order<<<blocks, block_threads, 0, stream_of(device)>>>(rows, places.data(), order.data());
  cuda_check_launch("write_order");
  read_borders<<<1, static_cast<unsigned>(borders.size()), 0, stream_of(device)>>>(rows, places.data(), powers,
                                                                                   borders.data());
  cuda_check_launch("read_borders");
  const Buffer<NodeId> here = borders.to(Device{});
  std::copy_n(here.data(), powers, at_least.data());
  std::copy_n(here.data() + powers, at_least_of_few.size(), at_least_of_few.data());
  return order;
}

Buffer<RowPlace> places_of_rows(const Cuda& backend, const CsrPattern& a, std::span<const NodeId> rows) {
  const Device& device = backend.device;
  const ScopedCudaDevice scope(device.index());
  Buffer<RowPlace> places(rows.size(), device);
  const unsigned blocks = blocks_for(rows.size(), block_threads);
  look_up_places<<<blocks, block_threads, 0, stream_of(device)>>>(rows, a.view().row_ptr, places.data());
  cuda_check_launch("look_up_places");
  device.synchronize();  // kernels read an order before the one ahead of them has ended: see core/cuda/launch.cuh
  return places;
}

}  // namespace bitgraph::cuda_formats
