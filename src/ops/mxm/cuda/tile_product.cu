// SPDX-License-Identifier: Apache-2.0
// The boolean product of two tile matrices, as tiles, on a CUDA device. First the pattern of tiles that the product can
// have is computed: the product of the patterns of tiles, or the mask. Then each tile of A is multiplied with the tiles
// of B's tile row, and ORed into the tiles of the result's row. Tiles that stay empty, or lie outside the mask, are
// dropped at the end.
#include "ops/mxm/cuda/kernels.hpp"
#include "ops/mxm/cuda/product.cuh"
#include "ops/mxm/cuda/tiles.cuh"

namespace bitgraph {

namespace mxm_cuda {
namespace {

constexpr unsigned block_threads = cuda_mxm_tuning().block_threads;

/// Multiplies tiles of A with tiles of B and ORs them into tiles of the result.
template <int K>
struct OrInTiles {
  static constexpr bool only_counts = false;
  static constexpr unsigned slices = tile_slices<K>;
  const TileWord<K>* a;
  const TileWord<K>* b;
  void* out;

  /// ORs the 16 bits into a tile row or tile of the result.
  __device__ void or_half(EdgeOffset at, unsigned bits) const {
    if (bits != 0) atomicOr(static_cast<unsigned*>(out) + at / 2, bits << (at % 2 * 16));
  }

