// SPDX-License-Identifier: Apache-2.0
#include "formats/cuda/ranks.cuh"

#include <bitgraph/core/kernel.cuh>
#include "formats/cuda/keys.cuh"

namespace bitgraph::cuda_formats {

namespace {

constexpr unsigned block_threads = 256;

/// A thread a block of bits.
__global__ void __launch_bounds__(block_threads)
    count_blocks(const std::uint64_t* words, std::size_t num_words, std::size_t num_blocks, EdgeOffset* count) {
  const std::size_t b = std::size_t{blockIdx.x} * block_threads + threadIdx.x;
  if (b > num_blocks) return;
  constexpr std::size_t words_a_block = rank_block / 64;
  EdgeOffset sum = 0;
  for (std::size_t w = b * words_a_block; w < min((b + 1) * words_a_block, num_words); ++w) sum += __popcll(words[w]);
  count[b] = sum;
}

__global__ void __launch_bounds__(block_threads)
    rank_rows(RankView ranks, const EdgeOffset* row_ptr, std::size_t size, EdgeOffset* kept) {
  const std::size_t i = std::size_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i < size) kept[i] = ranks.rank(row_ptr[i]);
}

}  // namespace

Ranks::Ranks(const BitVector& bits)
    : size_(bits.size()), words_(reinterpret_cast<const std::uint32_t*>(bits.words().data())) {
  const Device& device = bits.device();
  const ScopedCudaDevice scope(device.index());
  const std::size_t num_blocks =
      bits.size() / rank_block + 1;  // the last may be empty: the rank of `size` is asked for
  before_ = Buffer<EdgeOffset>(num_blocks + 1, device);
  count_blocks<<<blocks_for(num_blocks + 1, block_threads), block_threads, 0, stream_of(device)>>>(
      bits.words().data(), bits.words().size(), num_blocks, before_.data());
  cuda_check_launch("count_blocks");
  count_ = exclusive_scan(before_);
}

Buffer<EdgeOffset> kept_row_ptr(const Ranks& ranks, const EdgeOffset* row_ptr, NodeId nrows, const Device& device) {
  Buffer<EdgeOffset> kept(std::size_t{nrows} + 1, device);
  rank_rows<<<blocks_for(kept.size(), block_threads), block_threads, 0, stream_of(device)>>>(ranks.view(), row_ptr,
                                                                                             kept.size(), kept.data());
  cuda_check_launch("rank_rows");
  return kept;
}

}  // namespace bitgraph::cuda_formats
