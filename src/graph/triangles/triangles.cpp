// SPDX-License-Identifier: Apache-2.0
#include "graph/triangles/triangles.hpp"

#include "core/thread_chunks.hpp"
#include "graph/packed_graph/pattern.hpp"
#include "graph/triangles/orient.hpp"
#ifdef BITGRAPH_WITH_CUDA
#include "graph/triangles/cuda.cuh"
#endif

#include <bitgraph/graph/triangles.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <variant>

namespace bitgraph {

namespace {

bool all_rows_short(const CsrPattern& a) {
  const auto row_ptr = a.row_ptr();
  std::atomic<bool> all_short{true};
  parallel_ranges(a.device(), a.nrows(), std::size_t{1} << 14, [&](Range rows) {
    bool is_short = true;
    for (std::size_t i = rows.begin; i < rows.end && is_short; ++i) is_short = row_ptr[i + 1] - row_ptr[i] <= short_row;
    if (!is_short) all_short = false;
  });
  return all_short;
}

/// Pairs of neighbours of a row, itself left out.
double pairs_of_neighbours(const CsrPattern& a, NodeId row) {
  const auto columns = a.row(row);
  const std::size_t loops = std::binary_search(columns.begin(), columns.end(), row) ? 1 : 0;
  const auto degree = static_cast<double>(columns.size() - loops);
  return degree * (degree - 1) / 2;
}

/// The averages, from coefficients on the host. Those are added up in the caller's order: the mean does not depend on
/// how the graph was packed, nor where.
void set_means(Clustering& result, const Buffer<double>& local, double pairs) {
  for (const double of_node : local) result.average += of_node;
  result.average = local.empty() ? 0 : result.average / static_cast<double>(local.size());
  result.transitivity = pairs == 0 ? 0 : 3 * static_cast<double>(result.triangles) / pairs;
}

}  // namespace

struct TriangleCounter::Plan {
  explicit Plan(const PackedGraph& packed) : graph(packed) {
    if (!graph.device().is_host()) {
      prepare_on_cuda();
      return;
    }
    const auto* csr = std::get_if<CsrPattern>(&graph.out());
    if (csr == nullptr) converted = unpack(std::get<BitTileMatrix>(graph.out()));
    if (!graph.symmetric()) converted = symmetrized(csr == nullptr ? converted : *csr);
    rows = csr != nullptr && graph.symmetric() ? csr : &converted;
    short_rows = all_rows_short(*rows);
    if (!short_rows) orient();
  }

#ifdef BITGRAPH_WITH_CUDA
  void prepare_on_cuda() {
    const Device& device = graph.device();
    const auto* csr = std::get_if<CsrPattern>(&graph.out());
    if (csr == nullptr || !graph.symmetric()) {
      converted = graph.symmetric() ? pattern_of(graph) : symmetrized(pattern_of(graph));
      csr = &converted;
    }
    on_cuda.emplace(device, csr->view(), csr->nvals());
    converted = CsrPattern();
    new_id = Buffer<NodeId>::copy_of(graph.new_id(), device);
  }

  std::optional<CudaTriangles> on_cuda;
  Buffer<NodeId> new_id;  // on the device

  std::uint64_t run(const Cuda&) { return on_cuda->count(); }
  void count_of_nodes(const Cuda&, Buffer<std::uint64_t>& counts) {
    on_cuda->count_of_nodes(new_id.data(), counts.data());
  }
  Clustering coefficients(const Cuda& backend, const Buffer<std::uint64_t>& counts) {
    Clustering result;
    result.local = Buffer<double>(counts.size(), backend.device);
    const TriangleTotals totals = on_cuda->coefficients(new_id.data(), counts.data(), result.local.data());
    result.triangles = totals.triangles;
    set_means(result, result.local.to(Device{}), static_cast<double>(totals.pairs));
    return result;
  }
#else
  void prepare_on_cuda() {}
#endif

  /// For the marks, which short rows do without.
  void orient() {
    oriented = short_rows || degrees_are_alike(rows->row_ptr()) ? orient_in_place(*rows) : orient_by_degree(*rows);
    const std::size_t n = rows->nrows();
    workspaces = num_workspaces(graph.device(), n, triangle_chunk);
    marks = Buffer<std::uint64_t>(workspaces * mark_words(n), std::uint64_t{0}, graph.device());
  }