  __device__ void operator()(EdgeOffset e, EdgeOffset p_at, EdgeOffset q_at) const {
    const TileWord<K>* left = a + e * tile_words<K>;
    const TileWord<K>* right = b + q_at * tile_words<K>;
    if constexpr (K == 4) {
      unsigned sum = 0;
      for (unsigned c = 0; c < 4; ++c) {
        sum |= ((static_cast<unsigned>(*left) >> c) & 0x1111U) * ((static_cast<unsigned>(*right) >> (4 * c)) & 0xFU);
      }
      or_half(p_at, sum);
    } else if constexpr (K == 8) {
      const auto x = *reinterpret_cast<const unsigned long long*>(left);
      unsigned long long sum = 0;
      for (unsigned c = 0; c < 8; ++c) sum |= ((x >> c) & 0x0101010101010101ULL) * right[c];
      if (sum != 0) atomicOr(static_cast<unsigned long long*>(out) + p_at, sum);
    } else {
      for (unsigned r = blockIdx.y * slice_rows; r < (blockIdx.y + 1) * slice_rows; ++r) {
        TileWord<K> sum = 0;
        for (std::uint64_t bits = left[r]; bits != 0; bits &= bits - 1) sum |= right[__ffsll(bits) - 1];
        if (sum == 0) continue;
        if constexpr (K == 16) {
          or_half(p_at * K + r, sum);
        } else if constexpr (K == 32) {
          atomicOr(static_cast<unsigned*>(out) + p_at * K + r, sum);
        } else {
          atomicOr(static_cast<unsigned long long*>(out) + p_at * K + r, static_cast<unsigned long long>(sum));
        }
      }
    }
  }
  __device__ void finish() {}
};

/// The tiles of a result before the empty ones are dropped.
template <int K>
struct Candidates {
  NodeId num_tile_rows = 0;
  const EdgeOffset* row_ptr = nullptr;
  const NodeId* col_ind = nullptr;
  TileWord<K>* words = nullptr;
};

/// The number of lanes that share a tile.
template <int K>
constexpr unsigned tile_lanes = K == 4   ? 1
                                : K < 32 ? K
                                         : 32;

/// Clears the bits outside the mask, and counts what stays: bits, and tiles of each tile row. A warp takes a tile row.
template <int K>
__global__ void __launch_bounds__(block_threads)
    apply_mask(Candidates<K> of, BitTileView<K> mask, MaskUse use, EdgeOffset* sizes, unsigned long long* nvals) {
  constexpr unsigned lanes = tile_lanes<K>;
  const auto i = static_cast<NodeId>((std::size_t{blockIdx.x} * block_threads + threadIdx.x) / 32);
  const unsigned lane = threadIdx.x % 32;
  if (i >= of.num_tile_rows) return;
  const EdgeOffset end = __ldg(of.row_ptr + i + 1);
  const EdgeOffset mask_begin = use == MaskUse::none ? 0 : __ldg(mask.tile_row_ptr + i);
  const auto mask_size =
      static_cast<unsigned>(use == MaskUse::none ? 0 : __ldg(mask.tile_row_ptr + i + 1) - mask_begin);
  unsigned long long bits = 0;
  unsigned size = 0;
  for (EdgeOffset base = __ldg(of.row_ptr + i); base < end; base += 32 / lanes) {
    const EdgeOffset t = base + lane / lanes;
    const bool is_tile = t < end;
    const unsigned at = is_tile ? place_of(mask.tile_col_ind + mask_begin, mask_size, __ldg(of.col_ind + t)) : absent;
    bool is_empty = true;
    for (unsigned w = lane % lanes; is_tile && w < tile_words<K>; w += lanes) {
      TileWord<K>& word = of.words[t * tile_words<K> + w];
      if (use != MaskUse::none) {
        const TileWord<K> inside =
            at == absent ? TileWord<K>{0} : mask.bit_tiles[(mask_begin + at) * tile_words<K> + w];
        word = static_cast<TileWord<K>>(word & (use == MaskUse::inside ? inside : static_cast<TileWord<K>>(~inside)));
      }
      is_empty = is_empty && word == 0;
      bits += __popcll(word);
    }
    const unsigned filled = __ballot_sync(full_warp, !is_empty);
    constexpr unsigned group = lanes == 32 ? full_warp : (1U << (lanes % 32)) - 1;
    if (lane % lanes == 0 && ((filled >> lane) & group) != 0) ++size;
  }
  size = __reduce_add_sync(full_warp, size);
  bits = warp_sum(bits);
  if (lane != 0) return;
  sizes[i] = size;
  if (bits != 0) atomicAdd(nvals, bits);
}

/// Copies the tiles that are not empty. A warp takes a tile row.
template <int K>
__global__ void __launch_bounds__(block_threads)
    copy_tiles(Candidates<K> of, const EdgeOffset* row_ptr, NodeId* col_ind, TileWord<K>* words) {
  constexpr unsigned lanes = tile_lanes<K>;
  constexpr unsigned group = lanes == 32 ? full_warp : (1U << (lanes % 32)) - 1;
  const auto i = static_cast<NodeId>((std::size_t{blockIdx.x} * block_threads + threadIdx.x) / 32);
  const unsigned lane = threadIdx.x % 32;
  if (i >= of.num_tile_rows) return;
  EdgeOffset to = row_ptr[i];
  const EdgeOffset end = __ldg(of.row_ptr + i + 1);
  for (EdgeOffset base = __ldg(of.row_ptr + i); base < end; base += 32 / lanes) {
    const EdgeOffset t = base + lane / lanes;
    bool is_empty = true;
    for (unsigned w = lane % lanes; t < end && w < tile_words<K>; w += lanes) {
      is_empty = is_empty && of.words[t * tile_words<K> + w] == 0;
    }
    const unsigned filled = __ballot_sync(full_warp, !is_empty);
    unsigned before = 0, own = 0, all = 0;
    for (unsigned n = 0; n < 32 / lanes; ++n) {
      const unsigned one = ((filled >> (n * lanes % 32)) & group) != 0 ? 1 : 0;
      before += n < lane / lanes ? one : 0;
      own = n == lane / lanes ? one : own;
      all += one;
    }
    if (own != 0) {
      if (lane % lanes == 0) col_ind[to + before] = __ldg(of.col_ind + t);
      for (unsigned w = lane % lanes; w < tile_words<K>; w += lanes) {
        words[(to + before) * tile_words<K> + w] = of.words[t * tile_words<K> + w];
      }
    }
    to += all;
  }
}

/// The product, whose tiles are among those of `pattern`.
template <int K>
BitTileMatrix multiply(const Device& device, const TileProductArgs<K>& args, const CsrPatternView& a,
                       const MeetRows& pattern, EdgeOffset num_candidates) {
  // The size is a multiple of 32 bits: atomicOr works on whole words.
  Buffer<std::uint64_t> words((num_candidates * tile_bytes(K) + 7) / 8, std::uint64_t{0}, device);
  launch_meet(device, a, pattern, rows_of(args.b), 0, OrInTiles<K>{args.a.bit_tiles, args.b.bit_tiles, words.data()});
  const Candidates<K> candidates{args.a.num_tile_rows, pattern.row_ptr, pattern.col_ind,
                                 reinterpret_cast<TileWord<K>*>(words.data())};
  const unsigned blocks = blocks_for(std::size_t{args.a.num_tile_rows} * 32, block_threads);
  const cudaStream_t stream = stream_of(device);
  Buffer<EdgeOffset> row_ptr(std::size_t{args.a.num_tile_rows} + 1, EdgeOffset{0}, device);
  Buffer<unsigned long long> nvals(1, 0ULL, device);
  apply_mask<K>
      <<<blocks, block_threads, 0, stream>>>(candidates, args.mask, args.mask_use, row_ptr.data(), nvals.data());
  cuda_check_launch("apply_mask");
  Buffer<NodeId> col_ind(scan_sizes(device, row_ptr), device);
  Buffer<std::byte> tiles(col_ind.size() * tile_bytes(K), device);
  copy_tiles<K><<<blocks, block_threads, 0, stream>>>(candidates, row_ptr.data(), col_ind.data(),
                                                      reinterpret_cast<TileWord<K>*>(tiles.data()));
  cuda_check_launch("copy_tiles");
  return {args.a.nrows,     args.b.ncols,         K, std::move(row_ptr), std::move(col_ind),
          std::move(tiles), nvals.to(Device{})[0]};
}

}  // namespace
}  // namespace mxm_cuda

template <int K>
BitTileMatrix tile_product(const Cuda& backend, const TileProductArgs<K>& args, const ProductItems& tiles) {
  using namespace mxm_cuda;
  const Device& device = backend.device;
  const ScopedCudaDevice scope(device.index());
  const bool is_within = args.mask_use == MaskUse::inside;
  if (tiles.a == 0 || tiles.b == 0 || (is_within && tiles.mask == 0)) {
    return {args.a.nrows,
            args.b.ncols,
            K,
            Buffer<EdgeOffset>(std::size_t{args.a.num_tile_rows} + 1, EdgeOffset{0}, device),
            Buffer<NodeId>(0, device),
            Buffer<std::byte>(0, device),
            0};
  }
  const TilePattern a(device, args.a, tiles.a);
  if (is_within) return multiply<K>(device, args, a.view(), rows_of(args.mask), tiles.mask);
  const SparseRows rows =
      gathered_product(device, a.view(), TilePattern(device, args.b, tiles.b).view(), CsrPatternView{}, false);
  return multiply<K>(device, args, a.view(), {rows.row_ptr.data(), rows.col_ind.data(), {}}, rows.col_ind.size());
}

template BitTileMatrix tile_product(const Cuda&, const TileProductArgs<4>&, const ProductItems&);
template BitTileMatrix tile_product(const Cuda&, const TileProductArgs<8>&, const ProductItems&);
template BitTileMatrix tile_product(const Cuda&, const TileProductArgs<16>&, const ProductItems&);
template BitTileMatrix tile_product(const Cuda&, const TileProductArgs<32>&, const ProductItems&);
template BitTileMatrix tile_product(const Cuda&, const TileProductArgs<64>&, const ProductItems&);

}  // namespace bitgraph
