// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/formats/reorder.hpp>

#include "core/devices/backend.hpp"
#include "core/names.hpp"
#include "core/threads/parallel.hpp"
#include "formats/cuda/formats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph {

namespace {

constexpr NodeId unset = std::numeric_limits<NodeId>::max();

constexpr Names<Order, 4> names{{{Order::original, "original"},
                                 {Order::degree, "degree"},
                                 {Order::reverse_cuthill_mckee, "rcm"},
                                 {Order::community, "community"}}};

std::vector<NodeId> degrees_of(const CsrPattern& a) {
  std::vector<NodeId> degrees(a.nrows());
  for (NodeId i = 0; i < a.nrows(); ++i) degrees[i] = static_cast<NodeId>(a.row(i).size());
  return degrees;
}

/// Nodes by rising key, equal keys in order of number: a counting sort.
std::vector<NodeId> sorted_by(const std::vector<NodeId>& keys) {
  const NodeId most = keys.empty() ? 0 : *std::max_element(keys.begin(), keys.end());
  std::vector<NodeId> start(std::size_t{most} + 2, 0);
  for (const NodeId key : keys) ++start[std::size_t{key} + 1];
  std::partial_sum(start.begin(), start.end(), start.begin());
  std::vector<NodeId> nodes(keys.size());
  for (NodeId i = 0; i < keys.size(); ++i) nodes[start[keys[i]]++] = i;
  return nodes;
}

/// new_id from the nodes in their new order.
Buffer<NodeId> numbered(const std::vector<NodeId>& order, const Device& device) {
  Buffer<NodeId> new_id(order.size(), device);
  for (NodeId position = 0; position < order.size(); ++position) new_id[order[position]] = position;
  return new_id;
}

/// Breadth-first search that appends the nodes it reaches to `order`, neighbours by rising degree. Returns where the
/// last level starts.
class CuthillMckee {
 public:
  explicit CuthillMckee(const CsrPattern& a) : a_(a), degree_(degrees_of(a)), mark_(a.nrows(), 0) {
    order_.reserve(a.nrows());
  }

  std::vector<NodeId> run() {
    for (const NodeId start : sorted_by(degree_)) {
      if (mark_[start] == done) continue;
      a_.device().throw_if_stopped();
      visit(peripheral(start), done);
    }
    std::reverse(order_.begin(), order_.end());
    return std::move(order_);
  }

 private:
  static constexpr NodeId done = unset;

  /// Appends the unvisited part reached from `start`; returns the first position of its last level.
  std::size_t visit(NodeId start, NodeId mark) {
    std::size_t level = order_.size();
    order_.push_back(start);
    mark_[start] = mark;
    levels_ = 0;
    for (std::size_t head = level, level_end = order_.size(); head < order_.size(); ++levels_) {
      a_.device().throw_if_stopped();
      level = head;
      for (; head < level_end; ++head) {
        const std::size_t first = order_.size();
        for (const NodeId j : a_.row(order_[head])) {
          if (mark_[j] == done || mark_[j] == mark) continue;
          mark_[j] = mark;
          order_.push_back(j);
        }
        std::sort(order_.begin() + static_cast<std::ptrdiff_t>(first), order_.end(),
                  [&](NodeId x, NodeId y) { return degree_[x] != degree_[y] ? degree_[x] < degree_[y] : x < y; });
      }
      level_end = order_.size();
    }
    return level;
  }

  /// A node far from others: from `start` to a node of least degree in the last level, while the levels grow (at most
  /// twice).
  NodeId peripheral(NodeId start) {
    const std::size_t kept = order_.size();
    std::size_t levels = 0;
    for (int round = 0; round < 2; ++round) {
      const std::size_t last = visit(start, ++epoch_);
      const bool grew = levels_ > levels;
      levels = levels_;
      const auto end = order_.end();
      const NodeId farthest = *std::min_element(
          order_.begin() + static_cast<std::ptrdiff_t>(last), end,
          [&](NodeId x, NodeId y) { return degree_[x] != degree_[y] ? degree_[x] < degree_[y] : x < y; });
      order_.resize(kept);
      if (!grew) break;
      start = farthest;
    }
    return start;
  }

