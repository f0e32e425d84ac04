// SPDX-License-Identifier: Apache-2.0
// Prepares a graph for triangle counting on the device: the order by degree, the lists, and the bit rows of the hubs.
#include "graph/triangles/cuda.cuh"

#include <bitgraph/core/kernel.cuh>

#include <cub/device/device_radix_sort.cuh>

#include <algorithm>
#include <bit>
#include <string>

namespace bitgraph {

namespace {

constexpr unsigned block_threads = 256;
constexpr unsigned hub_degree = 128;              ///< fewer neighbours do not make a hub
constexpr NodeId always_hubs = NodeId{1} << 13U;  ///< bit rows of 8 MiB
constexpr NodeId most_hubs = NodeId{1} << 16U;    ///< of 512 MiB

__device__ NodeId thread_number() { return blockIdx.x * blockDim.x + threadIdx.x; }

__device__ bool has_loop(const CsrPatternView& a, NodeId v) {
  EdgeOffset low = a.row_ptr[v];
  for (EdgeOffset size = a.row_ptr[v + 1] - low; size != 0;) {
    const EdgeOffset half = size / 2;
    const NodeId there = a.col_ind[low + half];
    if (there == v) return true;
    low += there < v ? half + 1 : 0;
    size = there < v ? size - half - 1 : half;
  }
  return false;
}

__global__ void find_degrees(CsrPatternView a, unsigned* falling, NodeId* node, unsigned* num_others,
                             unsigned* num_hubs) {
  const NodeId v = thread_number();
  const EdgeOffset degree = v < a.nrows ? a.row_ptr[v + 1] - a.row_ptr[v] : 0;
  if (v < a.nrows) {
    num_others[v] = static_cast<unsigned>(degree - (has_loop(a, v) ? 1 : 0));
    falling[v] = ~static_cast<unsigned>(degree);
    node[v] = v;
  }
  const unsigned hubs = __ballot_sync(full_warp, degree >= hub_degree);
  if (threadIdx.x % 32 == 0 && hubs != 0) atomicAdd(num_hubs, __popc(hubs));
}

__global__ void find_ranks(NodeId n, const NodeId* node, NodeId* rank) {
  const NodeId v = thread_number();
  if (v < n) rank[node[v]] = v;
}

/// Every edge from its later node, as a key to sort by; a warp a row.
__global__ void write_keys(CsrPatternView a, const NodeId* rank, std::uint64_t* keys, unsigned long long* num_keys) {
  const auto v = static_cast<NodeId>((std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32);
  const unsigned lane = threadIdx.x % 32;
  if (v >= a.nrows) return;
  const NodeId own = rank[v];
  const EdgeOffset end = a.row_ptr[v + 1];
  for (EdgeOffset base = a.row_ptr[v]; base < end; base += 32) {
    const NodeId other = base + lane < end ? rank[a.col_ind[base + lane]] : own;
    const unsigned earlier = __ballot_sync(full_warp, other < own);
    if (earlier == 0) continue;
    unsigned long long at = 0;
    if (lane == 0) at = atomicAdd(num_keys, static_cast<unsigned long long>(__popc(earlier)));
    at = __shfl_sync(full_warp, at, 0) + __popc(earlier & ((1U << lane) - 1));
    if (other < own) keys[at] = std::uint64_t{own} << 32U | other;
  }
}

__global__ void split_keys(const std::uint64_t* keys, std::uint64_t num_keys, NodeId* neighbours) {
  const std::uint64_t e = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (e < num_keys) neighbours[e] = static_cast<NodeId>(keys[e]);
}

__device__ std::uint64_t first_key(const std::uint64_t* keys, std::uint64_t num_keys, NodeId node) {
  std::uint64_t low = 0;
  for (std::uint64_t size = num_keys; size != 0;) {
    const std::uint64_t half = size / 2;
    const bool before = keys[low + half] >> 32U < node;
    low += before ? half + 1 : 0;
    size = before ? size - half - 1 : half;
  }
  return low;
}

__global__ void find_places(NodeId n, const std::uint64_t* keys, std::uint64_t num_keys, std::uint64_t* place) {
  const NodeId v = thread_number();
  if (v >= n) return;
  const std::uint64_t first = first_key(keys, num_keys, v);
  place[v] = ListPlace::make(first, first_key(keys, num_keys, v + 1) - first).packed;
}

/// What every list has among the hubs, as words; the hubs' own words make their bit rows.
__global__ void write_words(TriangleLists lists, std::uint64_t* words, unsigned* num_words, unsigned* num_near,
                            std::uint32_t* bits) {
  const NodeId v = thread_number();
  if (v >= lists.num_nodes) return;
  const ListPlace place{lists.place[v]};
  const NodeId* list = lists.neighbours + place.first();
  std::uint64_t* out = words + place.first();
  std::uint32_t* row = bits + std::size_t{v} * lists.row_words;
  unsigned count = 0;
  unsigned near = 0;
  while (near < place.length() && list[near] < lists.num_hubs) {
    const NodeId word = list[near] / hub_word_bits;
    std::uint32_t in_word = 0;
    for (; near < place.length() && list[near] / hub_word_bits == word && list[near] < lists.num_hubs; ++near)
      in_word |= 1U << (list[near] % hub_word_bits);
    out[count++] = std::uint64_t{word} << 32U | in_word;
    if (v < lists.num_hubs) row[word] = in_word;
  }
  num_words[v] = count;
  num_near[v] = near;
}

/// Counts the tasks, or writes them where `hub_tasks` is not null.
__global__ void write_tasks(TriangleLists lists, TriangleTask* hub_tasks, TriangleTask* far_tasks, unsigned* counts) {
  const NodeId v = thread_number();
  if (v >= lists.num_nodes) return;
  const unsigned length = ListPlace{lists.place[v]}.length();
  if (length <= tiny_list) return;
  const unsigned near = lists.num_near[v];
  // The first neighbour has none before it.
  const unsigned hub = near < 2 ? 0 : (near - 1 + hub_task - 1) / hub_task;
  const unsigned far_begin = max(near, 1U);
  const unsigned far = length <= far_begin ? 0 : (length - far_begin + far_task - 1) / far_task;
  const unsigned hub_at = hub == 0 ? 0 : atomicAdd(&counts[0], hub);
  const unsigned far_at = far == 0 ? 0 : atomicAdd(&counts[1], far);
  if (hub_tasks == nullptr) return;
  for (unsigned i = 0; i < hub; ++i) hub_tasks[hub_at + i] = {v, 1 + i * hub_task};
  for (unsigned i = 0; i < far; ++i) far_tasks[far_at + i] = {v, far_begin + i * far_task};
}

}  // namespace

CudaTriangles::CudaTriangles(const Device& device, const CsrPatternView& a, EdgeOffset nvals)
    : device_(device), total_(1, device) {
  if (a.nrows >= NodeId{1} << 30U)
    fail(ErrorCode::not_possible,
         "triangles on a CUDA device: " + std::to_string(a.nrows) + " nodes, and fewer than 2^30 can be counted");
  const ScopedCudaDevice scope(device.index());
  lists_.num_nodes = a.nrows;
  if (a.nrows == 0) return;
  order_nodes(a);
  make_lists(a, nvals);
  make_bit_rows();
  make_tasks();
}

void CudaTriangles::order_nodes(const CsrPatternView& a) {
  const NodeId n = a.nrows;
  const cudaStream_t stream = stream_of(device_);
  Buffer<unsigned> falling(n, device_), sorted(n, device_), num_hubs(1, 0U, device_);
  Buffer<NodeId> node(n, device_), ordered(n, device_);
  num_others_ = Buffer<unsigned>(n, device_);
  find_degrees<<<blocks_for(n, block_threads), block_threads, 0, stream>>>(a, falling.data(), node.data(),
                                                                           num_others_.data(), num_hubs.data());
  cuda_check_launch("find_degrees");
  std::size_t temporary_bytes = 0;
  cuda_check(cub::DeviceRadixSort::SortPairs(nullptr, temporary_bytes, falling.data(), sorted.data(), node.data(),
                                             ordered.data(), n, 0, 32, stream),
             "SortPairs");
  Buffer<std::uint8_t> temporary(temporary_bytes, device_);
  cuda_check(cub::DeviceRadixSort::SortPairs(temporary.data(), temporary_bytes, falling.data(), sorted.data(),
                                             node.data(), ordered.data(), n, 0, 32, stream),
             "SortPairs");
  rank_ = Buffer<NodeId>(n, device_);
  find_ranks<<<blocks_for(n, block_threads), block_threads, 0, stream>>>(n, ordered.data(), rank_.data());
  cuda_check_launch("find_ranks");
  const NodeId hubs = num_hubs.to(Device{})[0];
  const NodeId wanted = std::clamp((hubs + 1023) / 1024 * 1024, always_hubs, most_hubs);
  lists_.num_hubs = std::min(n, wanted);
  lists_.row_words = (std::size_t{lists_.num_hubs} + hub_word_bits - 1) / hub_word_bits;
}

void CudaTriangles::make_lists(const CsrPatternView& a, EdgeOffset nvals) {
  const NodeId n = a.nrows;
  const cudaStream_t stream = stream_of(device_);
  Buffer<std::uint64_t> keys(nvals / 2 + 1, device_), sorted(nvals / 2 + 1, device_), found(1, 0U, device_);
  write_keys<<<blocks_for(std::size_t{n} * 32, block_threads), block_threads, 0, stream>>>(
      a, rank_.data(), keys.data(), reinterpret_cast<unsigned long long*>(found.data()));
  cuda_check_launch("write_keys");
  const std::uint64_t num_keys = found.to(Device{})[0];
  const int end_bit = 32 + std::bit_width(n);
  std::size_t temporary_bytes = 0;
  cuda_check(cub::DeviceRadixSort::SortKeys(nullptr, temporary_bytes, keys.data(), sorted.data(), num_keys, 0, end_bit,
                                            stream),
             "SortKeys");
  Buffer<std::uint8_t> temporary(temporary_bytes, device_);
  cuda_check(cub::DeviceRadixSort::SortKeys(temporary.data(), temporary_bytes, keys.data(), sorted.data(), num_keys, 0,
                                            end_bit, stream),
             "SortKeys");
  neighbours_ = Buffer<NodeId>(num_keys, device_);
  place_ = Buffer<std::uint64_t>(n, device_);
  split_keys<<<blocks_for(num_keys, block_threads), block_threads, 0, stream>>>(sorted.data(), num_keys,
                                                                                neighbours_.data());
  find_places<<<blocks_for(n, block_threads), block_threads, 0, stream>>>(n, sorted.data(), num_keys, place_.data());
  cuda_check_launch("find_places");
  lists_.neighbours = neighbours_.data();
  lists_.place = place_.data();
}

void CudaTriangles::make_bit_rows() {
  const NodeId n = lists_.num_nodes;
  bits_ = Buffer<std::uint32_t>(lists_.row_words * lists_.num_hubs, 0U, device_);
  words_ = Buffer<std::uint64_t>(neighbours_.size(), device_);
  num_words_ = Buffer<unsigned>(n, device_);
  num_near_ = Buffer<unsigned>(n, device_);
  write_words<<<blocks_for(n, block_threads), block_threads, 0, stream_of(device_)>>>(
      lists_, words_.data(), num_words_.data(), num_near_.data(), bits_.data());
  cuda_check_launch("write_words");
  lists_.words = words_.data();
  lists_.num_words = num_words_.data();
  lists_.num_near = num_near_.data();
  lists_.bits = bits_.data();
}

void CudaTriangles::make_tasks() {
  const NodeId n = lists_.num_nodes;
  const cudaStream_t stream = stream_of(device_);
  Buffer<unsigned> counts(2, 0U, device_);
  write_tasks<<<blocks_for(n, block_threads), block_threads, 0, stream>>>(lists_, nullptr, nullptr, counts.data());
  cuda_check_launch("write_tasks");
  const Buffer<unsigned> known = counts.to(Device{});
  hub_tasks_ = Buffer<TriangleTask>(known[0], device_);
  far_tasks_ = Buffer<TriangleTask>(known[1], device_);
  if (known[0] + known[1] == 0) return;
  counts.fill(0);
  write_tasks<<<blocks_for(n, block_threads), block_threads, 0, stream>>>(lists_, hub_tasks_.data(), far_tasks_.data(),
                                                                          counts.data());
  cuda_check_launch("write_tasks");
  lists_.hub_tasks = hub_tasks_.data();
  lists_.num_hub_tasks = known[0];
  lists_.far_tasks = far_tasks_.data();
  lists_.num_far_tasks = known[1];
}

const std::uint64_t* CudaTriangles::launch() {
  launch_triangles(device_, lists_, total_.data());
  return total_.data();
}

std::uint64_t CudaTriangles::count() {
  std::uint64_t count = 0;
  Device::copy(&count, Device{}, launch(), device_, sizeof(count));
  return count;
}

}  // namespace bitgraph
