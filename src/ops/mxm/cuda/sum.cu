// SPDX-License-Identifier: Apache-2.0
// Sums over products on a CUDA device. The whole sum adds the lengths of the rows of B that the entries of A name; the
// masked one counts what rows share: see meet.cuh.
#include "core/cuda/limits.hpp"
#include "ops/mxm/cuda/hubs.cuh"
#include "ops/mxm/cuda/kernels.hpp"
#include "ops/mxm/cuda/meet.cuh"
#include "ops/mxm/cuda/tiles.cuh"

#include "formats/cuda/formats.hpp"
#include "formats/graph_views.hpp"

#include <algorithm>

namespace bitgraph {

namespace {

using namespace mxm_cuda;

constexpr unsigned block_threads = cuda_mxm_tuning().block_threads;
constexpr unsigned blocks_a_multiprocessor = cuda_mxm_tuning().sum_blocks;

/// Blocks for `items` that threads go through in strides.
unsigned stride_blocks(const Device& device, std::size_t items) {
  return std::min(blocks_for(items, block_threads), blocks_a_multiprocessor * cuda_limits(device).multiprocessors);
}

__global__ void __launch_bounds__(block_threads)
    add_lengths(const NodeId* columns, EdgeOffset n, const EdgeOffset* row_ptr, unsigned long long* total) {
  const std::size_t step = std::size_t{gridDim.x} * block_threads;
  unsigned long long found = 0;
  for (std::size_t e = std::size_t{blockIdx.x} * block_threads + threadIdx.x; e < n; e += step) {
    const NodeId k = __ldg(columns + e);
    found += __ldg(row_ptr + k + 1) - __ldg(row_ptr + k);
  }
  add_of_block(found, total);
}

/// A thread a row of a tile of A, or, of side 4, a tile.
template <int K>
__global__ void __launch_bounds__(block_threads)
    add_lengths(BitTileView<K> a, EdgeOffset num_tiles, const std::uint32_t* lengths, unsigned long long* total) {
  const std::size_t step = std::size_t{gridDim.x} * block_threads;
  const std::size_t words = num_tiles * tile_words<K>;
  unsigned long long found = 0;
  for (std::size_t w = std::size_t{blockIdx.x} * block_threads + threadIdx.x; w < words; w += step) {
    std::uint64_t bits = a.bit_tiles[w];
    if (bits == 0) continue;
    const std::size_t column = std::size_t{__ldg(a.tile_col_ind + w / tile_words<K>)} * K;
    if constexpr (K == 4) {
      for (unsigned c = 0; c < 4; ++c) {
        const unsigned rows = __popc(static_cast<unsigned>(bits >> c) & 0x1111U);
        if (rows != 0) found += rows * __ldg(lengths + column + c);
      }
    } else {
      for (; bits != 0; bits &= bits - 1) found += __ldg(lengths + column + (__ffsll(bits) - 1));
    }
  }
  add_of_block(found, total);
}

/// A sum in the workspace of the device, and `more_bytes` for the call behind it.
class Sum {
 public:
  Sum(const Device& device, std::size_t more_bytes)
      : device_(device), total_(static_cast<unsigned long long*>(device.workspace(total_bytes + more_bytes))) {
    cuda_check(cudaMemsetAsync(total_, 0, total_bytes, stream_of(device)), "cudaMemsetAsync");
  }
  [[nodiscard]] unsigned long long* total() const { return total_; }
  [[nodiscard]] std::byte* more() const { return reinterpret_cast<std::byte*>(total_) + total_bytes; }

  /// The sum; waits for the device.
  [[nodiscard]] std::uint64_t value() const {
    std::uint64_t sum = 0;
    Device::copy(&sum, Device{}, total_, device_, sizeof(sum));
    return sum;
  }

 private:
  static constexpr std::size_t total_bytes = 256;
  const Device& device_;
  unsigned long long* total_;
};

std::uint64_t sum_whole(const Device& device, const CsrPatternView& a, EdgeOffset entries, const CsrPatternView& b) {
  const Sum sum(device, 0);
  add_lengths<<<stride_blocks(device, entries), block_threads, 0, stream_of(device)>>>(a.col_ind, entries, b.row_ptr,
                                                                                       sum.total());
  cuda_check_launch("add_lengths");
  return sum.value();
}

template <int K>
std::uint64_t sum_whole(const Device& device, const BitTileView<K>& a, EdgeOffset tiles, const BitTileView<K>& b) {
  const Sum sum(device, std::size_t{b.nrows} * sizeof(std::uint32_t));
  auto* lengths = reinterpret_cast<std::uint32_t*>(sum.more());
  const cudaStream_t stream = stream_of(device);
  launch_lengths(device, b, lengths);
  add_lengths<<<stride_blocks(device, tiles * tile_words<K>), block_threads, 0, stream>>>(a, tiles, lengths,
                                                                                          sum.total());
  cuda_check_launch("add_lengths");
  return sum.value();
}

std::uint64_t sum_within(const Device& device, const MaskedSumArgs<CsrPatternView>& args) {
  const HubPlan x_plan(args.x, args.mask.num_entries);
  const bool same = args.x.row_ptr == args.b.row_ptr && args.x.col_ind == args.b.col_ind;
  const HubPlan b_plan(args.b, same ? 0 : args.mask.num_entries);
  const Sum sum(device, x_plan.bytes() + b_plan.bytes());
  const HubBits x_hubs = x_plan.make(device, args.x, sum.more());
  const HubBits b_hubs = same ? x_hubs : b_plan.make(device, args.b, sum.more() + x_plan.bytes());
  launch_meet(device, args.mask, {args.x.row_ptr, args.x.col_ind, x_hubs}, {args.b.row_ptr, args.b.col_ind, b_hubs},
              std::max(args.x.longest_row, args.b.longest_row), CountAll{sum.total()});
  return sum.value();
}

template <int K>
std::uint64_t sum_within(const Device& device, const MaskedSumArgs<BitTileView<K>>& args) {
  const Sum sum(device, 0);
  const TilePattern mask(device, args.mask, args.mask_items);
  launch_meet(device, mask.view(), rows_of(args.x), rows_of(args.b), 0,
              CountInTiles<K>{args.mask.bit_tiles, args.x.bit_tiles, args.b.bit_tiles, sum.total()});
  return sum.value();
}

}  // namespace

template <class Graph>
std::uint64_t whole_sum(const Cuda& backend, const Graph& a, EdgeOffset items, const Graph& b) {
  if (items == 0 || b.nrows == 0) return 0;
  const ScopedCudaDevice scope(backend.device.index());
  return sum_whole(backend.device, a, items, b);
}

template <class Graph>
std::uint64_t masked_sum(const Cuda& backend, const MaskedSumArgs<Graph>& args) {
  if (args.mask_items == 0) return 0;
  const ScopedCudaDevice scope(backend.device.index());
  return sum_within(backend.device, args);
}

[[gnu::used]] constexpr auto mxm_cuda_sums = for_types(GraphViews(), [](auto type) {
  using Graph = TypeOf<decltype(type)>;
  return instances_of(static_cast<std::uint64_t (*)(const Cuda&, const Graph&, EdgeOffset, const Graph&)>(&whole_sum),
                      static_cast<std::uint64_t (*)(const Cuda&, const MaskedSumArgs<Graph>&)>(&masked_sum));
});

}  // namespace bitgraph
