// SPDX-License-Identifier: Apache-2.0
// Triangle counting and clustering coefficients (Watts and Strogatz 1998; transitivity: Newman 2003).
//
// The idea. The nodes have an order. A triangle u > v > w is counted once, at u: it is a node that the lists of u and
// of its neighbour v share, where a list holds only the earlier neighbours of a node.
//
// Encoding. The kernels read pattern CSR: tiles are unpacked, and a directed graph is made symmetric. OrientedView
// holds the lists. The first nodes of the order also have bit rows, with a bit for each earlier node. A thread marks
// the list of u in a bit vector of its own.
//
// Methods on the host. HostTriangles chooses once for each graph.
//   short rows     If no row is longer than short_row, whole rows are compared in registers, without marks.
//   in place       If the degrees are alike (degrees_are_alike), the order of the rows serves, and nothing is copied.
//   degree order   Otherwise the nodes are sorted by falling degree, so that the hubs come first and their lists are
//                  short. choose_bit_rows() gives bit rows to the hubs where AND and popcount beat look-ups in the
//                  marks.
// Counts of single nodes use the marks in every graph. Each thread has its own counters for the first nodes
// (own_counters).
//
// CUDA (cuda.cu, cuda_nodes.cu). The order by degree, the lists and the bit rows are made on the device
// (cuda_lists.cu). A thread counts a list of at most tiny_list nodes alone. Larger lists become tasks of a warp: hubs
// meet as bit rows, and other lists stream past a filter of the list of u.
#include "graph/triangles/triangles.hpp"

#include "core/threads/thread_chunks.hpp"
#include "graph/triangles/engine.hpp"
#include "graph/triangles/orient.hpp"

#include <bitgraph/graph/triangles.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
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

template <class Backend>
class HostTriangles final : public TriangleEngine {
 public:
  HostTriangles(const Backend& backend, const PackedGraph& graph) : backend_(backend), graph_(graph) {
    const auto* csr = std::get_if<CsrPattern>(&graph.out());
    if (csr == nullptr) converted_ = unpack(std::get<BitTileMatrix>(graph.out()));
    if (!graph.symmetric()) converted_ = symmetrized(csr == nullptr ? converted_ : *csr);
    rows_ = csr != nullptr && graph.symmetric() ? csr : &converted_;
    short_rows_ = all_rows_short(*rows_);
    if (!short_rows_) orient();
  }

  std::uint64_t count() override {
    if constexpr (is_reference) {
      return triangles(backend_, rows_->view(), nullptr);
    } else {
      return short_rows_ ? triangles_of_short_rows(backend_, rows_->view())
                         : triangles(backend_, view(), marks_.data());
    }
  }

  void count_of_nodes(std::uint64_t* counts) override {
    prepare_nodes();
    of_nodes_.fill(0);
    if constexpr (is_reference) {
      triangles(backend_, rows_->view(), of_nodes_.data());
    } else {
      triangles_of_nodes(backend_, view(), marks_.data(), own_.data(), of_nodes_.data());
    }
    for (NodeId i = 0; i < of_nodes_.size(); ++i) counts[node_of(i)] = of_nodes_[i];
  }

  Clustering coefficients(const Buffer<std::uint64_t>& counts) override {
    Clustering result;
    result.local = Buffer<double>(counts.size());
    double pairs = 0;
    for (NodeId row = 0; row < counts.size(); ++row) {
      const double of_row = pairs_of_neighbours(*rows_, row);
      const NodeId node = graph_.node_of(row);
      result.local[node] = of_row == 0 ? 0 : static_cast<double>(counts[node]) / of_row;
      result.triangles += counts[node];
      pairs += of_row;
    }
    result.triangles /= 3;
    set_means(result, result.local, pairs);
    return result;
  }

 private:
  static constexpr bool is_reference = std::is_same_v<Backend, Reference>;

  /// For the marks, which short rows do without.
  void orient() {
    oriented_ = short_rows_ || degrees_are_alike(rows_->row_ptr()) ? orient_in_place(*rows_) : orient_by_degree(*rows_);
    const std::size_t n = rows_->nrows();
    num_workspaces_ = num_workspaces(graph_.device(), n, triangle_chunk);
    marks_ = Buffer<std::uint64_t>(num_workspaces_ * mark_words(n), std::uint64_t{0}, graph_.device());
  }

  /// For the counts of nodes, which only some callers ask for.
  void prepare_nodes() {
    if (oriented_.low.size() != rows_->nrows()) orient();
    const std::size_t n = rows_->nrows();
    if (of_nodes_.size() == n) return;
    of_nodes_ = Buffer<std::uint64_t>(n, graph_.device());
    own_ = Buffer<std::uint64_t>(num_workspaces_ * std::min(n, own_counters), std::uint64_t{0}, graph_.device());
  }

  [[nodiscard]] OrientedView view() const {
    const bool in_place = oriented_.row_of.empty();
    return {rows_->nrows(),         in_place ? rows_->row_ptr().data() : oriented_.start.data(),
            oriented_.low.data(),   in_place ? rows_->col_ind().data() : oriented_.cols.data(),
            oriented_.num_bit_rows, oriented_.bits.data()};
  }

  /// The caller's number of a node that was counted. The reference counts in the order of the rows.
  [[nodiscard]] NodeId node_of(NodeId counted) const {
    const bool in_place = is_reference || oriented_.row_of.empty();
    return graph_.node_of(in_place ? counted : oriented_.row_of[counted]);
  }

  Backend backend_;
  const PackedGraph& graph_;
  CsrPattern converted_;  ///< of tiles, or where the graph is not symmetric
  const CsrPattern* rows_ = nullptr;
  bool short_rows_ = false;
  Oriented oriented_;
  std::size_t num_workspaces_ = 0;
  Buffer<std::uint64_t> marks_, own_, of_nodes_;
};

template <class Backend>
std::unique_ptr<TriangleEngine> make_triangle_engine(const Backend& backend, const PackedGraph& graph) {
  return std::make_unique<HostTriangles<Backend>>(backend, graph);
}

}  // namespace

void set_means(Clustering& result, const Buffer<double>& local, double pairs) {
  for (const double of_node : local) result.average += of_node;
  result.average = local.empty() ? 0 : result.average / static_cast<double>(local.size());
  result.transitivity = pairs == 0 ? 0 : 3 * static_cast<double>(result.triangles) / pairs;
}

TriangleCounter::TriangleCounter(const PackedGraph& graph)
    : graph_(&graph), engine_(with_backend(graph.device(), "triangle counting", [&](const auto& backend) {
        return make_triangle_engine(backend, graph);
      })) {}
TriangleCounter::TriangleCounter(TriangleCounter&&) noexcept = default;
TriangleCounter& TriangleCounter::operator=(TriangleCounter&&) noexcept = default;
TriangleCounter::~TriangleCounter() = default;

std::uint64_t TriangleCounter::count() { return engine_->count(); }

void TriangleCounter::count_of_nodes(Buffer<std::uint64_t>& counts) {
  const NodeId n = graph_->num_nodes();
  if (counts.size() != n) fail(ErrorCode::usage, fmt::format("triangles: {} counters for {} nodes", counts.size(), n));
  if (n != 0) require_same_stream("triangles", "the counters", counts.device(), "the graph", graph_->device());
  engine_->count_of_nodes(counts.data());
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
  return counter.engine_->coefficients(counts);
}

}  // namespace bitgraph
