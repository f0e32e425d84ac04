// SPDX-License-Identifier: Apache-2.0
// Gustavson's algorithm on a CUDA device: the columns of a row of the product are those of the rows of B that the row
// of A names. By how many they are, repetitions included:
//   at most 32         a warp sorts them in registers;
//   at most 256, 2048  a block sorts them in shared memory;
//   more               a block sets a bit each, in shared memory where the row fits, and goes through the bits.
// Rows are counted first and then made again to be written.
#include "ops/mxm/cuda_gather.cuh"

#include <cub/device/device_scan.cuh>

#include <algorithm>

namespace bitgraph::mxm_cuda {

namespace {

constexpr unsigned block_threads = 256;

/// How many products a row has, and lists of the rows that are not short; eight lanes a row.
__global__ void __launch_bounds__(block_threads) bound_rows(CsrPatternView a, CsrPatternView b, RowClasses classes) {
  constexpr unsigned lanes = 8;
  const auto i = static_cast<NodeId>((std::size_t{blockIdx.x} * block_threads + threadIdx.x) / lanes);
  const unsigned lane = threadIdx.x % lanes;
  unsigned long long bound = 0;
  if (i < a.nrows) {
    const EdgeOffset end = __ldg(a.row_ptr + i + 1);
    for (EdgeOffset e = __ldg(a.row_ptr + i) + lane; e < end; e += lanes) {
      const NodeId k = __ldg(a.col_ind + e);
      bound += __ldg(b.row_ptr + k + 1) - __ldg(b.row_ptr + k);
    }
  }
  for (unsigned step = lanes / 2; step != 0; step /= 2) bound += __shfl_xor_sync(full_warp, bound, step);
  if (i >= a.nrows || lane != 0) return;
  const bool is_tiny = bound <= tiny_products;
  classes.tiny_bound[i] = is_tiny ? static_cast<std::uint8_t>(bound) : not_tiny;
  if (is_tiny) return;
  const unsigned which = bound <= small_products ? 0 : bound <= medium_products ? 1 : 2;
  NodeId* list = classes.lists + std::size_t{which} * a.nrows;
  list[atomicAdd(classes.sizes + which, 1U)] = i;
}

template <bool fill>
void launch_classes(const Device& device, const GatherArgs& args, const BitRowSpace& space) {
  const cudaStream_t stream = stream_of(device);
  gather_tiny<fill><<<blocks_for(std::size_t{args.a.nrows} * 32, tiny_threads), tiny_threads, 0, stream>>>(args);
  cuda_check_launch("gather_tiny");
  const unsigned rows = args.a.nrows;
  gather_sorted<fill, 64, small_products, 0><<<std::min(rows, 132U * 32), 64, 0, stream>>>(args);
  cuda_check_launch("gather_sorted");
  gather_sorted<fill, 256, medium_products, 1><<<std::min(rows, 132U * 8), 256, 0, stream>>>(args);
  cuda_check_launch("gather_sorted");
  if (space.shared_bytes > 0) {
    cuda_check(cudaFuncSetAttribute(gather_bits<fill>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(space.shared_bytes)),
               "cudaFuncSetAttribute");
  }
  gather_bits<fill><<<space.blocks, bits_threads, space.shared_bytes, stream>>>(args, space);
  cuda_check_launch("gather_bits");
}

}  // namespace

EdgeOffset scan_sizes(const Device& device, Buffer<EdgeOffset>& sizes) {
  std::size_t room = 0;
  const cudaStream_t stream = stream_of(device);
  cuda_check(cub::DeviceScan::ExclusiveSum(nullptr, room, sizes.data(), sizes.data(), sizes.size(), stream),
             "ExclusiveSum");
  Buffer<std::uint8_t> temporary(room, device);
  cuda_check(cub::DeviceScan::ExclusiveSum(temporary.data(), room, sizes.data(), sizes.data(), sizes.size(), stream),
             "ExclusiveSum");
  EdgeOffset sum = 0;
  Device::copy(&sum, Device{}, sizes.data() + sizes.size() - 1, device, sizeof(sum));
  return sum;
}

SparseRows gathered_product(const Device& device, const CsrPatternView& a, const CsrPatternView& b,
                            const CsrPatternView& hidden, bool counted) {
  SparseRows rows{Buffer<EdgeOffset>(std::size_t{a.nrows} + 1, EdgeOffset{0}, device), Buffer<NodeId>(0, device),
                  Buffer<std::uint32_t>(0, device)};
  if (a.nrows == 0 || b.ncols == 0) return rows;
  Buffer<std::uint8_t> tiny_bound(a.nrows, device);
  Buffer<NodeId> lists(std::size_t{a.nrows} * num_lists, device);
  Buffer<unsigned> sizes(2 * num_lists, 0U, device);
  GatherArgs args{a, b, hidden, {tiny_bound.data(), lists.data(), sizes.data()}};
  bound_rows<<<blocks_for(std::size_t{a.nrows} * 8, block_threads), block_threads, 0, stream_of(device)>>>(
      a, b, args.classes);
  cuda_check_launch("bound_rows");
  const unsigned num_large = sizes.to(Device{})[2];
  BitRowSpace space = BitRowSpace::of(b.ncols, std::max(num_large, 1U));
  Buffer<std::uint32_t> words(space.shared_bytes > 0 ? 0 : space.blocks * space.words_each(), 0U, device);
  space.words = words.data();
  args.sizes = rows.row_ptr.data();
  launch_classes<false>(device, args, space);
  const EdgeOffset nvals = scan_sizes(device, rows.row_ptr);
  rows.col_ind = Buffer<NodeId>(nvals, device);
  if (counted) rows.counts = Buffer<std::uint32_t>(nvals, device);
  if (nvals == 0) return rows;
  args.col_ind = rows.col_ind.data();
  args.counts = counted ? rows.counts.data() : nullptr;
  device.fill(sizes.data() + num_lists, num_lists * sizeof(unsigned), "\0\0\0\0", 4);
  launch_classes<true>(device, args, space);
  return rows;
}

}  // namespace bitgraph::mxm_cuda
