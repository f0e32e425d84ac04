// SPDX-License-Identifier: Apache-2.0
// Sets, matrices and values put together on a CUDA device.
#include "ops/ewise/cuda_merge.cuh"
#include "ops/ewise/ewise.hpp"

#include <bitgraph/ops/ewise.hpp>

#include <cstddef>

namespace bitgraph {

namespace {

using namespace ewise_cuda;
using cuda_formats::Ranks;
using cuda_formats::RankView;

/// An operation on words.
struct WordOperation {
  SetOp op;
  template <class Word>
  [[nodiscard]] __device__ Word operator()(Word a, Word b) const {
    switch (op) {
      case SetOp::either: return a | b;
      case SetOp::both: return a & b;
      case SetOp::without: return a & ~b;
      case SetOp::exactly_one: break;
    }
    return a ^ b;
  }
};

struct SetLoop {
  WordOperation operation;
  std::uint64_t* out;
  const std::uint64_t* a;
  const std::uint64_t* b;
  __device__ std::uint64_t take(std::size_t w) const { return operation(a[w], b[w]); }
  __device__ void put(std::size_t w, std::uint64_t word) const { out[w] = word; }
};

struct EntryRule {
  WordOperation operation;
  [[nodiscard]] __device__ bool kept_alone(bool from_b) const {
    return (operation(from_b ? 0U : 1U, from_b ? 1U : 0U) & 1U) != 0;
  }
  [[nodiscard]] __device__ bool kept_in_both(EdgeOffset, EdgeOffset) const { return (operation(1U, 1U) & 1U) != 0; }
};

__global__ void __launch_bounds__(kernel_threads)
    write_entries(MergeRows m, const MergePlace* places, MergeMarks marks, RankView kept, NodeId* col_ind) {
  __shared__ ShareMarks own_marks;
  const Share own(m, places);
  own_marks.load(own, marks);
  NodeId* to = col_ind + kept.rank(own.begin);
  own_marks.for_each_kept(own, marks, [&](unsigned n, const Kept& from) {
    to[n] = from.a != Kept::none ? m.a_col[own.a + from.a] : m.b_col[own.b + from.b];
  });
}

/// A piece of a tile: 64 bits, or where the side is 4 all 16.
template <int K>
using Piece = std::conditional_t<K == 4, std::uint16_t, std::uint64_t>;
template <int K>
inline constexpr unsigned pieces_a_tile = K == 4 ? 1 : K* K / 64;

template <int K>
struct TileRule {
  WordOperation operation;
  const Piece<K>* a;
  const Piece<K>* b;

