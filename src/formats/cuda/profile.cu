// SPDX-License-Identifier: Apache-2.0
// The advisor's draws on a CUDA device, a block each.
#include <bitgraph/core/kernel.cuh>
#include "formats/cuda/formats.hpp"
#include "formats/cuda/keys.cuh"

namespace bitgraph::cuda_formats {

namespace {

constexpr unsigned block_threads = 128;
constexpr unsigned set_slots = 2 * short_tile_row;
constexpr NodeId empty_slot = ~NodeId{0};

__device__ EdgeOffset first_at_least(const NodeId* col_ind, EdgeOffset begin, EdgeOffset end, std::uint64_t column) {
  while (begin < end) {
    const EdgeOffset middle = (begin + end) / 2;
    if (col_ind[middle] < column) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

__device__ NodeId row_of_entry(const CsrPatternView& a, EdgeOffset e) {
  NodeId low = 0;
  NodeId high = a.nrows - 1;
  while (low < high) {
    const NodeId middle = low + (high - low + 1) / 2;
    if (a.row_ptr[middle] <= e) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

/// Rows of a tile row.
struct TileRow {
  NodeId begin;
  NodeId end;
};

/// Adds this thread's share of the distinct tile columns of a tile row: those that it was the first to put in the set.
__device__ void count_distinct(const CsrPatternView& a, const TileRow& rows, NodeId k, NodeId* set, unsigned* count) {
  for (unsigned s = threadIdx.x; s < set_slots; s += block_threads) set[s] = empty_slot;
  __syncthreads();
  for (EdgeOffset e = a.row_ptr[rows.begin] + threadIdx.x; e < a.row_ptr[rows.end]; e += block_threads) {
    const NodeId tile = a.col_ind[e] / k;
    for (unsigned slot = tile * 2654435761U % set_slots;; slot = (slot + 1) % set_slots) {
      const NodeId there = atomicCAS(set + slot, empty_slot, tile);
      if (there == empty_slot) atomicAdd(count, 1U);
      if (there == empty_slot || there == tile) break;
    }
  }
}

/// Entries of the tiles that hold some entries of row i, evenly spaced from `start`: one sum for each of `looks`.
__device__ void count_occupancies(const CsrPatternView& a, const TileRow& rows, NodeId k, NodeId i, std::uint64_t start,
                                  unsigned looks, unsigned* occupancy) {
  const EdgeOffset size = a.row_ptr[i + 1] - a.row_ptr[i];
  const unsigned height = rows.end - rows.begin;
  for (unsigned n = threadIdx.x; n < looks * height; n += block_threads) {
    const unsigned look = n / height;
    const NodeId row = rows.begin + n % height;
    const NodeId column = a.col_ind[a.row_ptr[i] + (start + look * size / looks) % size];
    const std::uint64_t first = column / k * k;
    const EdgeOffset begin = first_at_least(a.col_ind, a.row_ptr[row], a.row_ptr[row + 1], first);
    const EdgeOffset end = first_at_least(a.col_ind, begin, a.row_ptr[row + 1], first + k);
    if (begin != end) atomicAdd(occupancy + look, static_cast<unsigned>(end - begin));
  }
}

/// Adds this thread's share of the non-empty bit rows of a row.
__device__ void count_bit_rows(const CsrPatternView& a, NodeId row, NodeId k, unsigned* count) {
  const EdgeOffset begin = a.row_ptr[row];
  for (EdgeOffset e = begin + threadIdx.x; e < a.row_ptr[row + 1]; e += block_threads) {
    if (e == begin || a.col_ind[e] / k != a.col_ind[e - 1] / k) atomicAdd(count, 1U);
  }
}

__global__ void __launch_bounds__(block_threads)
    answer_draws(CsrPatternView a, NodeId k, const ProfileDraw* draws, ProfileAnswer* answers) {
  __shared__ NodeId set[set_slots];
  __shared__ unsigned occupancy[entries_a_row];
  __shared__ unsigned distinct;
  __shared__ unsigned bit_rows;
  __shared__ NodeId row;
  const ProfileDraw draw = draws[blockIdx.x];
  if (threadIdx.x == 0) {
    distinct = 0;
    bit_rows = 0;
    row = row_of_entry(a, draw.entry);
  }
  if (threadIdx.x < entries_a_row) occupancy[threadIdx.x] = 0;
  __syncthreads();
  const TileRow rows{row / k * k, static_cast<NodeId>(min(std::size_t{row / k * k} + k, std::size_t{a.nrows}))};
  const EdgeOffset entries = a.row_ptr[rows.end] - a.row_ptr[rows.begin];
  const EdgeOffset size = a.row_ptr[row + 1] - a.row_ptr[row];
  const auto looks = static_cast<unsigned>(min(size, EdgeOffset{entries_a_row}));
  if (entries <= short_tile_row) {
    count_distinct(a, rows, k, set, &distinct);
  } else {
    count_occupancies(a, rows, k, row, __umul64hi(draw.start, size), looks, occupancy);
  }
  count_bit_rows(a, draw.plain_row, k, &bit_rows);
  __syncthreads();
  if (threadIdx.x != 0) return;
  ProfileAnswer answer;
  if (entries <= short_tile_row) {
    answer.inverse_occupancy = static_cast<double>(distinct) / static_cast<double>(entries);
  } else {
    double sum = 0;
    for (unsigned look = 0; look < looks; ++look) sum += 1.0 / static_cast<double>(occupancy[look]);
    answer.inverse_occupancy = sum / static_cast<double>(looks);
  }
  const EdgeOffset plain = a.row_ptr[draw.plain_row + 1] - a.row_ptr[draw.plain_row];
  answer.compression = plain == 0 ? 0 : static_cast<double>(plain) / static_cast<double>(bit_rows);
  answers[blockIdx.x] = answer;
}

}  // namespace

Buffer<ProfileAnswer> profile_answers(const Cuda& backend, const CsrPattern& a, int tile_dim,
                                      std::span<const ProfileDraw> draws) {
  const Device& device = backend.device;
  const ScopedCudaDevice scope(device.index());
  if (draws.empty() || a.nvals() == 0) return Buffer<ProfileAnswer>(draws.size(), ProfileAnswer{});
  const Buffer<ProfileDraw> there = Buffer<ProfileDraw>::copy_of(draws, device);
  Buffer<ProfileAnswer> answers(draws.size(), device);
  answer_draws<<<static_cast<unsigned>(draws.size()), block_threads, 0, stream_of(device)>>>(
      a.view(), static_cast<NodeId>(tile_dim), there.data(), answers.data());
  cuda_check_launch("answer_draws");
  return answers.to(Device{});
}

}  // namespace bitgraph::cuda_formats
