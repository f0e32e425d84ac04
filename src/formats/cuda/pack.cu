// SPDX-License-Identifier: Apache-2.0
#include "formats/cuda/pack.cuh"

#include "core/cuda/cooperative.cuh"
#include "core/cuda/launch.cuh"
#include "core/preconditions.hpp"
#include "formats/cuda/formats.hpp"
#include "formats/cuda/keys.cuh"

#include <algorithm>

namespace bitgraph::cuda_formats {

namespace {

NodeId tile_count(NodeId n, int k) {
  return static_cast<NodeId>((std::size_t{n} + static_cast<std::size_t>(k) - 1) / static_cast<std::size_t>(k));
}

/// Blocks of a kernel whose blocks take up tasks until there are none: as many as the device holds at once, or of small
/// tiles four a multiprocessor, which leaves room for the kernel beside.
template <int K, class Kernel>
unsigned blocks_that_fit(const Device& device, Kernel* kernel, std::size_t most) {
  unsigned blocks = resident_blocks(device, kernel, marks_threads<K>, 0, "packing");
  if (K < 32) blocks = std::min(blocks, 4 * cuda_limits(device).multiprocessors);
  return static_cast<unsigned>(std::clamp<std::size_t>(most, 1, blocks));
}

/// The first pass, and what the second needs of it.
template <int K>
class Packing {
 public:
  explicit Packing(const CsrPattern& a)
      : a_(a.view()),
        device_(a.device()),
        rule_(short_rule(a)),
        merges_(K == 4 && rule_.together != 0 && a_.longest_row <= longest_merged),
        most_tasks_(a.nvals() / (rule_.longest + 1) + a.nvals() / strip_entries + 1),
        task_(most_tasks_, device_),
        tiles_(most_tasks_, device_),
        counters_(3, device_),
        tile_row_ptr_(std::size_t{tile_count(a.nrows(), K)} + 1, device_) {
    const NodeId tile_rows = tile_count(a_.nrows, K);
    if (tile_rows == 0) {
      tile_row_ptr_.fill(0);
      return;
    }
    const cudaStream_t stream = stream_of(device_);
    cuda_check(cudaMemsetAsync(counters_.data(), 0, counters_.bytes(), stream), "cudaMemsetAsync");
    list_long<K><<<blocks_for(std::size_t{tile_rows} + 1, 256), 256, 0, stream>>>(a_, tile_rows, rule_,
                                                                                  tile_row_ptr_.data(), tasks());
    cuda_check_launch("list_long");
    count_long<K><<<blocks_that_fit<K>(device_, &count_long<K>, most_tasks_), marks_threads<K>, 0, stream>>>(
        a_, tile_row_ptr_.data(), tasks());
    cuda_check_launch("count_long");
    const auto count_rows = merges_ ? &count_short<K, K == 4> : &count_short<K, false>;
    ProgrammaticKernel(count_rows, "count_short")
        .launch(device_, short_blocks(), 32 * sort_warps, 0, a_, tile_rows, rule_, tile_row_ptr_.data());
    num_tiles_ = exclusive_scan(tile_row_ptr_);
  }

  [[nodiscard]] EdgeOffset num_tiles() const noexcept { return num_tiles_; }

  [[nodiscard]] BitTileMatrix fill() {
    require_memory(device_, "packing", num_tiles_ * (sizeof(NodeId) + tile_bytes(K)));
    Buffer<NodeId> col_ind(num_tiles_, device_);
    Buffer<std::byte> bits(num_tiles_ * tile_bytes(K), device_);
    if (num_tiles_ != 0) write({tile_row_ptr_.data(), col_ind.data(), bits.data()});
    return {a_.nrows, a_.ncols, K, std::move(tile_row_ptr_), std::move(col_ind), std::move(bits), a_.num_entries};
  }

 private:
  [[nodiscard]] static ShortRule short_rule(const CsrPattern& a) {
    const int tile_bits = bits_for(tile_count(a.ncols(), K));
    // Which tile row, the tile column and a place in the tile: 32 bits hold them in all but very wide matrices.
    const int key_bits = bits_for(tile_rows_a_warp<K>) + tile_bits + 2 * bits_for(K);
    if (key_bits < 32) return {.longest = longest_short<K>, .tile_bits = tile_bits};
    return {.longest = longest_short_wide, .together = 0, .tile_bits = tile_bits};
  }

  [[nodiscard]] unsigned short_blocks() const {
    return blocks_for(tile_count(a_.nrows, K), sort_warps * tile_rows_a_warp<K>);
  }

  [[nodiscard]] PackTasks tasks() {
    return {task_.data(), tiles_.data(), counters_.data(), counters_.data() + 1, counters_.data() + 2};
  }

  void write(const PackedTiles<K>& out) {
    const NodeId tile_rows = tile_count(a_.nrows, K);
    const cudaStream_t stream = stream_of(device_);
    fill_long<K>
        <<<blocks_that_fit<K>(device_, &fill_long<K>, most_tasks_), marks_threads<K>, 0, stream>>>(a_, tasks(), out);
    cuda_check_launch("fill_long");
    const auto fill_rows = rule_.together == 0 ? &fill_short<K, std::uint64_t, false>
                           : merges_           ? &fill_short<K, std::uint32_t, K == 4>
                                               : &fill_short<K, std::uint32_t, false>;
    ProgrammaticKernel(fill_rows, "fill_short")
        .launch(device_, short_blocks(), 32 * sort_warps, 0, a_, tile_rows, rule_, out);
  }

  CsrPatternView a_;
  Device device_;
  ShortRule rule_;
  bool merges_;
  std::size_t most_tasks_;
  Buffer<PackTask> task_;
  Buffer<NodeId> tiles_;
  Buffer<unsigned> counters_;
  Buffer<EdgeOffset> tile_row_ptr_;
  EdgeOffset num_tiles_ = 0;
};

}  // namespace

BitTileMatrix pack(const Cuda& backend, const CsrPattern& a, int tile_dim) {
  const ScopedCudaDevice scope(backend.device.index());
  return with_tile_dim(tile_dim, [&](auto k) { return Packing<k()>(a).fill(); });
}

EdgeOffset count_tiles(const Cuda& backend, const CsrPattern& a, int tile_dim) {
  const ScopedCudaDevice scope(backend.device.index());
  return with_tile_dim(tile_dim, [&](auto k) { return Packing<k()>(a).num_tiles(); });
}

}  // namespace bitgraph::cuda_formats
