// SPDX-License-Identifier: Apache-2.0
// SuiteSparse:GraphBLAS as a rival: the one symbol of the module that the program loads.
#include "cli/peers/graphblas/objects.hpp"

#include <memory>
#include <string>

namespace bitgraph::cli {

namespace {

namespace graphblas = bitgraph::cli::graphblas;
using graphblas::require_success;

class GraphBlasGraph : public PeerGraph {
 public:
  explicit GraphBlasGraph(const PeerMatrix& a) : a_(a) {}
  std::vector<PeerWay> bfs() override { return graphblas::bfs_ways(a_); }
  std::vector<PeerWay> sssp(std::span<const std::int32_t> weights) override {
    return graphblas::sssp_ways(a_, weights);
  }
  std::vector<PeerWay> pagerank(int iterations) override { return graphblas::pagerank_ways(a_, iterations); }
  std::vector<PeerWay> components() override { return graphblas::component_ways(a_); }
  std::vector<PeerWay> triangles() override { return graphblas::triangle_ways(a_); }
  std::vector<PeerWay> mxv(const MxvJob& job) override { return graphblas::mxv_ways(a_, job); }
  std::vector<PeerWay> mxm(MxmKind kind) override { return graphblas::mxm_ways(a_, kind); }

 private:
  PeerMatrix a_;
};

class GraphBlas : public PeerLibrary {
 public:
  explicit GraphBlas(int threads) {
    require_success(GrB_init(GrB_NONBLOCKING));
    require_success(GxB_Global_Option_set(GxB_GLOBAL_NTHREADS, threads));
  }
  ~GraphBlas() override { GrB_finalize(); }

  [[nodiscard]] std::string name() const override { return "SuiteSparse:GraphBLAS"; }
  [[nodiscard]] std::string version() const override {
    int numbers[3] = {};
    require_success(GxB_Global_Option_get(GxB_LIBRARY_VERSION, numbers));
    return std::to_string(numbers[0]) + "." + std::to_string(numbers[1]) + "." + std::to_string(numbers[2]);
  }
  [[nodiscard]] std::unique_ptr<PeerGraph> open(const PeerMatrix& graph) override {
    return std::make_unique<GraphBlasGraph>(graph);
  }
};

}  // namespace

}  // namespace bitgraph::cli

/// A new PeerLibrary, once in a process: the library cannot be started again after it was finished.
extern "C" bitgraph::cli::PeerLibrary* bitgraph_open_peer(int threads) { return new bitgraph::cli::GraphBlas(threads); }
