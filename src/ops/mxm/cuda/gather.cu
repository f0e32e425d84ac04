// SPDX-License-Identifier: Apache-2.0
// Gustavson's algorithm on a CUDA device. A row of A names rows of B; their columns, without repetitions, are the row
// of the product. The number of these columns, repetitions included, decides who makes the row:
//   at most 16, 256    half a warp, or a warp, sorts them in registers;
//   at most 2,048      a block sorts them in shared memory, unless the matrix is narrow;
//   more               a block sets one bit for each, in shared memory where the row fits, and goes through the bits.
// Each sorted row is written to its slot of a buffer, which has space for repetitions, and copied to its place when all
// row lengths are known. Rows of bits are counted first and then made again; so are all rows if the buffer would be too
// large.
#include "ops/mxm/cuda/gather.cuh"

#include "core/cuda/cooperative.cuh"
#include "ops/mxm/cuda/gather_bits.cuh"
#include "ops/mxm/cuda/gather_sort.cuh"

#include <cub/device/device_scan.cuh>

#include <algorithm>

namespace bitgraph::mxm_cuda {

namespace {

constexpr unsigned block_threads = cuda_mxm_tuning().block_threads;

/// The class of a row that is not short.
__device__ unsigned list_of(unsigned long long bound, unsigned bits_from) {
  if (bound >= bits_from) return bits_list;
  return bound <= 32 ? 0 : bound <= 64 ? 1 : bound <= 128 ? 2 : bound <= 256 ? 3 : sorted_list;
}

/// Counts the products of each row, puts the row into a class, and gives it a slot. Eight lanes take a row.
__global__ void __launch_bounds__(block_threads)
    classify_rows(CsrPatternView a, CsrPatternView b, RowClasses classes, unsigned bits_from) {
  constexpr unsigned lanes = 8;
  __shared__ unsigned sizes[num_lists], begins[num_lists];
  __shared__ unsigned long long slots, slots_begin;
  if (threadIdx.x < num_lists) sizes[threadIdx.x] = 0;
  if (threadIdx.x == 0) slots = 0;
  __syncthreads();
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
  bound = warp_sum(bound, lanes);
  const bool is_mine = i < a.nrows && lane == 0;
  const bool is_short = bound <= half_products;
  const unsigned list = list_of(bound, bits_from);
  unsigned place = 0;
  unsigned long long slots_before = 0;
  if (is_mine && !is_short) place = atomicAdd(&sizes[list], 1U);
  if (is_mine && (is_short || list != bits_list)) slots_before = atomicAdd(&slots, bound);
  __syncthreads();
  if (threadIdx.x < num_lists && sizes[threadIdx.x] != 0) {
    begins[threadIdx.x] = atomicAdd(classes.sizes + threadIdx.x, sizes[threadIdx.x]);
  }
  if (threadIdx.x == 0) slots_begin = atomicAdd(classes.products, slots);
  __syncthreads();
  if (!is_mine) return;
  classes.short_bound[i] = is_short ? static_cast<std::uint8_t>(bound) : not_short;
  classes.slot[i] = is_short || list != bits_list ? slots_begin + slots_before : no_slot;
  if (!is_short) classes.lists[std::size_t{list} * a.nrows + begins[list] + place] = i;
}

/// Copies sorted rows from their slot to their place in the product. Eight lanes take a row; rows of bits are skipped.
__global__ void __launch_bounds__(block_threads)
    move_rows(NodeId nrows, RowClasses classes, const EdgeOffset* row_ptr, const NodeId* columns,
              const std::uint32_t* counts, NodeId* to, std::uint32_t* counts_to) {
  constexpr unsigned lanes = 8;
  const std::size_t i = (std::size_t{blockIdx.x} * block_threads + threadIdx.x) / lanes;
  if (i >= nrows || classes.slot[i] == no_slot) return;
  const EdgeOffset from = classes.slot[i], begin = row_ptr[i], size = row_ptr[i + 1] - begin;
  for (EdgeOffset x = threadIdx.x % lanes; x < size; x += lanes) {
    to[begin + x] = columns[from + x];
    if (counts_to != nullptr) counts_to[begin + x] = counts[from + x];
  }
}

template <bool fill, unsigned lanes, unsigned values>
void launch_team(const Device& device, const GatherArgs& args, const NodeId* list, unsigned num_rows) {
  if (num_rows == 0) return;
  gather_in_team<fill, lanes, values>
      <<<blocks_for(std::size_t{num_rows} * lanes, team_threads), team_threads, 0, stream_of(device)>>>(args, list,
                                                                                                        num_rows);
  cuda_check_launch("gather_in_team");
}

/// All rows but those of bits. `sizes` are those of the lists.
template <bool fill>
void launch_sorted(const Device& device, const GatherArgs& args, const unsigned* sizes) {
  const auto list = [&](unsigned n) { return args.classes.lists + std::size_t{n} * args.a.nrows; };
  launch_team<fill, 16, 1>(device, args, nullptr, args.a.nrows);
  launch_team<fill, 32, 1>(device, args, list(0), sizes[0]);
  launch_team<fill, 32, 2>(device, args, list(1), sizes[1]);
  launch_team<fill, 32, 4>(device, args, list(2), sizes[2]);
  launch_team<fill, 32, 8>(device, args, list(3), sizes[3]);
  if (sizes[sorted_list] == 0) return;
  gather_in_block<fill>
      <<<std::min(sizes[sorted_list], cuda_limits(device).multiprocessors * cuda_mxm_tuning().sort_blocks),
         sort_threads, 0, stream_of(device)>>>(args);
  cuda_check_launch("gather_in_block");
}

template <bool fill>
void launch_bits(const Device& device, const GatherArgs& args, const BitRowSpace& space, unsigned num_rows) {
  if (num_rows == 0) return;
  cuda_check(cudaMemsetAsync(args.classes.sizes + num_lists, 0, sizeof(unsigned), stream_of(device)),
             "cudaMemsetAsync");
  allow_shared_bytes(gather_bits<fill>, space.shared_bytes, "gather_bits");
  gather_bits<fill><<<space.blocks, bits_threads, space.shared_bytes, stream_of(device)>>>(args, space);
  cuda_check_launch("gather_bits");
}

/// What is made once for a product.
class Gathering {
 public:
  Gathering(const Device& device, const CsrPatternView& a, const CsrPatternView& b, const CsrPatternView& hidden)
      : device_(device),
        short_bound_(a.nrows, device),
        lists_(std::size_t{a.nrows} * num_lists, device),
        slots_(a.nrows, device),
        totals_(num_lists + 2, std::uint64_t{0}, device) {
    auto* sizes = reinterpret_cast<unsigned*>(totals_.data() + 1);
    args_ = {a,
             b,
             hidden,
             {short_bound_.data(), lists_.data(), slots_.data(), sizes,
              reinterpret_cast<unsigned long long*>(totals_.data())}};
    // Where a row of bits is short, to go through it costs less than to sort.
    const std::size_t bit_words = (std::size_t{b.ncols} + 31) / 32;
    const CudaMxmTuning& tuning = cuda_mxm_tuning();
    const auto bits_from = static_cast<unsigned>(std::clamp<std::size_t>(bit_words / tuning.bit_words_a_product,
                                                                         tuning.least_products_of_bits, most_sorted)) +
                           1;
    classify_rows<<<blocks_for(std::size_t{a.nrows} * 8, block_threads), block_threads, 0, stream_of(device)>>>(
        a, b, args_.classes, bits_from);
    cuda_check_launch("classify_rows");
    const Buffer<std::uint64_t> totals = totals_.to(Device{});
    products_ = totals[0];
    std::copy_n(reinterpret_cast<const unsigned*>(totals.data() + 1), num_lists, sizes_);
    space_ = BitRowSpace::of(cuda_limits(device_), b.ncols, std::max(sizes_[bits_list], 1U));
    if (space_.shared_bytes == 0 && sizes_[bits_list] != 0) {
      words_ = Buffer<std::uint32_t>(space_.blocks * space_.words_each(), 0U, device);
      space_.words = words_.data();
    }
  }

