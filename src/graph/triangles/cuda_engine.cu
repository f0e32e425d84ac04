// SPDX-License-Identifier: Apache-2.0
// The engine of the triangle counter for a graph on a CUDA device.
#include "graph/packed_graph/pattern.hpp"
#include "graph/triangles/cuda.cuh"
#include "graph/triangles/engine.hpp"

#include <bitgraph/graph/triangles.hpp>

#include <optional>

namespace bitgraph {

namespace {

class CudaTriangleEngine final : public TriangleEngine {
 public:
  explicit CudaTriangleEngine(const PackedGraph& graph)
      : device_(graph.device()), new_id_(Buffer<NodeId>::copy_of(graph.new_id(), device_)) {
    const auto* csr = std::get_if<CsrPattern>(&graph.out());
    CsrPattern symmetric;
    if (csr == nullptr || !graph.symmetric()) {
      symmetric = graph.symmetric() ? pattern_of(graph) : symmetrized(pattern_of(graph));
      csr = &symmetric;
    }
    lists_.emplace(device_, csr->view(), csr->nvals());
  }

  std::uint64_t count() override { return lists_->count(); }
  void count_of_nodes(std::uint64_t* counts) override { lists_->count_of_nodes(new_id_.data(), counts); }

  Clustering coefficients(const Buffer<std::uint64_t>& counts) override {
    Clustering result;
    result.local = Buffer<double>(counts.size(), device_);
    const TriangleTotals totals = lists_->coefficients(new_id_.data(), counts.data(), result.local.data());
    result.triangles = totals.triangles;
    set_means(result, result.local.to(Device{}), static_cast<double>(totals.pairs));
    return result;
  }

 private:
  Device device_;
  Buffer<NodeId> new_id_;
  std::optional<CudaTriangles> lists_;
};

}  // namespace

std::unique_ptr<TriangleEngine> make_triangle_engine(const Cuda&, const PackedGraph& graph) {
  return std::make_unique<CudaTriangleEngine>(graph);
}

}  // namespace bitgraph
