// SPDX-License-Identifier: Apache-2.0
#include "graph/packed_graph/choice.hpp"

#include <bitgraph/formats/advisor.hpp>

#include <fmt/format.h>

namespace bitgraph {

FormatChoice choose_format(const CsrPattern& a, Workload workload, const Device& device) {
  if (workload == Workload::traversal) return {csr_tile, "searches visit single rows: pattern CSR"};
  const Profile sampled = profile(a);
  if (workload == Workload::values && device.is_host()) {
    // A tile of side 4 is one masked addition, and an entry of pattern CSR one gather: what is smaller is faster.
    static_assert(tile_dims[0] == 4);
    const auto tiles = static_cast<std::size_t>(sampled.tiles[0].predicted_bytes);
    return {tiles < a.bytes() ? 4 : csr_tile,
            fmt::format("values: B2SR-4 takes about {} bytes, pattern CSR {}", tiles, a.bytes())};
  }
  const Advice advice = advise(sampled);
  return {advice.use_tiles ? advice.tile_dim : csr_tile, advice.reason};
}

}  // namespace bitgraph