  [[nodiscard]] SparseRows run(bool counted);

 private:
  void move(const SparseRows& from, SparseRows& to) const;

  const Device& device_;
  Buffer<std::uint8_t> short_bound_;
  Buffer<NodeId> lists_;
  Buffer<EdgeOffset> slots_;
  Buffer<std::uint64_t> totals_;  ///< RowClasses::products, then RowClasses::sizes
  GatherArgs args_;
  std::uint64_t products_ = 0;
  unsigned sizes_[num_lists] = {};
  BitRowSpace space_;
  Buffer<std::uint32_t> words_;
};

SparseRows Gathering::run(bool counted) {
  SparseRows rows{Buffer<EdgeOffset>(std::size_t{args_.a.nrows} + 1, EdgeOffset{0}, device_), {}, {}};
  const bool with_slots = products_ <= cuda_mxm_tuning().most_slots;
  SparseRows repeated{{}, Buffer<NodeId>(with_slots ? products_ : 0, device_), {}};
  if (counted) repeated.counts = Buffer<std::uint32_t>(repeated.col_ind.size(), device_);
  GatherArgs args = args_;
  args.sizes = rows.row_ptr.data();
  args.at = slots_.data();
  args.col_ind = repeated.col_ind.data();
  args.counts = counted ? repeated.counts.data() : nullptr;
  if (with_slots) {
    launch_sorted<true>(device_, args, sizes_);
  } else {
    launch_sorted<false>(device_, args, sizes_);
  }
  launch_bits<false>(device_, args, space_, sizes_[bits_list]);
  rows.col_ind = Buffer<NodeId>(scan_sizes(device_, rows.row_ptr), device_);
  if (counted) rows.counts = Buffer<std::uint32_t>(rows.col_ind.size(), device_);
  args.sizes = nullptr;
  args.at = rows.row_ptr.data();
  args.col_ind = rows.col_ind.data();
  args.counts = counted ? rows.counts.data() : nullptr;
  if (with_slots) {
    move(repeated, rows);
  } else {
    launch_sorted<true>(device_, args, sizes_);
  }
  launch_bits<true>(device_, args, space_, sizes_[bits_list]);
  return rows;
}

void Gathering::move(const SparseRows& from, SparseRows& to) const {
  const std::size_t lanes = std::size_t{args_.a.nrows} * 8;
  move_rows<<<blocks_for(lanes, block_threads), block_threads, 0, stream_of(device_)>>>(
      args_.a.nrows, args_.classes, to.row_ptr.data(), from.col_ind.data(), from.counts.data(), to.col_ind.data(),
      to.counts.data());
  cuda_check_launch("move_rows");
}

}  // namespace

EdgeOffset scan_sizes(const Device& device, Buffer<EdgeOffset>& sizes) {
  std::size_t bytes = 0;
  const cudaStream_t stream = stream_of(device);
  cuda_check(cub::DeviceScan::ExclusiveSum(nullptr, bytes, sizes.data(), sizes.data(), sizes.size(), stream),
             "ExclusiveSum");
  Buffer<std::uint8_t> temporary(bytes, device);
  cuda_check(cub::DeviceScan::ExclusiveSum(temporary.data(), bytes, sizes.data(), sizes.data(), sizes.size(), stream),
             "ExclusiveSum");
  EdgeOffset sum = 0;
  Device::copy(&sum, Device{}, sizes.data() + sizes.size() - 1, device, sizeof(sum));
  return sum;
}

SparseRows gathered_product(const Device& device, const CsrPatternView& a, const CsrPatternView& b,
                            const CsrPatternView& hidden, bool counted) {
  if (a.nrows == 0 || b.ncols == 0) {
    return {Buffer<EdgeOffset>(std::size_t{a.nrows} + 1, EdgeOffset{0}, device), Buffer<NodeId>(0, device),
            Buffer<std::uint32_t>(0, device)};
  }
  return Gathering(device, a, b, hidden).run(counted);
}

}  // namespace bitgraph::mxm_cuda
