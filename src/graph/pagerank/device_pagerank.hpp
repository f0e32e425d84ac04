// SPDX-License-Identifier: Apache-2.0
// PageRank on a CUDA device: cuda.cu, or cuda_absent.cpp in a build without CUDA.
#pragma once

#include <bitgraph/graph/pagerank.hpp>

#include <memory>

namespace bitgraph {

class DevicePageRank {
 public:
  DevicePageRank() = default;
  DevicePageRank(const DevicePageRank&) = delete;
  DevicePageRank& operator=(const DevicePageRank&) = delete;
  virtual ~DevicePageRank() = default;

  /// Iterates as PageRank says, single precision down to `floor` and double from there. The ranks stay on the device.
  virtual void run(PageRankResult& result, const PageRankOptions& options, double floor) = 0;
};

/// Refers to `graph`.
[[nodiscard]] std::unique_ptr<DevicePageRank> make_cuda_pagerank(const PackedGraph& graph);

}  // namespace bitgraph
