// SPDX-License-Identifier: Apache-2.0
#include "nn/sampling/cuda/sample.hpp"

#include <bitgraph/core/kernel.cuh>
#include <bitgraph/formats/views.hpp>

#include "formats/cuda/csr_chunks.cuh"
#include "formats/cuda/keys.cuh"
#include "formats/pattern/csr_chunks.hpp"
#include "nn/sampling/cuda/row_draws.cuh"
#include "nn/sampling/draws.hpp"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include <algorithm>

namespace bitgraph::nn::cuda_sampling {

namespace {

constexpr unsigned block_threads = 256;
constexpr unsigned most_blocks = 1024;  ///< all kernels go on in steps of their grid: few batches are the largest
constexpr NodeId no_place = 0xFFFFFFFFU;

/// This thread among all of the launch, and how many there are.
__device__ std::size_t first_item() { return std::size_t{blockIdx.x} * block_threads + threadIdx.x; }
__device__ std::size_t item_step() { return std::size_t{gridDim.x} * block_threads; }

__global__ void __launch_bounds__(block_threads)
    take_targets(SampledGraph graph, BatchArrays batch, NodeId* place, unsigned num_hops) {
  const BatchRequest request = *batch.request;
  for (std::size_t h = first_item(); h < num_hops; h += item_step()) {
    HopSizes sizes;
    if (h == 0) sizes.rows = request.count;
    batch.sizes[h] = sizes;
  }
  for (std::size_t i = first_item(); i < request.count; i += item_step()) {
    const NodeId node = graph.order[request.begin + i];
    batch.nodes[i] = node;
    batch.labels[i] = graph.labels[node];
    place[node] = static_cast<NodeId>(i);
  }
}

/// lengths[i]: how many neighbours row i draws; 0 behind the last row.
__global__ void __launch_bounds__(block_threads)
    count_draws(SampledGraph graph, BatchArrays batch, HopArgs hop, unsigned h, EdgeOffset* lengths) {
  const std::size_t rows = batch.sizes[h].rows;
  for (std::size_t i = first_item(); i <= hop.most_rows; i += item_step()) {
    EdgeOffset length = 0;
    if (i < rows) {
      const NodeId node = batch.nodes[i];
      length = min(graph.row_ptr[node + std::size_t{1}] - graph.row_ptr[node], EdgeOffset{hop.fan_out});
    }
    lengths[i] = length;
  }
}

/// Marks a node that has no place yet.
__device__ void mark(const SampleScratch& scratch, NodeId node) {
  if (scratch.place[node] != no_place) return;
  std::uint32_t* const word = scratch.marks + node / 32;
  const std::uint32_t bit = 1U << (node % 32);
  if ((__ldcg(word) & bit) == 0) atomicOr(word, bit);
}

/// Writes the neighbours that each row draws, and marks those that are new. Of a layer whose rows take themselves in,
/// the lengths of the rows go to the pattern's pointers.
__global__ void __launch_bounds__(block_threads)
    draw_rows(SampledGraph graph, BatchArrays batch, HopArgs hop, unsigned h, SampleScratch scratch) {
  const std::uint64_t seed = batch.request->seed;
  const std::size_t rows = batch.sizes[h].rows;
  for (std::size_t i = first_item() / 32; i < rows; i += item_step() / 32) {
    const NodeId node = batch.nodes[i];
    const EdgeOffset begin = graph.row_ptr[node], to = scratch.drawn_ptr[i];
    const RowDraws row{seed, h, node, static_cast<NodeId>(graph.row_ptr[node + std::size_t{1}] - begin),
                       static_cast<NodeId>(scratch.drawn_ptr[i + 1] - to)};
    bool has_own = false;
    const auto take = [&](NodeId at, NodeId n) {
      const NodeId neighbor = graph.col_ind[begin + n];
      has_own = has_own || neighbor == node;
      scratch.drawn[to + at] = neighbor;
      mark(scratch, neighbor);
    };
    if (row.taken == row.degree) {
      for (NodeId n = threadIdx.x % 32; n < row.degree; n += 32) take(n, n);
    } else if (row.taken <= few_draws) {
      choose_few(row, take);
    } else {
      choose_many(row, take);
    }
    if (!hop.loops) continue;
    has_own = __any_sync(full_warp, has_own);
    if (threadIdx.x % 32 == 0) hop.pattern.row_ptr[i] = row.taken + (has_own ? 0U : 1U);
  }
  if (!hop.loops) return;
  for (std::size_t i = rows + first_item(); i <= hop.most_rows; i += item_step()) hop.pattern.row_ptr[i] = 0;
}

__global__ void __launch_bounds__(block_threads) count_fresh(std::size_t words, SampleScratch scratch) {
  for (std::size_t w = first_item(); w <= words; w += item_step())
    scratch.fresh_before[w] = w < words ? static_cast<NodeId>(__popc(scratch.marks[w])) : 0;
}

/// Appends the marked nodes by rising id and gives them their places; no mark is left. Says how large the hop is.
__global__ void __launch_bounds__(block_threads)
    append_fresh(std::size_t words, BatchArrays batch, HopArgs hop, unsigned h, bool last, SampleScratch scratch) {
  const NodeId rows = batch.sizes[h].rows;
  for (std::size_t w = first_item(); w < words; w += item_step()) {
    NodeId at = rows + scratch.fresh_before[w];
    std::uint32_t left = scratch.marks[w];
    if (left != 0) scratch.marks[w] = 0;
    for (; left != 0; left &= left - 1) {
      const auto node = static_cast<NodeId>(w * 32 + (__ffs(static_cast<int>(left)) - 1));
      batch.nodes[at] = node;
      scratch.place[node] = at++;
    }
  }
  if (first_item() != 0) return;
  const NodeId inputs = rows + scratch.fresh_before[words];
  batch.sizes[h].inputs = inputs;
  batch.sizes[h].entries = static_cast<std::uint32_t>(hop.pattern.row_ptr[hop.most_rows]);
  if (!last) batch.sizes[h + 1].rows = inputs;
}

/// Turns the neighbours of each row into columns, with the row itself where it is missing. Rows are sorted where all
/// that there may be have at most most_sorted_by_warp entries. Behind the last entry comes what a sort leaves behind.
__global__ void __launch_bounds__(block_threads)
    renumber_rows(BatchArrays batch, HopArgs hop, unsigned h, NodeId* columns, SampleScratch scratch) {
  const std::size_t rows = batch.sizes[h].rows;
  const unsigned lane = threadIdx.x % 32;
  for (std::size_t i = first_item() / 32; i < rows; i += item_step() / 32) {
    const EdgeOffset begin = hop.pattern.row_ptr[i], from = scratch.drawn_ptr[i];
    const auto length = static_cast<NodeId>(hop.pattern.row_ptr[i + 1] - begin);
    const auto drawn = static_cast<NodeId>(scratch.drawn_ptr[i + 1] - from);
    const auto number = [&](NodeId at) {
      if (at >= length) return no_place;
      return at < drawn ? scratch.place[scratch.drawn[from + at]] : static_cast<NodeId>(i);
    };
    const auto put = [&](NodeId at, NodeId column) {
      columns[begin + at] = column;
      scratch.rows_of_entries[begin + at] = static_cast<NodeId>(i);
    };
    if (hop.longest_row > most_sorted_by_warp) {
      for (NodeId at = lane; at < length; at += 32) put(at, number(at));
      continue;
    }
    NodeId low = number(lane), high = number(lane + 32);
    sort_row(low, high, length > 32);
    if (lane < length) put(lane, low);
    if (lane + 32 < length) put(lane + 32, high);
  }
  for (std::size_t e = batch.sizes[h].entries + first_item(); e < hop.most_entries; e += item_step()) {
    columns[e] = hop.most_inputs;
    scratch.rows_of_entries[e] = hop.most_rows;
  }
}

/// Where each column begins among the sorted entries.
__global__ void __launch_bounds__(block_threads)
    find_columns(const HopSizes* sizes, EdgeOffset* row_ptr, const NodeId* sorted_columns) {
  const std::size_t inputs = sizes->inputs;
  const std::uint32_t entries = sizes->entries;
  for (std::size_t j = first_item(); j <= inputs; j += item_step()) {
    std::uint32_t low = 0, high = entries;
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      if (sorted_columns[middle] < j) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    row_ptr[j] = low;
  }
}

/// As fill_scales (nn/sampling/training_batch.cpp), operation by operation.
__device__ void scale_row(const SampledGraph& graph, const BatchArrays& batch, const HopArgs& hop, std::size_t i,
                          EdgeOffset entries) {
  const float vote = entries == 0 ? 0.0F : 1.0F / static_cast<float>(entries);
  float scale = vote;
  if (hop.sums) {
    const NodeId node = batch.nodes[i];
    const auto degree = static_cast<float>(graph.row_ptr[node + std::size_t{1}] - graph.row_ptr[node]);
    scale = drawn_sum_scale(hop.factor, degree + (hop.loops ? 1.0F : 0.0F), vote);
  }
  hop.vote_scale[i] = vote;
  hop.row_scale[i] = scale;
}

/// Chunks and the longest row: of the pattern, which has scales besides, and in the grid's second row of its transpose.
__global__ void __launch_bounds__(block_threads)
    describe_rows(SampledGraph graph, BatchArrays batch, HopArgs hop, unsigned h) {
  const bool of_pattern = blockIdx.y == 0;
  HopSizes& sizes = batch.sizes[h];
  const PatternArrays pattern = of_pattern ? hop.pattern : hop.transposed;
  const NodeId nrows = of_pattern ? sizes.rows : sizes.inputs;
  const EdgeOffset nvals = sizes.entries;
  const std::size_t bounds = csr_chunk_bounds(nrows, nvals);
  for (std::size_t c = first_item(); c < bounds; c += item_step())
    pattern.chunk_row[c] = cuda_formats::csr_chunk_row(c, nrows, nvals, pattern.row_ptr);
  unsigned longest = 0;
  for (std::size_t i = first_item(); i < nrows; i += item_step()) {
    const EdgeOffset entries = pattern.row_ptr[i + 1] - pattern.row_ptr[i];
    longest = max(longest, static_cast<unsigned>(entries));
    if (of_pattern) scale_row(graph, batch, hop, i, entries);
  }
  longest = __reduce_max_sync(full_warp, longest);
  if (threadIdx.x % 32 == 0 && longest != 0)
    atomicMax(of_pattern ? &sizes.longest_row : &sizes.longest_column, longest);
}

__global__ void __launch_bounds__(block_threads) forget_places(BatchArrays batch, unsigned last_hop, NodeId* place) {
  const std::size_t inputs = batch.sizes[last_hop].inputs;
  for (std::size_t i = first_item(); i < inputs; i += item_step()) place[batch.nodes[i]] = no_place;
}

unsigned blocks_of(std::size_t threads) { return std::min(blocks_for(threads, block_threads), most_blocks); }

/// Values become the sums of those before them.
template <class T>
cudaError_t scan(void* library, std::size_t& bytes, T* values, std::size_t size, cudaStream_t stream) {
  return cub::DeviceScan::ExclusiveSum(library, bytes, values, values, static_cast<int>(size), stream);
}

/// Sorts by keys of at most `largest`; equal ones keep their order.
cudaError_t sort(void* library, std::size_t& bytes, const NodeId* keys, NodeId* sorted_keys, const NodeId* values,
                 NodeId* sorted_values, std::size_t size, std::uint32_t largest, cudaStream_t stream) {
  return cub::DeviceRadixSort::SortPairs(library, bytes, keys, sorted_keys, values, sorted_values,
                                         static_cast<int>(size), 0, cuda_formats::bits_for(std::uint64_t{largest} + 1),
                                         stream);
}

/// The hops of one call.
class Hops {
 public:
  Hops(const Cuda& backend, const SampleArgs& args) : args_(args), stream_(stream_of(backend.device)) {}

