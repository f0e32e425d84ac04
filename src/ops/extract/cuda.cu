// SPDX-License-Identifier: Apache-2.0
// Sets, indices and what they pick on a CUDA device.
#include "ops/extract/extract.hpp"

#include <bitgraph/core/kernel.cuh>
#include "formats/cuda/keys.cuh"
#include "formats/cuda/ranks.cuh"

#include <bitgraph/core/kernel_loop.hpp>
#include <bitgraph/formats/rows_of.cuh>

#include <algorithm>
#include <array>
#include <utility>

namespace bitgraph {

namespace {

using cuda_formats::Ranks;
using cuda_formats::RankView;
using detail::kernel_threads;

constexpr NodeId not_wanted = ~NodeId{0};
using Place = unsigned long long;

struct IndexMove {
  NodeId* indices;
  __device__ NodeId take(std::size_t i) const { return static_cast<NodeId>(i); }
  __device__ void put(EdgeOffset place, NodeId i) const { indices[place] = i; }
};

constexpr unsigned elements_a_block = 8 * kernel_threads;

/// A thread some neighbouring elements: where they rise, many are of one word.
__global__ void __launch_bounds__(kernel_threads)
    set_words(const NodeId* elements, std::size_t size, std::uint32_t* words) {
  constexpr unsigned a_thread = elements_a_block / kernel_threads;
  const std::size_t first = (std::size_t{blockIdx.x} * kernel_threads + threadIdx.x) * a_thread;
  NodeId own[a_thread];
#pragma unroll
  for (unsigned k = 0; k < a_thread; ++k) own[k] = first + k < size ? elements[first + k] : not_wanted;
  std::uint32_t bits = 0;
#pragma unroll
  for (unsigned k = 0; k < a_thread; ++k) {
    if (own[k] == not_wanted) break;
    bits |= 1U << (own[k] % 32);
    if (k + 1 == a_thread || own[k + 1] / 32 != own[k] / 32) {
      atomicOr(words + own[k] / 32, bits);
      bits = 0;
    }
  }
}
struct BeyondLoop {
  const NodeId* indices;
  std::size_t size;
  Place* first;
  __device__ NodeId take(std::size_t n) const { return indices[n]; }
  __device__ void put(std::size_t n, NodeId index) const {
    if (index >= size) atomicMin(first, static_cast<Place>(n));
  }
};

template <class Word>
struct GatherLoop {
  Word* out;
  const Word* x;
  const NodeId* indices;
  std::size_t words_a_value;
  __device__ Word take(std::size_t n) const {
    if (words_a_value == 1) return x[indices[n]];
    return x[indices[n / words_a_value] * words_a_value + n % words_a_value];
  }
  __device__ void put(std::size_t n, Word word) const { out[n] = word; }
};

constexpr unsigned gathered_a_thread = 4;

/// A lane a bit of the output, four words at a time.
__global__ void __launch_bounds__(kernel_threads)
    gather_words(std::uint32_t* words, const std::uint32_t* x, const NodeId* indices, std::size_t size) {
  const std::size_t own = (std::size_t{blockIdx.x} * kernel_threads + threadIdx.x) / 32 * 32 * gathered_a_thread;
  NodeId index[gathered_a_thread];
#pragma unroll
  for (unsigned k = 0; k < gathered_a_thread; ++k) {
    const std::size_t n = own + k * 32 + threadIdx.x % 32;
    index[k] = n < size ? indices[n] : not_wanted;
  }
#pragma unroll
  for (unsigned k = 0; k < gathered_a_thread; ++k) {
    const bool is_set = index[k] != not_wanted && (x[index[k] / 32] >> (index[k] % 32) & 1U) != 0;
    const std::uint32_t word = __ballot_sync(full_warp, is_set);
    if (threadIdx.x % 32 == 0 && own + k * 32 < size) words[own / 32 + k] = word;
  }
}

/// The first place that names a column has it.
struct NameLoop {
  const NodeId* cols;
  NodeId* place;
  __device__ NodeId take(std::size_t c) const { return cols[c]; }
  __device__ void put(std::size_t c, NodeId column) const { atomicMin(place + column, static_cast<NodeId>(c)); }
};

/// facts[0]: the first place that names a column again; facts[1]: whether a column follows a later one.
struct NamedLoop {
  const NodeId* cols;
  const NodeId* place;
  Place* facts;
  __device__ NodeId take(std::size_t c) const { return cols[c]; }
  __device__ void put(std::size_t c, NodeId column) const {
    if (place[column] != c) atomicMin(facts, static_cast<Place>(c));
    if (c != 0 && cols[c - 1] > column) facts[1] = 1;
  }
};

struct DegreeLoop {
  const EdgeOffset* row_ptr;
  const NodeId* rows;
  std::size_t num_rows;
  EdgeOffset* degrees;
  __device__ EdgeOffset take(std::size_t r) const {
    return r == num_rows ? 0 : row_ptr[rows[r] + 1] - row_ptr[rows[r]];
  }
  __device__ void put(std::size_t r, EdgeOffset degree) const { degrees[r] = degree; }
};

/// The entries of the rows that are picked, one after another.
struct PickedRows {
  const EdgeOffset* row_ptr;  ///< of A
  const NodeId* col_ind;
  const NodeId* rows;
  NodeId num_rows;
  const EdgeOffset* picked_ptr;  ///< num_rows + 1
  EdgeOffset size;
};

constexpr unsigned picked_a_block = 4 * kernel_threads;

/// A block an equal share of the entries: fn(entry, its row of the result, its place in A, there), by whole warps in
/// step; beyond the last one `there` is false.
template <class Fn>
__device__ void for_each_picked(const PickedRows& picked, const Fn& fn) {
  __shared__ detail::RowTable<picked_a_block> rows;
  const EdgeOffset begin = EdgeOffset{blockIdx.x} * picked_a_block;
  const EdgeOffset end = min(begin + picked_a_block, picked.size);
  rows.find(picked.picked_ptr, picked.num_rows, begin, end);
  for (unsigned n = threadIdx.x; n < picked_a_block; n += kernel_threads) {
    const EdgeOffset e = min(begin + n, end - 1);
    const NodeId r = rows.row[e - begin];
    fn(begin + n, r, picked.row_ptr[picked.rows[r]] + (e - picked.picked_ptr[r]), begin + n < end);
  }
}

__global__ void __launch_bounds__(kernel_threads)
    mark_picked(PickedRows picked, const NodeId* place, std::uint32_t* words) {
  for_each_picked(picked, [&](EdgeOffset e, NodeId, EdgeOffset in_a, bool there) {
    const std::uint32_t word = __ballot_sync(full_warp, there && place[picked.col_ind[in_a]] != not_wanted);
    if (there && threadIdx.x % 32 == 0) words[e / 32] = word;
  });
}

/// The new columns, or where they must be sorted keys of rows and columns.
__global__ void __launch_bounds__(kernel_threads) write_picked(PickedRows picked, const NodeId* place, RankView kept,
                                                               int column_bits, NodeId* col_ind, std::uint64_t* keys) {
  for_each_picked(picked, [&](EdgeOffset e, NodeId row, EdgeOffset in_a, bool there) {
    if (!there || !kept.bit(e)) return;
    const NodeId column = place[picked.col_ind[in_a]];
    if (keys != nullptr) {
      keys[kept.rank(e)] = std::uint64_t{row} << column_bits | column;
    } else {
      col_ind[kept.rank(e)] = column;
    }
  });
}

struct ColumnOfKeyLoop {
  const std::uint64_t* keys;
  int column_bits;
  NodeId* col_ind;
  __device__ std::uint64_t take(std::size_t n) const { return keys[n]; }
  __device__ void put(std::size_t n, std::uint64_t key) const {
    col_ind[n] = static_cast<NodeId>(key & ((std::uint64_t{1} << column_bits) - 1));
  }
};

std::uint32_t* words_of(BitVector& bits) { return reinterpret_cast<std::uint32_t*>(bits.words().data()); }
const std::uint32_t* words_of(const BitVector& bits) {
  return reinterpret_cast<const std::uint32_t*>(bits.words().data());
}

}  // namespace

Buffer<NodeId> indices_of(const Cuda& backend, const BitVector& set) {
  const Ranks ranks(set);
  Buffer<NodeId> indices(ranks.count(), backend.device);
  cuda_formats::move_kept(ranks, IndexMove{indices.data()}, backend.device);
  return indices;
}

void set_bits(const Cuda& backend, BitVector& set, const Buffer<NodeId>& elements) {
  if (elements.empty()) return;
  const ScopedCudaDevice scope(backend.device.index());
  set_words<<<blocks_for(elements.size(), elements_a_block), kernel_threads, 0, stream_of(backend.device)>>>(
      elements.data(), elements.size(), words_of(set));
  cuda_check_launch("set_words");
}

std::size_t first_beyond(const Cuda& backend, const Buffer<NodeId>& indices, std::size_t size) {
  if (indices.empty()) return 0;
  Buffer<Place> first(1, Place{indices.size()}, backend.device);
  detail::kernel_loop(backend.device, indices.size(), BeyondLoop{indices.data(), size, first.data()});
  return first.to(Device{})[0];
}

void gather_values(const Cuda& backend, void* out, const void* x, std::size_t value_size,
                   const Buffer<NodeId>& indices) {
  const auto gather = [&](auto word) {
    using Word = decltype(word);
    const std::size_t words = value_size / sizeof(Word);
    detail::kernel_loop(backend.device, indices.size() * words,
                        GatherLoop<Word>{static_cast<Word*>(out), static_cast<const Word*>(x), indices.data(), words});
  };
  if (value_size % 8 == 0) return gather(std::uint64_t{});
  if (value_size % 4 == 0) return gather(std::uint32_t{});
  if (value_size % 2 == 0) return gather(std::uint16_t{});
  gather(std::uint8_t{});
}

void gather_bits(const Cuda& backend, BitVector& out, const BitVector& x, const Buffer<NodeId>& indices) {
  if (out.size() == 0) return;
  const ScopedCudaDevice scope(backend.device.index());
  gather_words<<<blocks_for(out.size(), kernel_threads * gathered_a_thread), kernel_threads, 0,
                 stream_of(backend.device)>>>(words_of(out), words_of(x), indices.data(), out.size());
  cuda_check_launch("gather_words");
}

ColumnPlaces places_of_elements(const Cuda& backend, const Buffer<NodeId>& cols, NodeId ncols) {
  ColumnPlaces places{Buffer<NodeId>(ncols, not_wanted, backend.device), true, cols.size()};
  detail::kernel_loop(backend.device, cols.size(), NameLoop{cols.data(), places.place.data()});
  return places;
}

ColumnPlaces places_of(const Cuda& backend, const Buffer<NodeId>& cols, NodeId ncols) {
  ColumnPlaces places = places_of_elements(backend, cols, ncols);
  if (cols.empty()) return places;
  Buffer<Place> facts = Buffer<Place>::copy_of(std::array{Place{cols.size()}, Place{0}}, backend.device);
  detail::kernel_loop(backend.device, cols.size(), NamedLoop{cols.data(), places.place.data(), facts.data()});
  const Buffer<Place> found = facts.to(Device{});
  places.repeated = found[0];
  places.in_order = found[1] == 0;
  return places;
}

CsrPattern submatrix(const Cuda& backend, const CsrPattern& a, const Buffer<NodeId>& rows, NodeId ncols,
                     const ColumnPlaces& places) {
  const Device& device = backend.device;
  const ScopedCudaDevice scope(device.index());
  const auto num_rows = static_cast<NodeId>(rows.size());
  Buffer<EdgeOffset> picked_ptr(rows.size() + 1, device);
  detail::kernel_loop(device, rows.size() + 1,
                      DegreeLoop{a.row_ptr().data(), rows.data(), rows.size(), picked_ptr.data()});
  const EdgeOffset size = cuda_formats::exclusive_scan(picked_ptr);
  const PickedRows picked{a.row_ptr().data(), a.col_ind().data(), rows.data(), num_rows, picked_ptr.data(), size};
  const unsigned blocks = blocks_for(size, picked_a_block);
  BitVector kept(size, device);
  if (size != 0) {
    mark_picked<<<blocks, kernel_threads, 0, stream_of(device)>>>(picked, places.place.data(), words_of(kept));
    cuda_check_launch("mark_picked");
  }
  const Ranks ranks(kept);
  Buffer<EdgeOffset> row_ptr = cuda_formats::kept_row_ptr(ranks, picked_ptr.data(), num_rows, device);
  Buffer<NodeId> col_ind(ranks.count(), device);
  if (ranks.count() != 0) {
    const int column_bits = cuda_formats::bits_for(ncols);
    Buffer<std::uint64_t> keys(places.in_order ? 0 : ranks.count(), device);
    write_picked<<<blocks, kernel_threads, 0, stream_of(device)>>>(picked, places.place.data(), ranks.view(),
                                                                   column_bits, col_ind.data(), keys.data());
    cuda_check_launch("write_picked");
    if (!places.in_order) {
      keys = cuda_formats::sorted(std::move(keys), 0, column_bits + cuda_formats::bits_for(num_rows));
      detail::kernel_loop(device, keys.size(), ColumnOfKeyLoop{keys.data(), column_bits, col_ind.data()});
    }
  }
  return {num_rows, ncols, std::move(row_ptr), std::move(col_ind)};
}

}  // namespace bitgraph
