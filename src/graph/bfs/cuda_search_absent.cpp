// SPDX-License-Identifier: Apache-2.0
// Stands in for cuda_search.cu in a build without CUDA: no graph can live on a CUDA device, so it is never called.
#include "graph/bfs/device_search.hpp"

namespace bitgraph {

std::unique_ptr<DeviceBfs> make_cuda_bfs(const PackedGraph& graph) {
  fail(ErrorCode::not_possible, graph.device().name() + ": this bitgraph was built without CUDA");
}

}  // namespace bitgraph