  void draw(unsigned h) {
    HopArgs hop = args_.hops[h];
    SampleScratch scratch = args_.scratch;
    if (!hop.loops) scratch.drawn_ptr = hop.pattern.row_ptr;  // all entries are drawn
    const std::size_t row_threads = std::size_t{hop.most_rows} * 32;
    count_draws<<<blocks_of(hop.most_rows + std::size_t{1}), block_threads, 0, stream_>>>(args_.graph, args_.batch, hop,
                                                                                          h, scratch.drawn_ptr);
    cuda_check_launch("count_draws");
    scan_in_place(scratch.drawn_ptr, hop.most_rows + std::size_t{1});
    draw_rows<<<blocks_of(row_threads), block_threads, 0, stream_>>>(args_.graph, args_.batch, hop, h, scratch);
    cuda_check_launch("draw_rows");
    if (hop.loops) scan_in_place(hop.pattern.row_ptr, hop.most_rows + std::size_t{1});
    number_fresh(hop, h, scratch);
    const bool long_rows = hop.longest_row > most_sorted_by_warp;
    NodeId* const columns = long_rows ? scratch.numbered : hop.pattern.col_ind;
    renumber_rows<<<blocks_of(std::max<std::size_t>(row_threads, hop.most_entries)), block_threads, 0, stream_>>>(
        args_.batch, hop, h, columns, scratch);
    cuda_check_launch("renumber_rows");
    sort_entries(hop, columns, long_rows);
    find_columns<<<blocks_of(hop.most_inputs + std::size_t{1}), block_threads, 0, stream_>>>(
        args_.batch.sizes + h, hop.transposed.row_ptr, scratch.sorted_columns);
    cuda_check_launch("find_columns");
    describe_rows<<<dim3(blocks_of(hop.most_inputs), 2), block_threads, 0, stream_>>>(args_.graph, args_.batch, hop, h);
    cuda_check_launch("describe_rows");
  }

