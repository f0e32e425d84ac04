// SPDX-License-Identifier: Apache-2.0
#include "graph/packed_graph/choice.hpp"

#include <bitgraph/formats/advisor.hpp>

namespace bitgraph {

FormatChoice choose_format(const CsrPattern& a, Workload workload, const Device& device) {
  static_cast<void>(device);
  if (workload == Workload::traversal) return {csr_tile, "searches visit single rows: pattern CSR"};
  const Advice advice = advise(profile(a));
  return {advice.use_tiles ? advice.tile_dim : csr_tile, advice.reason};
}

}  // namespace bitgraph
