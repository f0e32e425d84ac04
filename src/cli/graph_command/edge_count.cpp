// SPDX-License-Identifier: Apache-2.0
#include "cli/graph_command/edge_count.hpp"

#include <fmt/format.h>

namespace bitgraph::cli {

std::string EdgeCount::text() const {
  const std::string some = loops == 0 ? "" : fmt::format(", {} loop{}", loops, loops == 1 ? "" : "s");
  return undirected ? fmt::format("edges {} (undirected{})", edges(), some)
                    : fmt::format("entries {} (directed{})", entries, some);
}

void EdgeCount::put(Json& result) const {
  result["num_edges"] = edges();
  result["num_entries"] = entries;
  result["undirected"] = undirected;
}

EdgeCount count_edges(const CsrPattern& a) { return {a.nvals(), num_self_loops(a), is_symmetric(a)}; }

}  // namespace bitgraph::cli