 private:
  void number_fresh(const HopArgs& hop, unsigned h, const SampleScratch& scratch) {
    const std::size_t words = mark_words(args_.graph.num_nodes);
    count_fresh<<<blocks_of(words + 1), block_threads, 0, stream_>>>(words, scratch);
    cuda_check_launch("count_fresh");
    scan_in_place(scratch.fresh_before, words + 1);
    const bool last = h + 1 == args_.hops.size();
    append_fresh<<<blocks_of(words), block_threads, 0, stream_>>>(words, args_.batch, hop, h, last, scratch);
    cuda_check_launch("append_fresh");
  }

  /// By column: within one, rows rise as they did before. Then back by row where rows have not been sorted.
  void sort_entries(const HopArgs& hop, const NodeId* columns, bool long_rows) {
    if (hop.most_entries == 0) return;
    const SampleScratch& s = args_.scratch;
    std::size_t bytes = s.library_bytes;
    cuda_check(sort(s.library, bytes, columns, s.sorted_columns, s.rows_of_entries, hop.transposed.col_ind,
                    hop.most_entries, hop.most_inputs, stream_),
               "a sort");
    if (!long_rows) return;
    cuda_check(sort(s.library, bytes, hop.transposed.col_ind, s.sorted_rows, s.sorted_columns, hop.pattern.col_ind,
                    hop.most_entries, hop.most_rows, stream_),
               "a sort");
  }

