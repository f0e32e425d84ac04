// SPDX-License-Identifier: Apache-2.0
// Patterns turned into others on a CUDA device: every entry becomes a key of 64 bits, its row above its column, and
// the keys are sorted.
#include <bitgraph/core/kernel.cuh>
#include "core/preconditions.hpp"
#include "formats/cuda/formats.hpp"
#include "formats/cuda/keys.cuh"

#include <bitgraph/formats/rows_of.cuh>

#include <algorithm>
#include <utility>

namespace bitgraph::cuda_formats {

namespace {

constexpr unsigned block_threads = 256;

/// How entries become keys: the low bits hold what becomes the column.
struct KeyRule {
  int low_bits = 0;
  const NodeId* new_id = nullptr;  ///< rows and columns are renumbered, where it is given
  bool turned = false;             ///< columns become rows
};

/// A block a chunk of rows and entries.
__global__ void __launch_bounds__(block_threads) write_keys(CsrPatternView a, KeyRule rule, std::uint64_t* keys) {
  const NodeId low = a.chunk_row[blockIdx.x];
  const NodeId high = min(a.chunk_row[blockIdx.x + 1], a.nrows - 1);
  const EdgeOffset end = min(EdgeOffset{blockIdx.x + 1} * csr_chunk_items - a.chunk_row[blockIdx.x + 1], a.num_entries);
  for (EdgeOffset e = EdgeOffset{blockIdx.x} * csr_chunk_items - low + threadIdx.x; e < end; e += block_threads) {
    NodeId row = detail::row_of(a.row_ptr, low, high, e);
    NodeId column = a.col_ind[e];
    if (rule.new_id != nullptr) {
      row = rule.new_id[row];
      column = rule.new_id[column];
    }
    keys[e] = rule.turned ? std::uint64_t{column} << rule.low_bits | row : std::uint64_t{row} << rule.low_bits | column;
  }
}

__global__ void take_columns(const std::uint64_t* keys, EdgeOffset size, int low_bits, NodeId* col_ind) {
  const EdgeOffset e = EdgeOffset{blockIdx.x} * block_threads + threadIdx.x;
  if (e < size) col_ind[e] = static_cast<NodeId>(keys[e] & ((std::uint64_t{1} << low_bits) - 1));
}

/// A piece of two arrays at a time: `differ` is set where they are not equal.
template <class T>
__global__ void compare(const T* a, const T* b, std::size_t size, unsigned* differ) {
  const std::size_t n = std::size_t{blockIdx.x} * block_threads + threadIdx.x;
  if (n < size && a[n] != b[n]) *differ = 1;
}

__global__ void write_degrees(CsrPatternView a, std::uint64_t* keys) {
  const std::size_t i = std::size_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i >= a.nrows) return;
  const auto degree = static_cast<std::uint32_t>(a.row_ptr[i + 1] - a.row_ptr[i]);
  keys[i] = std::uint64_t{~degree} << 32 | i;
}

__global__ void number_nodes(const std::uint64_t* keys, NodeId n, NodeId* new_id) {
  const std::size_t i = std::size_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i < n) new_id[static_cast<NodeId>(keys[i])] = static_cast<NodeId>(i);
}

void put_keys(const CsrPattern& a, const KeyRule& rule, std::uint64_t* keys) {
  if (a.nvals() == 0) return;
  write_keys<<<a.view().num_chunks, block_threads, 0, stream_of(a.device())>>>(a.view(), rule, keys);
  cuda_check_launch("write_keys");
}

CsrPattern from_keys(NodeId nrows, NodeId ncols, int low_bits, Buffer<std::uint64_t> keys) {
  const Device device = keys.device();
  Buffer<EdgeOffset> row_ptr = row_pointers(keys, low_bits, nrows);
  Buffer<NodeId> col_ind(keys.size(), device);
  take_columns<<<blocks_for(keys.size(), block_threads), block_threads, 0, stream_of(device)>>>(
      keys.data(), keys.size(), low_bits, col_ind.data());
  cuda_check_launch("take_columns");
  keys = Buffer<std::uint64_t>();
  return {nrows, ncols, std::move(row_ptr), std::move(col_ind)};
}

