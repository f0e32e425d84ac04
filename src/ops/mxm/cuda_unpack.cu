// SPDX-License-Identifier: Apache-2.0
// Tiles to pattern CSR on a CUDA device, for products whose result has no tiles.
#include "ops/mxm/cuda_product.cuh"
#include "ops/mxm/cuda_tiles.cuh"

namespace bitgraph::mxm_cuda {

namespace {

constexpr unsigned block_threads = 256;

/// A warp a row, a lane a tile at a time.
template <int K>
__global__ void __launch_bounds__(block_threads)
    write_rows(BitTileView<K> a, const EdgeOffset* row_ptr, NodeId* col_ind) {
  const auto i = static_cast<NodeId>((std::size_t{blockIdx.x} * block_threads + threadIdx.x) / 32);
  const unsigned lane = threadIdx.x % 32;
  if (i >= a.nrows) return;
  EdgeOffset at = row_ptr[i];
  const EdgeOffset end = __ldg(a.tile_row_ptr + i / K + 1);
  for (EdgeOffset base = __ldg(a.tile_row_ptr + i / K); base < end; base += 32) {
    std::uint64_t bits = base + lane < end ? a.tile_row(base + lane, static_cast<int>(i % K)) : 0;
    if (__all_sync(full_warp, bits == 0)) continue;
    const unsigned own = __popcll(bits);
    unsigned before = own;
    for (unsigned step = 1; step < 32; step *= 2) {
      const unsigned other = __shfl_up_sync(full_warp, before, step);
      before += lane >= step ? other : 0;
    }
    EdgeOffset to = at + before - own;
    const NodeId first = bits != 0 ? __ldg(a.tile_col_ind + base + lane) * K : 0;
    for (; bits != 0; bits &= bits - 1) col_ind[to++] = first + static_cast<NodeId>(__ffsll(bits) - 1);
    at += __shfl_sync(full_warp, before, 31);
  }
}

}  // namespace

template <int K>
CsrPattern unpacked(const Device& device, const BitTileView<K>& a) {
  Buffer<EdgeOffset> row_ptr(std::size_t{a.nrows} + 1, EdgeOffset{0}, device);
  if (a.nrows == 0) return {a.nrows, a.ncols, std::move(row_ptr), Buffer<NodeId>(0, device)};
  launch_lengths(device, a, row_ptr.data());
  Buffer<NodeId> col_ind(scan_sizes(device, row_ptr), device);
  write_rows<<<blocks_for(std::size_t{a.nrows} * 32, block_threads), block_threads, 0, stream_of(device)>>>(
      a, row_ptr.data(), col_ind.data());
  cuda_check_launch("write_rows");
  return {a.nrows, a.ncols, std::move(row_ptr), std::move(col_ind)};
}

template CsrPattern unpacked(const Device&, const BitTileView<4>&);
template CsrPattern unpacked(const Device&, const BitTileView<8>&);
template CsrPattern unpacked(const Device&, const BitTileView<16>&);
template CsrPattern unpacked(const Device&, const BitTileView<32>&);
template CsrPattern unpacked(const Device&, const BitTileView<64>&);

}  // namespace bitgraph::mxm_cuda
