// SPDX-License-Identifier: Apache-2.0
// The bounds of the diameter on a CUDA device. After each search, one pass over the nodes tightens the bounds and
// finds the nodes that the host can search from next.
#include "graph/diameter/diameter.hpp"

#include <bitgraph/core/kernel.cuh>

#include "graph/packed_graph/pattern.hpp"

#include <bitgraph/graph/bfs.hpp>
#include <bitgraph/graph/components.hpp>
#include <bitgraph/graph/diameter.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace bitgraph {

/// What a search tells of the nodes that it reached. Zeros but for the second and the third, which are all ones before.
struct DiameterStep {
  std::uint64_t widest;     ///< of the open nodes: the largest upper bound, and the inverse of the first such node
  std::uint64_t narrowest;  ///< the smallest lower bound, and the first such node
  std::uint64_t farthest;   ///< the first node that is farthest from the source
};

/// The searches over one graph, as diameter.cpp has them: the bounds stay on the device, the host decides.
class CudaDiameter {
 public:
  /// `graph` must outlive this: symmetric, pattern CSR, with a node at least.
  explicit CudaDiameter(const PackedGraph& graph);

  /// Once.
  [[nodiscard]] Diameter run(const DiameterOptions& options);

 private:
  /// A component: its first node, and how many there are.
  struct Part {
    NodeId first = 0;
    NodeId size = 0;
  };

  void find_parts();
  void close(const Part& part, const DiameterOptions& options);
  DiameterStep search_from(NodeId source, bool eccentricities);

  Device device_;
  const PackedGraph& graph_;
  BreadthFirstSearch search_;
  std::vector<Part> parts_;  ///< of two nodes at least, the largest first
  Buffer<std::int32_t> lower_, upper_;
  Buffer<std::uint64_t> step_;
  std::int32_t rest_ = 0;  ///< upper bound of what was not closed
  Diameter result_;
};

namespace {

constexpr unsigned block_threads = 256;
constexpr unsigned bound_blocks = 512;

/// Adds every node to the count of its label: a whole warp of one label at once, as in a component of most nodes.
__global__ void count_labels(NodeId n, const NodeId* label, NodeId* size) {
  const NodeId v = blockIdx.x * block_threads + threadIdx.x;
  const unsigned lane = threadIdx.x % 32;
  const bool takes_part = v < n;
  const NodeId own = takes_part ? label[v] : 0;
  const unsigned here = __ballot_sync(full_warp, takes_part);
  if (here == 0) return;
  const NodeId first = __shfl_sync(full_warp, own, 0);
  const unsigned alike = __ballot_sync(full_warp, takes_part && own == first);
  if (lane == 0) atomicAdd(size + first, static_cast<NodeId>(__popc(alike)));
  if (takes_part && own != first) atomicAdd(size + own, NodeId{1});
}

/// No node of a component is farther from another than the component has other nodes.
__global__ void begin_bounds(NodeId n, const NodeId* label, const NodeId* size, std::int32_t* lower,
                             std::int32_t* upper) {
  const NodeId v = blockIdx.x * block_threads + threadIdx.x;
  if (v >= n) return;
  lower[v] = 0;
  upper[v] = static_cast<std::int32_t>(size[label[v]] - 1);
}

struct BoundArgs {
  NodeId n;
  const std::int32_t* level;  ///< -1 where the source's component is not
  NodeId source;
  std::int32_t eccentricity;    ///< of the source
  std::int32_t longest;         ///< known now
  bool eccentricities = false;  ///< a node is open until its bounds meet
  std::int32_t* lower;
  std::int32_t* upper;
  DiameterStep* step;
};

__global__ void __launch_bounds__(block_threads) tighten_bounds(BoundArgs a) {
  unsigned long long widest = 0;
  unsigned long long narrowest = ~0ULL;
  unsigned long long farthest = ~0ULL;
  for (NodeId v = blockIdx.x * block_threads + threadIdx.x; v < a.n; v += gridDim.x * block_threads) {
    const std::int32_t level = a.level[v];
    if (level < 0) continue;
    std::int32_t lower = max(a.lower[v], max(level, a.eccentricity - level));
    std::int32_t upper = min(a.upper[v], a.eccentricity + level);
    if (v == a.source) lower = upper = a.eccentricity;
    a.lower[v] = lower;
    a.upper[v] = upper;
    if (level == a.eccentricity) farthest = min(farthest, static_cast<unsigned long long>(v));
    if (a.eccentricities ? lower == upper : upper <= a.longest) continue;
    widest = max(widest, static_cast<unsigned long long>(upper) << 32U | ~v);
    narrowest = min(narrowest, static_cast<unsigned long long>(lower) << 32U | v);
  }
  for (unsigned step = 16; step != 0; step /= 2) {
    widest = max(widest, __shfl_xor_sync(full_warp, widest, step));
    narrowest = min(narrowest, __shfl_xor_sync(full_warp, narrowest, step));
    farthest = min(farthest, __shfl_xor_sync(full_warp, farthest, step));
  }
  if (threadIdx.x % 32 != 0) return;
  const auto of_all = [](std::uint64_t* value) { return reinterpret_cast<unsigned long long*>(value); };
  if (widest != 0) atomicMax(of_all(&a.step->widest), widest);
  if (narrowest != ~0ULL) atomicMin(of_all(&a.step->narrowest), narrowest);
  if (farthest != ~0ULL) atomicMin(of_all(&a.step->farthest), farthest);
}

std::int32_t bound_of(std::uint64_t key) { return static_cast<std::int32_t>(key >> 32U); }

}  // namespace

