// SPDX-License-Identifier: Apache-2.0
#include "ops/spmm/cuda/tile_words/tile_words.cuh"
#include "ops/spmm/instances.hpp"

#include <algorithm>

namespace bitgraph {

namespace spmm_cuda {

namespace {

/// Even shares for more warps than a large device holds, and slots for the long rows, which are the longer the more
/// memory their slots would take: `least_slot_bytes`, or a share of the tiles' bytes, are the most.
template <int K, class Args>
TileShares share_out(const Device& device, const TileWordArgs<K, Args>& args, dim3 grid) {
  const CudaTileTuning& t = cuda_spmm_tuning().tiles;
  const EdgeOffset tile_array_bytes = args.num_tiles * (sizeof(NodeId) + tile_bytes(K));
  const EdgeOffset most_slot_bytes = std::max(t.least_slot_bytes, tile_array_bytes / t.slot_share);
  constexpr EdgeOffset pieces_a_set = K < 32 ? 32 / K : 1;
  const EdgeOffset pieces = args.num_tiles * pieces_a_tile<K>;
  const EdgeOffset items = pieces + args.spmm.a.num_tile_rows * TileShares::items_a_row;
  TileShares shares;
  shares.twice_ones = args.strategy == SpmmStrategy::twice_ones;
  shares.share = std::clamp((items + t.warps - 1) / t.warps, t.least_share * pieces_a_set, t.most_share * pieces_a_set);
  shares.num_shares = (items + shares.share - 1) / shares.share;
  const EdgeOffset slot_bytes = K * args.spmm.x.words_per_row * 64 * sizeof(std::int32_t);
  const EdgeOffset most_slots = std::max(t.least_slots, most_slot_bytes / slot_bytes);
  shares.long_row = std::max(t.long_row_words * pieces_a_set, pieces / most_slots + 1);
  const EdgeOffset slots = pieces / shares.long_row + 1;
  auto* const zeroed = static_cast<std::byte*>(
      device.zeroed_workspace(slots * slot_bytes + slots * grid.y * grid.z * sizeof(std::uint32_t)));
  shares.sums = reinterpret_cast<std::int32_t*>(zeroed);
  shares.arrived = reinterpret_cast<std::uint32_t*>(zeroed + slots * slot_bytes);
  return shares;
}

template <int W, bool kEachBit, int K, class Out>
void launch_tile_words(const Device& device, const TileWordArgs<K, Out>& args) {
  dim3 grid(1, static_cast<unsigned>(args.spmm.x.words_per_row * 2 / W), K / rows_at_once<K>);
  const TileShares shares = share_out(device, args, grid);
  grid.x = blocks_for(shares.num_shares, block_warps);
  spmm_tile_words<K, W, kEachBit, Out><<<grid, block_threads, 0, stream_of(device)>>>(args.spmm, shares);
  cuda_check_launch("spmm_tile_words");
}

/// Rows of X in reads of 16 bytes where they are aligned and a warp has few rows to count.
template <bool kEachBit, int K, class Out>
void launch_tile_words(const Device& device, const TileWordArgs<K, Out>& args) {
  if constexpr (K < 16) {
    if (args.spmm.x.words_per_row % 2 == 0) return launch_tile_words<4, kEachBit>(device, args);
  }
  launch_tile_words<2, kEachBit>(device, args);
}

}  // namespace

}  // namespace spmm_cuda

template <int K, class Out>
void spmm(const Cuda& backend, const TileWordArgs<K, Out>& args) {
  if (args.spmm.a.nrows == 0 || args.spmm.x.ncols == 0) return;
  const ScopedCudaDevice scope(backend.device.index());
  if (args.strategy == SpmmStrategy::each_bit) return spmm_cuda::launch_tile_words<true>(backend.device, args);
  spmm_cuda::launch_tile_words<false>(backend.device, args);
}

[[gnu::used]] constexpr auto spmm_cuda_tile_words = tile_word_kernels<Cuda>();

}  // namespace bitgraph
