// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/formats/csr_pattern.hpp>

#include <string_view>

namespace bitgraph {

/// Ways to number the nodes anew.
enum class Order {
  original,               ///< as they are
  degree,                 ///< falling degree; ties keep their order
  reverse_cuthill_mckee,  ///< narrow band: breadth-first levels by rising degree, reversed (Cuthill and McKee 1969)
  community,              ///< communities contiguous: label propagation, then by community
};

[[nodiscard]] std::string_view to_string(Order order) noexcept;  ///< "original", "degree", "rcm", "community"
[[nodiscard]] Order order_from_string(std::string_view name);    ///< throws usage

/// The permutation of a square pattern: node i of the input gets number new_id[i]. The graph is read as undirected.
/// Deterministic for any threads. On the host, but degrees on a CUDA device. O(n + m) for degree, else O(n + m log d).
[[nodiscard]] Buffer<NodeId> reorder(const CsrPattern& a, Order order);

/// old_id with old_id[new_id[i]] = i: what brings results back into the caller's numbering. Throws usage unless new_id
/// is a permutation of 0 .. n-1. O(n).
[[nodiscard]] Buffer<NodeId> inverse_permutation(std::span<const NodeId> new_id);

}  // namespace bitgraph
