// SPDX-License-Identifier: Apache-2.0
// Parts of a graph, by METIS (Karypis and Kumar 1998).
//
// The idea. METIS joins neighbours to coarse nodes until few are left, cuts the coarse graph, and takes the cut back to
// the fine one, level by level. On each level it moves nodes to other parts where fewer edges are then cut, as long as
// the parts stay nearly equal.
//
// Two methods, measured on grids, meshes, R-MAT, citations and social networks. Cutting in two, and these again, cuts
// fewer edges of skewed graphs into up to 8 parts (0.31 of R-MAT 15 into 4, k-way 0.44). K-way cuts up to a tenth fewer
// edges into many parts, as long as those have 32 nodes and more; it takes half the time on meshes and up to four times
// as long on skewed graphs. Where parts are smaller it leaves some empty: on hubs up to 17 nodes a part.
//
// Small parts. Neither method fills all parts where there are about as many as nodes. So METIS makes parts of two nodes
// and more, and the largest of them are cut in halves until there are enough (fill_empty_parts). The same puts nodes
// into a part that METIS left empty.
//
// METIS runs on one thread of the host. ParMETIS and mt-metis have no package in Debian.
#include <bitgraph/graph/partition.hpp>

#include <bitgraph/core/error.hpp>

#include "core/preconditions.hpp"
#include "graph/partition/fill_parts.hpp"
#include "graph/partition/metis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace bitgraph {

namespace {

constexpr NodeId few_parts = 8;
constexpr NodeId small_part = 32;     ///< nodes
constexpr NodeId smallest_asked = 2;  ///< nodes a part that METIS is asked for

// Measured as the largest resident set of METIS 5.1 on R-MAT graphs and grids, rounded up.
constexpr std::size_t bytes_an_entry = 60, bytes_a_node = 40;

bool is_recursive(const PartitionOptions& options, NodeId nodes, NodeId parts) {
  if (options.method != PartitionMethod::automatic) return options.method == PartitionMethod::recursive;
  return parts <= few_parts || nodes / small_part < parts;
}

void check(const CsrPattern& graph, const PartitionOptions& options) {
  if (graph.nrows() != graph.ncols()) {
    fail(ErrorCode::usage,
         fmt::format("partition: the matrix is {} x {}, a graph needs a square one", graph.nrows(), graph.ncols()));
  }
  require_host(graph.device(), "partition");
  const NodeId most = std::max<NodeId>(graph.nrows(), 1);
  if (options.parts == 0 || options.parts > most) {
    fail(ErrorCode::usage, fmt::format("partition: {} parts of a graph of {} nodes, expected 1 to {}", options.parts,
                                       graph.nrows(), most));
  }
}

}  // namespace

Partition partition_graph(const CsrPattern& graph, const PartitionOptions& options) {
  check(graph, options);
  const NodeId nodes = graph.nrows();
  const Device& device = graph.device();
  // Without its loops a graph has at least so many entries: no copy is made of one that is too large anyway.
  if (options.parts > 1) require_countable(nodes, graph.nvals() - std::min<EdgeOffset>(graph.nvals(), nodes));
  const CsrPattern a = undirected(graph);
  PartitionOrigin origin{undirected_fingerprint(a), options.seed};
  std::vector<NodeId> part_of(nodes, 0);
  const NodeId asked = std::min(options.parts, std::max<NodeId>(nodes / smallest_asked, 1));
  if (asked > 1) {
    require_memory(device, "partition", bytes_an_entry * a.nvals() + bytes_a_node * nodes);
    device.throw_if_stopped();
    part_of = metis_parts(a, asked, options.seed, is_recursive(options, nodes, asked));
    device.throw_if_stopped();
  }
  fill_empty_parts(part_of, options.parts);
  return {std::move(part_of), options.parts, std::move(origin)};
}

}  // namespace bitgraph
