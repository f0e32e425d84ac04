// SPDX-License-Identifier: Apache-2.0
// Connected components on a CUDA device. See cuda.cu.
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/formats/csr_pattern.hpp>

#include "graph/components/engine.hpp"
#include "graph/packed_graph/cuda_rows.cuh"

namespace bitgraph {

/// A row with more edges is shared out among all blocks where its edges are needed.
inline constexpr EdgeOffset components_long_row = 4096;

/// State that all blocks share.
struct ComponentsControl {
  NodeId count;     ///< of components
  NodeId largest;   ///< the root that most of the sample have
  NodeId share;     ///< of the sample
  NodeId num_long;  ///< rows put off
};

struct CudaComponentsArgs {
  CsrPatternView out;
  CsrPatternView in;            ///< out again where it is not needed
  bool both = false;            ///< the edges of in are to be taken too
  bool seen_from_both = false;  ///< every edge is in the lists of both its ends
  NodeId* parent = nullptr;     ///< n: the smallest row of each row's component
  NodeId* long_rows = nullptr;  ///< as many as there can be in both directions, and one
  ComponentsControl* control = nullptr;
};

/// Puts the search on the device's stream.
void launch_components(const Device& device, const CudaComponentsArgs& args);

/// The searches over one packed graph and the memory they take.
class CudaComponents final : public ComponentsEngine {
 public:
  /// `graph` must outlive this.
  explicit CudaComponents(const PackedGraph& graph);

  /// Writes the label of every node, in the caller's numbering, and returns the number of components. Waits for it.
  NodeId run(NodeId* label) override;

 private:
  Device device_;
  CudaRows rows_;
  bool symmetric_, has_in_;
  Buffer<NodeId> long_rows_;
  Buffer<NodeId> parent_, smallest_;  // of rows; only where the order was changed
  Buffer<ComponentsControl> control_;
};

}  // namespace bitgraph