  const CsrPattern& a_;
  std::vector<NodeId> degree_;
  std::vector<NodeId> mark_;
  std::vector<NodeId> order_;
  NodeId epoch_ = 0;
  std::size_t levels_ = 0;
};

/// Label propagation: each node takes the label most of its neighbours have, ties to the smallest; a few sweeps in
/// order.
std::vector<NodeId> communities(const CsrPattern& a, int sweeps) {
  std::vector<NodeId> label(a.nrows());
  std::iota(label.begin(), label.end(), NodeId{0});
  std::vector<NodeId> votes(a.nrows(), 0);
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    a.device().throw_if_stopped();
    std::size_t moved = 0;
    for (NodeId i = 0; i < a.nrows(); ++i) {
      const auto row = a.row(i);
      NodeId best = label[i];
      NodeId most = 0;
      for (const NodeId j : row) {
        const NodeId count = ++votes[label[j]];
        if (count > most || (count == most && label[j] < best)) {
          most = count;
          best = label[j];
        }
      }
      for (const NodeId j : row) votes[label[j]] = 0;
      moved += best != label[i] ? 1U : 0U;
      label[i] = best;
    }
    if (moved * 100 < a.nrows()) break;
  }
  return label;
}

/// Nodes in the order of a breadth-first search that finishes a community before it goes on to those it touches.
std::vector<NodeId> by_community(const CsrPattern& a, const std::vector<NodeId>& label) {
  const std::vector<NodeId> by_label = sorted_by(label);
  std::vector<NodeId> first(a.nrows(), unset);  // where a community's nodes start in by_label
  for (NodeId position = a.nrows(); position-- > 0;) first[label[by_label[position]]] = position;
  std::vector<bool> queued(a.nrows(), false);
  std::vector<NodeId> queue;
  std::vector<NodeId> order;
  order.reserve(a.nrows());
  for (NodeId seed = 0; seed < a.nrows(); ++seed) {
    if (queued[label[seed]]) continue;
    queue.assign(1, label[seed]);
    queued[label[seed]] = true;
    for (std::size_t head = 0; head < queue.size(); ++head) {
      const NodeId community = queue[head];
      for (NodeId p = first[community]; p < a.nrows() && label[by_label[p]] == community; ++p) {
        order.push_back(by_label[p]);
        for (const NodeId j : a.row(by_label[p])) {
          if (queued[label[j]]) continue;
          queued[label[j]] = true;
          queue.push_back(label[j]);
        }
      }
    }
  }
  return order;
}

/// Of a pattern on a CUDA device. Only degrees are sorted there; the searches of the other orders go one node after
/// the other.
Buffer<NodeId> reorder_there(const CsrPattern& a, Order order) {
  if (order != Order::degree || a.nrows() == 0) return reorder(a.to(Device{}), order);
  return with_cuda<Buffer<NodeId>>(a.device(), "reorder", [&](const auto& cuda) {
    return is_symmetric(a) ? cuda_formats::degree_order(cuda, a) : cuda_formats::degree_order(cuda, symmetrized(a));
  });
}

}  // namespace

std::string_view to_string(Order order) noexcept { return name_of(names, order); }

Order order_from_string(std::string_view name) { return value_of(names, "order", name); }

Buffer<NodeId> reorder(const CsrPattern& a, Order order) {
  if (a.nrows() != a.ncols()) {
    fail(ErrorCode::usage, fmt::format("reorder: the matrix is {} x {}, a square one is needed", a.nrows(), a.ncols()));
  }
  if (!a.device().is_host()) return reorder_there(a, order);
  std::vector<NodeId> nodes(a.nrows());
  std::iota(nodes.begin(), nodes.end(), NodeId{0});
  if (order == Order::original || a.nrows() == 0) return numbered(nodes, a.device());
  a.device().throw_if_stopped();
  if (!is_symmetric(a)) return reorder(symmetrized(a), order);
  if (order == Order::degree) {
    std::vector<NodeId> keys = degrees_of(a);
    const NodeId most = *std::max_element(keys.begin(), keys.end());
    for (NodeId& key : keys) key = most - key;
    nodes = sorted_by(keys);
  } else if (order == Order::reverse_cuthill_mckee) {
    nodes = CuthillMckee(a).run();
  } else {
    nodes = by_community(a, communities(a, 6));
  }
  return numbered(nodes, a.device());
}

Buffer<NodeId> inverse_permutation(std::span<const NodeId> new_id) {
  Buffer<NodeId> old_id(new_id.size(), unset);
  for (NodeId i = 0; i < new_id.size(); ++i) {
    require(new_id[i] < new_id.size() && old_id[new_id[i]] == unset,
            "inverse_permutation: an id is out of range or occurs twice");
    old_id[new_id[i]] = i;
  }
  return old_id;
}

}  // namespace bitgraph
