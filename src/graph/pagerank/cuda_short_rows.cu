// SPDX-License-Identifier: Apache-2.0
// All iterations in one kernel, for graphs whose rows are all short. An iteration is then little work: launches and
// dependent loads would take most of the time. The columns are in a table of fixed width, and the blocks go from
// iteration to iteration together. Every block adds up the partial sums of all blocks in the same order.
#include "graph/pagerank/cuda_short_rows.cuh"

#include "core/cuda/cooperative.cuh"

#include <cooperative_groups.h>

namespace bitgraph::pagerank_cuda {

namespace {

constexpr unsigned threads = 512;
constexpr unsigned widths[] = {4, 8};

__global__ void fill_table(CsrPatternView in, unsigned width, NodeId* columns) {
  const std::size_t i = std::size_t{blockIdx.x} * threads + threadIdx.x;
  if (i >= std::size_t{in.nrows} * width) return;
  const EdgeOffset at = in.row_ptr[i / width] + i % width;
  columns[i] = at < in.row_ptr[i / width + 1] ? in.col_ind[at] : in.nrows;
}

/// The sum of a row's shares, all loads of it under way at a time.
template <int Width, class T>
__device__ T sum_of_row(const NodeId* columns, NodeId row, const T* share) {
  NodeId column[Width];
  for (int k = 0; k < Width; k += 4) {
    const uint4 four = __ldg(reinterpret_cast<const uint4*>(columns + std::size_t{row} * Width + k));
    column[k] = four.x;
    column[k + 1] = four.y;
    column[k + 2] = four.z;
    column[k + 3] = four.w;
  }
  T value[Width];
  for (int k = 0; k < Width; ++k) value[k] = share[column[k]];
  T sum = 0;
  for (int k = 0; k < Width; ++k) sum += value[k];
  return sum;
}

/// All blocks' sums, which every thread gets. A barrier of the grid.
__device__ Totals exchange(Totals mine, Totals* partial) {
  __shared__ Totals all;
  mine = block_sum<threads>(mine);
  if (threadIdx.x == 0) partial[blockIdx.x] = mine;
  cooperative_groups::this_grid().sync();
  mine = Totals{};
  for (unsigned b = threadIdx.x; b < gridDim.x; b += threads) {
    mine = mine + Totals{__ldcg(&partial[b].change), __ldcg(&partial[b].stranded), __ldcg(&partial[b].rank)};
  }
  mine = block_sum<threads>(mine);
  if (threadIdx.x == 0) all = mine;
  __syncthreads();
  return all;
}

template <int Width, class T>
__global__ void __launch_bounds__(threads, 3) iterate_short_rows(ShortRows<T> a) {
  const NodeId n = a.nodes.n;
  T* share = a.nodes.share;
  T* next_share = a.next_share;
  double stranded = a.totals->stranded;
  Totals all;
  int done = 0;
  for (bool goes_on = true; goes_on;) {
    const Step<T> take(a.nodes, a.damping, stranded);
    Totals mine;
    for (NodeId i = blockIdx.x * threads + threadIdx.x; i < n; i += gridDim.x * threads) {
      mine = mine + take(i, sum_of_row<Width>(a.columns, i, share), next_share);
    }
    all = exchange(mine, a.partial + done % 2 * gridDim.x);
    ++done;
    T* const read = share;
    share = next_share;
    next_share = read;
    stranded = all.stranded;
    goes_on = done < a.most_iterations && !(all.change <= a.tolerance);
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    *a.totals = all;
    *a.iterations = done;
  }
}

}  // namespace

unsigned width_of_short_rows(const CsrPatternView& in) {
  for (const unsigned width : widths) {
    if (in.longest_row <= width) return 2 * in.num_entries >= EdgeOffset{in.nrows} * width ? width : 0;
  }
  return 0;
}

void pack_short_rows(const Device& device, const CsrPatternView& in, unsigned width, NodeId* columns) {
  fill_table<<<blocks_for(std::size_t{in.nrows} * width, threads), threads, 0, stream_of(device)>>>(in, width, columns);
  cuda_check_launch("fill_table");
}

template <class T>
void launch_short_rows(const Device& device, const ShortRows<T>& args) {
  static_assert(std::size(widths) == 2);
  const std::size_t items = std::min(std::size_t{args.nodes.n}, std::size_t{most_blocks} * threads);
  const auto kernel = args.width == widths[0] ? iterate_short_rows<widths[0], T> : iterate_short_rows<widths[1], T>;
  launch_cooperative<threads>(device, kernel, items, args, "iterate_short_rows");
}

template void launch_short_rows(const Device&, const ShortRows<float>&);
template void launch_short_rows(const Device&, const ShortRows<double>&);

}  // namespace bitgraph::pagerank_cuda
