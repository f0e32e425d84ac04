// SPDX-License-Identifier: Apache-2.0
#include "graph/triangles/triangles.hpp"

#include <algorithm>

namespace bitgraph {

std::uint64_t triangles(const Reference&, const CsrPatternView& a, std::uint64_t* counts) {
  std::uint64_t sum = 0;
  for (NodeId u = 0; u < a.nrows; ++u) {
    const auto row = a.row(u);
    for (const NodeId v : row) {
      for (const NodeId w : row) {
        if (v >= u || w >= v) break;
        const auto other = a.row(v);
        if (!std::binary_search(other.begin(), other.end(), w)) continue;
        ++sum;
        if (counts != nullptr) ++counts[u], ++counts[v], ++counts[w];
      }
    }
  }
  return sum;
}

}  // namespace bitgraph
