// SPDX-License-Identifier: Apache-2.0
// Stands in for cuda.cu in a build without CUDA: no graph can live on a CUDA device, so it is never called.
#include "graph/pagerank/device_pagerank.hpp"

namespace bitgraph {

std::unique_ptr<DevicePageRank> make_cuda_pagerank(const PackedGraph& graph) {
  fail(ErrorCode::not_possible, graph.device().name() + ": this bitgraph was built without CUDA");
}

}  // namespace bitgraph
