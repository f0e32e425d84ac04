// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/types.hpp>
#include <bitgraph/formats/csr_pattern.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bitgraph {

/// The undirected graph of a pattern: A or A^T without loops. Shares the storage of `a` where that is it already.
/// Throws usage unless `a` is square, not_possible where it is not on the host. O(nrows + nvals), parallel.
[[nodiscard]] CsrPattern undirected(const CsrPattern& a);

/// 16 hexadecimal digits that tell the undirected graph of a pattern from another one: directions and loops count for
/// nothing, the numbers of the nodes count. Throws as undirected() does. O(nrows + nvals).
[[nodiscard]] std::string undirected_fingerprint(const CsrPattern& a);

/// What a partition was made from.
struct PartitionOrigin {
  std::string graph;       ///< undirected_fingerprint() of its graph; empty: not known
  std::uint64_t seed = 0;  ///< of the partitioner

  friend bool operator==(const PartitionOrigin&, const PartitionOrigin&) = default;
};

/// The nodes of a graph in parts: each node is in exactly one part. A part may be empty. On the host.
class Partition {
 public:
  /// No nodes and no parts.
  Partition() = default;

  /// part_of[i] is the part of node i, below num_parts. There are at least one part and no more parts than nodes; of no
  /// nodes there may be one part. Throws usage for another number of parts, bad_input naming the node for a part out of
  /// range. O(nodes + parts).
  Partition(std::vector<NodeId> part_of, NodeId num_parts, PartitionOrigin origin = {});

  [[nodiscard]] NodeId num_nodes() const noexcept { return static_cast<NodeId>(part_of_.size()); }
  [[nodiscard]] NodeId num_parts() const noexcept {
    return static_cast<NodeId>(part_ptr_.empty() ? 0 : part_ptr_.size() - 1);
  }

  /// The part of each node.
  [[nodiscard]] std::span<const NodeId> part_of() const noexcept { return part_of_; }
  /// The nodes of a part, increasing. Throws usage for a part that there is not.
  [[nodiscard]] std::span<const NodeId> nodes(NodeId part) const;

  // Sizes of parts in nodes; 0 where there are no parts. O(parts).
  [[nodiscard]] NodeId largest() const noexcept;
  [[nodiscard]] NodeId smallest() const noexcept;
  [[nodiscard]] NodeId num_empty() const noexcept;  ///< how many parts have no node

  [[nodiscard]] const PartitionOrigin& origin() const noexcept { return origin_; }

  /// Throws bad_input unless this is a partition of `graph`: of as many nodes, and of the same fingerprint where it is
  /// known. `name` begins the message: the file, perhaps. O(nrows + nvals) of the graph.
  void require_graph(const CsrPattern& graph, std::string_view name = "the partition") const;

  /// Exact size of the arrays: 4 (2 nodes + parts + 1).
  [[nodiscard]] std::size_t bytes() const noexcept {
    return sizeof(NodeId) * (part_of_.size() + nodes_.size() + part_ptr_.size());
  }

  friend bool operator==(const Partition& a, const Partition& b) {
    return a.num_parts() == b.num_parts() && a.part_of_ == b.part_of_ && a.origin_ == b.origin_;
  }

 private:
  std::vector<NodeId> part_of_;
  std::vector<NodeId> part_ptr_;  ///< where each part's nodes begin
  std::vector<NodeId> nodes_;     ///< part by part
  PartitionOrigin origin_;
};

/// Undirected edges of a graph, each counted once, and those among them between two parts.
struct EdgeCut {
  EdgeOffset edges = 0;
  EdgeOffset cut = 0;

  [[nodiscard]] double share() const noexcept {
    return edges == 0 ? 0 : static_cast<double>(cut) / static_cast<double>(edges);
  }
};

/// The edges of the undirected graph of `graph` that a partition cuts. Throws usage unless the partition has as many
/// nodes, and as undirected() does. O(nrows + nvals), parallel.
[[nodiscard]] EdgeCut edge_cut(const CsrPattern& graph, const Partition& partition);

}  // namespace bitgraph