  /// For the counts of nodes, which not everybody asks for.
  void prepare_nodes() {
    if (oriented.low.size() != rows->nrows()) orient();
    const std::size_t n = rows->nrows();
    if (of_nodes.size() == n) return;
    of_nodes = Buffer<std::uint64_t>(n, graph.device());
    own = Buffer<std::uint64_t>(workspaces * std::min(n, own_counters), std::uint64_t{0}, graph.device());
  }

  [[nodiscard]] OrientedView view() const {
    const bool in_place = oriented.row_of.empty();
    return {rows->nrows(),         in_place ? rows->row_ptr().data() : oriented.start.data(),
            oriented.low.data(),   in_place ? rows->col_ind().data() : oriented.cols.data(),
            oriented.num_bit_rows, oriented.bits.data()};
  }

  std::uint64_t run(const Reference& backend) { return triangles(backend, rows->view(), nullptr); }
  std::uint64_t run(const Cpu& backend) {
    return short_rows ? triangles_of_short_rows(backend, rows->view()) : triangles(backend, view(), marks.data());
  }

  void run_nodes(const Reference& backend) { triangles(backend, rows->view(), of_nodes.data()); }
  void run_nodes(const Cpu& backend) { triangles_of_nodes(backend, view(), marks.data(), own.data(), of_nodes.data()); }

  template <class Backend>
  void count_of_nodes(const Backend& backend, Buffer<std::uint64_t>& counts) {
    prepare_nodes();
    of_nodes.fill(0);
    run_nodes(backend);
    for (NodeId i = 0; i < counts.size(); ++i) counts[node_of(i, std::is_same_v<Backend, Reference>)] = of_nodes[i];
  }

  template <class Backend>
  Clustering coefficients(const Backend&, const Buffer<std::uint64_t>& counts) {
    Clustering result;
    result.local = Buffer<double>(counts.size());
    double pairs = 0;
    for (NodeId row = 0; row < counts.size(); ++row) {
      const double of_row = pairs_of_neighbours(*rows, row);
      const NodeId node = graph.node_of(row);
      result.local[node] = of_row == 0 ? 0 : static_cast<double>(counts[node]) / of_row;
      result.triangles += counts[node];
      pairs += of_row;
    }
    result.triangles /= 3;
    set_means(result, result.local, pairs);
    return result;
  }

  /// The caller's number of a node that was counted.
  [[nodiscard]] NodeId node_of(NodeId counted, bool in_order_of_rows) const {
    const bool in_place = in_order_of_rows || oriented.row_of.empty();
    return graph.node_of(in_place ? counted : oriented.row_of[counted]);
  }

  const PackedGraph& graph;
  CsrPattern converted;  // of tiles, or where the graph is not symmetric
  const CsrPattern* rows = nullptr;
  bool short_rows = false;
  Oriented oriented;
  std::size_t workspaces = 0;
  Buffer<std::uint64_t> marks, own, of_nodes;
};

TriangleCounter::TriangleCounter(const PackedGraph& graph) : plan_(std::make_unique<Plan>(graph)) {}
TriangleCounter::~TriangleCounter() = default;
TriangleCounter::TriangleCounter(TriangleCounter&&) noexcept = default;

std::uint64_t TriangleCounter::count() {
  return with_backend(plan_->graph.device(), "triangle counting",
                      [&](const auto& backend) { return plan_->run(backend); });
}

void TriangleCounter::count_of_nodes(Buffer<std::uint64_t>& counts) {
  const PackedGraph& graph = plan_->graph;
  const NodeId n = graph.num_nodes();
  if (counts.size() != n) fail(ErrorCode::usage, fmt::format("triangles: {} counters for {} nodes", counts.size(), n));
  if (n != 0) require_same_stream("triangles", "the counters", counts.device(), "the graph", graph.device());
  with_backend(graph.device(), "counting the triangles of each node",
               [&](const auto& backend) { plan_->count_of_nodes(backend, counts); });
}

std::uint64_t count_triangles(const PackedGraph& graph) { return TriangleCounter(graph).count(); }

Buffer<std::uint64_t> triangles_of_nodes(const PackedGraph& graph) {
  Buffer<std::uint64_t> counts(graph.num_nodes(), graph.device());
  TriangleCounter(graph).count_of_nodes(counts);
  return counts;
}

Clustering clustering(const PackedGraph& graph) {
  TriangleCounter counter(graph);
  Buffer<std::uint64_t> counts(graph.num_nodes(), graph.device());
  counter.count_of_nodes(counts);
  return with_backend(graph.device(), "clustering coefficients",
                      [&](const auto& backend) { return counter.plan_->coefficients(backend, counts); });
}

}  // namespace bitgraph