  [[nodiscard]] __device__ bool kept_alone(bool from_b) const { return EntryRule{operation}.kept_alone(from_b); }
  [[nodiscard]] __device__ bool kept_in_both(EdgeOffset in_a, EdgeOffset in_b) const {
    if (operation.op == SetOp::either) return true;
    for (unsigned p = 0; p < pieces_a_tile<K>; ++p) {
      if (piece(in_a, in_b, p) != 0) return true;
    }
    return false;
  }
  [[nodiscard]] __device__ std::uint64_t piece(EdgeOffset in_a, EdgeOffset in_b, unsigned p) const {
    return operation(std::uint64_t{a[in_a * pieces_a_tile<K> + p]}, std::uint64_t{b[in_b * pieces_a_tile<K> + p]});
  }
};

struct MergedTiles {
  NodeId* tile_col_ind;
  std::byte* bits;
  unsigned long long* nvals;  ///< the bits are added to it
};

template <int K>
__global__ void __launch_bounds__(kernel_threads) write_tiles(MergeRows m, const MergePlace* places, TileRule<K> rule,
                                                              MergeMarks marks, RankView kept, MergedTiles out) {
  constexpr unsigned pieces = pieces_a_tile<K>;
  __shared__ ShareMarks own_marks;
  __shared__ Kept list[share];
  const Share own(m, places);
  own_marks.load(own, marks);
  const EdgeOffset to = kept.rank(own.begin);
  own_marks.for_each_kept(own, marks, [&](unsigned n, const Kept& from) {
    list[n] = from;
    out.tile_col_ind[to + n] = from.a != Kept::none ? m.a_col[own.a + from.a] : m.b_col[own.b + from.b];
  });
  __syncthreads();
  unsigned entries = 0;
  for (unsigned n = threadIdx.x; n < own_marks.num_kept() * pieces; n += kernel_threads) {
    const Kept from = list[n / pieces];
    std::uint64_t bits = 0;
    if (from.a != Kept::none && from.b != Kept::none) {
      bits = rule.piece(own.a + from.a, own.b + from.b, n % pieces);
    } else if (from.a != Kept::none) {
      bits = rule.a[(own.a + from.a) * pieces + n % pieces];
    } else {
      bits = rule.b[(own.b + from.b) * pieces + n % pieces];
    }
    reinterpret_cast<Piece<K>*>(out.bits)[to * pieces + n] = static_cast<Piece<K>>(bits);
    entries += __popcll(bits);
  }
  entries = __reduce_add_sync(full_warp, entries);
  if (threadIdx.x % 32 == 0 && entries != 0) atomicAdd(out.nvals, static_cast<unsigned long long>(entries));
}

template <int K>
BitTileMatrix merged_tiles(SetOp op, const BitTileMatrix& a, const BitTileMatrix& b) {
  const Device& device = a.device();
  const BitTileView<K> x = a.view<K>();
  const BitTileView<K> y = b.view<K>();
  const TileRule<K> rule{
      {op}, reinterpret_cast<const Piece<K>*>(x.bit_tiles), reinterpret_cast<const Piece<K>*>(y.bit_tiles)};
  const MergeRows rows{x.num_tile_rows, x.tile_row_ptr, x.tile_col_ind,
                       y.tile_row_ptr,  y.tile_col_ind, a.num_tiles() + b.num_tiles()};
  Merge merge(device, rows, rule);
  const Ranks ranks(merge.kept());
  Buffer<EdgeOffset> tile_row_ptr = merge.row_ptr(ranks);
  Buffer<NodeId> tile_col_ind(ranks.count(), device);
  Buffer<std::byte> bits(ranks.count() * tile_bytes(K), device);
  Buffer<unsigned long long> nvals(1, 0ULL, device);
  if (ranks.count() != 0) {
    write_tiles<K><<<merge.num_shares(), kernel_threads, 0, stream_of(device)>>>(
        rows, merge.places(), rule, merge.marks(), ranks.view(), {tile_col_ind.data(), bits.data(), nvals.data()});
    cuda_check_launch("write_tiles");
  }
  return {a.nrows(),
          a.ncols(),
          K,
          std::move(tile_row_ptr),
          std::move(tile_col_ind),
          std::move(bits),
          nvals.to(Device{})[0]};
}

}  // namespace

void ewise_sets(const Cuda& backend, BitVector& out, SetOp op, const BitVector& a, const BitVector& b) {
  detail::kernel_loop(backend.device, out.words().size(),
                      SetLoop{{op}, out.words().data(), a.words().data(), b.words().data()});
}

CsrPattern merged(const Cuda& backend, SetOp op, const CsrPattern& a, const CsrPattern& b) {
  const Device& device = backend.device;
  const ScopedCudaDevice scope(device.index());
  const MergeRows rows{a.nrows(),          a.row_ptr().data(), a.col_ind().data(),
                       b.row_ptr().data(), b.col_ind().data(), a.nvals() + b.nvals()};
  Merge merge(device, rows, EntryRule{{op}});
  const Ranks ranks(merge.kept());
  Buffer<EdgeOffset> row_ptr = merge.row_ptr(ranks);
  Buffer<NodeId> col_ind(ranks.count(), device);
  if (ranks.count() != 0) {
    write_entries<<<merge.num_shares(), kernel_threads, 0, stream_of(device)>>>(rows, merge.places(), merge.marks(),
                                                                                ranks.view(), col_ind.data());
    cuda_check_launch("write_entries");
  }
  return {a.nrows(), a.ncols(), std::move(row_ptr), std::move(col_ind)};
}

BitTileMatrix merged(const Cuda& backend, SetOp op, const BitTileMatrix& a, const BitTileMatrix& b) {
  const ScopedCudaDevice scope(backend.device.index());
  return with_tile_dim(a.tile_dim(), [&](auto k) { return merged_tiles<k()>(op, a, b); });
}

template <class S, class T>
void ewise_add_values(const Cuda& backend, Buffer<T>& out, const Buffer<T>& a, const Buffer<T>& b) {
  const detail::EwiseLoop<T, detail::AddOf<S>> loop{out.data(), a.data(), b.data(), {}};
  detail::kernel_loop(backend.device, a.size(), loop);
}

[[gnu::used]] constexpr auto ewise_cuda_values = for_ewise_types([](auto semiring, auto type) {
  using T = TypeOf<decltype(type)>;
  using Add = void (*)(const Cuda&, Buffer<T>&, const Buffer<T>&, const Buffer<T>&);
  return static_cast<Add>(&ewise_add_values<TypeOf<decltype(semiring)>, T>);
});

}  // namespace bitgraph
