// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/types.hpp>
#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/formats/partition.hpp>

#include <cstdint>

namespace bitgraph {

/// How METIS cuts a graph.
enum class PartitionMethod {
  automatic,  ///< recursive for up to 8 parts, and where parts have fewer than 32 nodes on average; else k_way
  recursive,  ///< in two, and these again
  k_way       ///< in all parts at once
};

struct PartitionOptions {
  NodeId parts = 1;
  std::uint64_t seed = 0;
  PartitionMethod method = PartitionMethod::automatic;
};

/// Parts of nearly equal size with few edges between them, by METIS (Karypis and Kumar, "A fast and high quality
/// multilevel scheme for partitioning irregular graphs", SIAM J. Sci. Comput. 20, 1998). Batches of graph neural
/// networks are made of them (Chiang et al., "Cluster-GCN", KDD 2019, section 3.1; QGTC, section 4.1).
///
/// The graph is read as undirected(graph). Nodes without neighbours go where there is room. A part has at most 3 % more
/// nodes than the mean, or a few nodes more where parts are small. No part is empty. The same graph, options and METIS
/// give the same parts, whatever the number of threads. Throws usage unless the graph is square and 1 <= parts <= nodes
/// (one part of no nodes is allowed); not_possible where the graph is not on the host, has more nodes or entries than
/// METIS counts (2^31 - 1 with Debian's), or memory runs out.
///
/// O((nodes + entries) log parts) about, on one thread; up to 60 bytes an entry and 40 bytes a node beside the graph.
/// METIS draws by rand() of the C library: calls from several threads take turns, and another thread that calls rand()
/// or srand() meanwhile changes the parts. METIS does not see a stop token while it runs, and it handles SIGTERM as a
/// failure of its own.
[[nodiscard]] Partition partition_graph(const CsrPattern& graph, const PartitionOptions& options);

}  // namespace bitgraph
