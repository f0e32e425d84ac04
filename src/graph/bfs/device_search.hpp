// SPDX-License-Identifier: Apache-2.0
// A search on a CUDA device: cuda_search.cu, or cuda_search_absent.cpp in a build without CUDA.
#pragma once

#include <bitgraph/graph/bfs.hpp>

#include <memory>

namespace bitgraph {

class DeviceBfs {
 public:
  DeviceBfs() = default;
  DeviceBfs(const DeviceBfs&) = delete;
  DeviceBfs& operator=(const DeviceBfs&) = delete;
  virtual ~DeviceBfs() = default;

  /// Into `result`, whose level has its size; parent is made where it is asked for the first time.
  virtual void run(BfsResult& result, const BfsOptions& options, std::int32_t unreached) = 0;
};

/// Refers to `graph`. Throws not_possible unless it has both directions.
[[nodiscard]] std::unique_ptr<DeviceBfs> make_cuda_bfs(const PackedGraph& graph);

}  // namespace bitgraph