template <class T>
void put_comparison(const Device& device, std::span<const T> a, std::span<const T> b, unsigned* differ) {
  compare<<<blocks_for(a.size(), block_threads), block_threads, 0, stream_of(device)>>>(a.data(), b.data(), a.size(),
                                                                                        differ);
  cuda_check_launch("compare");
}

}  // namespace

CsrPattern transpose(const Cuda& backend, const CsrPattern& a) {
  const Device& device = backend.device;
  const ScopedCudaDevice scope(device.index());
  require_memory(device, "a transpose", a.nvals() * 2 * sizeof(std::uint64_t));
  // Rows come in order, and the sort keeps it: only the columns are sorted by.
  const int row_bits = bits_for(a.nrows());
  Buffer<std::uint64_t> keys(a.nvals(), device);
  put_keys(a, {.low_bits = row_bits, .turned = true}, keys.data());
  return from_keys(a.ncols(), a.nrows(), row_bits, sorted(std::move(keys), row_bits, row_bits + bits_for(a.ncols())));
}

CsrPattern symmetrized(const Cuda& backend, const CsrPattern& a) {
  const Device& device = backend.device;
  const ScopedCudaDevice scope(device.index());
  require_memory(device, "a pattern made symmetric", a.nvals() * 4 * sizeof(std::uint64_t));
  const int bits = bits_for(a.nrows());
  Buffer<std::uint64_t> keys(2 * a.nvals(), device);
  put_keys(a, {.low_bits = bits}, keys.data());
  put_keys(a, {.low_bits = bits, .turned = true}, keys.data() + a.nvals());
  return from_keys(a.nrows(), a.ncols(), bits, without_repetitions(sorted(std::move(keys), 0, 2 * bits)));
}

CsrPattern permuted(const Cuda& backend, const CsrPattern& a, std::span<const NodeId> new_id) {
  const Device& device = backend.device;
  const ScopedCudaDevice scope(device.index());
  require_memory(device, "a permutation", a.nvals() * 2 * sizeof(std::uint64_t));
  const int bits = bits_for(a.nrows());
  Buffer<std::uint64_t> keys(a.nvals(), device);
  {
    const Buffer<NodeId> ids = Buffer<NodeId>::copy_of(new_id, device);
    put_keys(a, {.low_bits = bits, .new_id = ids.data()}, keys.data());
  }
  return from_keys(a.nrows(), a.ncols(), bits, sorted(std::move(keys), 0, 2 * bits));
}

bool equal(const Cuda& backend, const CsrPattern& a, const CsrPattern& b) {
  if (a.nrows() != b.nrows() || a.ncols() != b.ncols() || a.nvals() != b.nvals()) return false;
  const Device& device = backend.device;
  const ScopedCudaDevice scope(device.index());
  Buffer<unsigned> differ(1, 0U, device);
  put_comparison(device, a.row_ptr(), b.row_ptr(), differ.data());
  if (a.nvals() != 0) put_comparison(device, a.col_ind(), b.col_ind(), differ.data());
  return differ.to(Device{})[0] == 0;
}

Buffer<NodeId> degree_order(const Cuda& backend, const CsrPattern& a) {
  const Device& device = backend.device;
  const ScopedCudaDevice scope(device.index());
  Buffer<std::uint64_t> keys(a.nrows(), device);
  const unsigned blocks = blocks_for(a.nrows(), block_threads);
  write_degrees<<<blocks, block_threads, 0, stream_of(device)>>>(a.view(), keys.data());
  cuda_check_launch("write_degrees");
  keys = sorted(std::move(keys), 32, 64);
  Buffer<NodeId> new_id(a.nrows(), device);
  number_nodes<<<blocks, block_threads, 0, stream_of(device)>>>(keys.data(), a.nrows(), new_id.data());
  cuda_check_launch("number_nodes");
  return new_id.to(Device{});
}

}  // namespace bitgraph::cuda_formats