CudaDiameter::CudaDiameter(const PackedGraph& graph)
    : device_(graph.device()),
      graph_(graph),
      search_(graph),
      lower_(graph.num_nodes(), device_),
      upper_(graph.num_nodes(), device_),
      step_(sizeof(DiameterStep) / sizeof(std::uint64_t), device_) {
  find_parts();
}

void CudaDiameter::find_parts() {
  const NodeId n = graph_.num_nodes();
  const Components components = connected_components(graph_);
  Buffer<NodeId> size(n, NodeId{0}, device_);
  const ScopedCudaDevice scope(device_.index());
  const cudaStream_t stream = stream_of(device_);
  const unsigned blocks = blocks_for(n, block_threads);
  count_labels<<<blocks, block_threads, 0, stream>>>(n, components.label.data(), size.data());
  cuda_check_launch("count_labels");
  begin_bounds<<<blocks, block_threads, 0, stream>>>(n, components.label.data(), size.data(), lower_.data(),
                                                     upper_.data());
  cuda_check_launch("begin_bounds");
  const Buffer<NodeId> sizes = size.to(Device{});
  for (NodeId label = 0; label < n; ++label) {
    if (sizes[label] > 1) parts_.push_back({label, sizes[label]});
  }
  std::stable_sort(parts_.begin(), parts_.end(), [](const Part& a, const Part& b) { return a.size > b.size; });
}

Diameter CudaDiameter::run(const DiameterOptions& options) {
  for (const Part& part : parts_) {
    if (static_cast<std::int32_t>(part.size - 1) > result_.lower || options.eccentricities) close(part, options);
  }
  result_.upper = std::max(result_.lower, rest_);
  if (options.eccentricities) {
    result_.eccentricity_lower = std::move(lower_);
    result_.eccentricity_upper = std::move(upper_);
  }
  return std::move(result_);
}

void CudaDiameter::close(const Part& part, const DiameterOptions& options) {
  NodeId next = part.first;
  auto most = static_cast<std::int32_t>(part.size - 1);  // the largest upper bound of an open node
  for (bool widest = true;; widest = !widest) {
    if (options.max_searches != 0 && result_.searches >= options.max_searches) {
      rest_ = std::max(rest_, most);
      return;
    }
    const DiameterStep found = search_from(next, options.eccentricities);
    if (found.widest == 0) return;
    most = bound_of(found.widest);
    next = static_cast<NodeId>(widest ? ~found.widest : found.narrowest);
  }
}

DiameterStep CudaDiameter::search_from(NodeId source, bool eccentricities) {
  const BfsResult& reached = search_.run({.source = source});
  ++result_.searches;
  const std::int32_t eccentricity = reached.num_levels - 1;
  const DiameterStep nothing{0, ~std::uint64_t{0}, ~std::uint64_t{0}};
  Device::copy(step_.data(), device_, &nothing, Device{}, sizeof(nothing));
  const NodeId n = graph_.num_nodes();
  const ScopedCudaDevice scope(device_.index());
  const BoundArgs args{.n = n,
                       .level = reached.level.data(),
                       .source = source,
                       .eccentricity = eccentricity,
                       .longest = std::max(result_.lower, eccentricity),
                       .eccentricities = eccentricities,
                       .lower = lower_.data(),
                       .upper = upper_.data(),
                       .step = reinterpret_cast<DiameterStep*>(step_.data())};
  tighten_bounds<<<std::min(bound_blocks, blocks_for(n, block_threads)), block_threads, 0, stream_of(device_)>>>(args);
  cuda_check_launch("tighten_bounds");
  DiameterStep found{};
  Device::copy(&found, Device{}, step_.data(), device_, sizeof(found));
  if (eccentricity > result_.lower) {
    result_.lower = eccentricity;
    result_.from = source;
    result_.to = static_cast<NodeId>(found.farthest);
  }
  return found;
}

/// The searches take a symmetric pattern CSR. Another graph is packed anew, in the numbering that the host searches it
/// in, so that ties are broken alike.
Diameter find_diameter(const Cuda&, const PackedGraph& graph, const DiameterOptions& options) {
  if (graph.symmetric() && graph.tile_dim() == csr_tile) return CudaDiameter(graph).run(options);
  CsrPattern pattern = pattern_of(graph);
  if (!graph.symmetric()) {
    pattern = symmetrized(pattern);
  } else if (!graph.old_id().empty()) {
    pattern = permuted(pattern, graph.old_id());
  }
  const PackedGraph both = pack_graph(pattern, {.tile_dim = csr_tile}, graph.device());
  Diameter found = CudaDiameter(both).run(options);
  if (!graph.symmetric()) renumber(graph, found);
  return found;
}

}  // namespace bitgraph