  template <class T>
  void scan_in_place(T* values, std::size_t size) {
    std::size_t bytes = args_.scratch.library_bytes;
    cuda_check(scan(args_.scratch.library, bytes, values, size, stream_), "a scan");
  }

  const SampleArgs& args_;
  cudaStream_t stream_;
};

}  // namespace

std::size_t library_bytes(const Cuda& backend, NodeId num_nodes, std::span<const HopArgs> hops) {
  const ScopedCudaDevice scope(backend.device.index());
  std::size_t most = 1;
  const auto count = [&](auto&& ask) {
    std::size_t bytes = 0;
    cuda_check(ask(bytes), "the memory of a scan or sort");
    most = std::max(most, bytes);
  };
  count([&](std::size_t& bytes) { return scan<NodeId>(nullptr, bytes, nullptr, mark_words(num_nodes) + 1, nullptr); });
  for (const HopArgs& hop : hops) {
    count([&](std::size_t& bytes) {
      return scan<EdgeOffset>(nullptr, bytes, nullptr, hop.most_rows + std::size_t{1}, nullptr);
    });
    if (hop.most_entries == 0) continue;
    for (const std::uint32_t largest : {hop.most_inputs, hop.most_rows}) {
      count([&](std::size_t& bytes) {
        return sort(nullptr, bytes, nullptr, nullptr, nullptr, nullptr, hop.most_entries, largest, nullptr);
      });
    }
  }
  return most;
}

void draw_sample(const Cuda& backend, const SampleArgs& args) {
  const ScopedCudaDevice scope(backend.device.index());
  cudaStream_t stream = stream_of(backend.device);
  const BatchArrays& batch = args.batch;
  const auto num_hops = static_cast<unsigned>(args.hops.size());
  cuda_check(cudaMemcpyAsync(const_cast<BatchRequest*>(batch.request), args.request_here, sizeof(BatchRequest),
                             cudaMemcpyHostToDevice, stream),
             "cudaMemcpyAsync");
  take_targets<<<blocks_of(batch.most_targets), block_threads, 0, stream>>>(args.graph, batch, args.scratch.place,
                                                                            num_hops);
  cuda_check_launch("take_targets");
  Hops hops(backend, args);
  for (unsigned h = 0; h < num_hops; ++h) hops.draw(h);
  forget_places<<<blocks_of(args.hops.back().most_inputs), block_threads, 0, stream>>>(batch, num_hops - 1,
                                                                                       args.scratch.place);
  cuda_check_launch("forget_places");
  cuda_check(cudaMemcpyAsync(args.sizes_here, batch.sizes, num_hops * sizeof(HopSizes), cudaMemcpyDeviceToHost, stream),
             "cudaMemcpyAsync");
}

}  // namespace bitgraph::nn::cuda_sampling
