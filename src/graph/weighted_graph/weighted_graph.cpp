// SPDX-License-Identifier: Apache-2.0
// Packs a graph whose edges have lengths: a PackedGraph for the edges, and an array for the weights.
//
// Encoding. The weights are in the order of the entries of graph().out(): row by row, columns rising. This order is
// the same for pattern CSR and for bit tiles. Row i begins at row_start()[i]. A CSR has these offsets as its row_ptr;
// for tiles they are stored in addition. If the nodes are reordered, in_row_order() sorts the weights of each row by
// the new columns.
//
// Kinds of weights.
//   integers  If all weights are whole numbers from 1 to most_integer, they are stored as bit planes (pack_weights).
//   reals     Otherwise they are floats. They must be positive and finite.
// WeightKind::integer refuses other weights, and WeightKind::real stores floats in every case.
//
// The largest weight is stored too: delta-stepping in src/graph/sssp derives the width of its buckets from it.
//
// CUDA. The edges are on the device. The weights stay on the host, and the engine of sssp copies them to the device.
#include <bitgraph/graph/weighted_graph.hpp>

#include "core/threads/parallel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace bitgraph {

namespace {

constexpr float most_integer = 255;

bool is_small_integer(float w) { return w >= 1 && w <= most_integer && w == std::floor(w); }

[[noreturn]] void refuse(const CsrPattern& a, std::size_t e, float weight, const char* expected) {
  const auto row = std::upper_bound(a.row_ptr().begin(), a.row_ptr().end(), e) - a.row_ptr().begin() - 1;
  fail(ErrorCode::bad_input,
       fmt::format("the edge {} -> {} has the weight {}, expected {}", row, a.col_ind()[e], weight, expected));
}

/// True where all of them are integers that bit planes hold.
bool check_weights(const CsrPattern& a, std::span<const float> weights, WeightKind kind) {
  bool integers = true;
  for (std::size_t e = 0; e < weights.size(); ++e) {
    if (is_small_integer(weights[e])) continue;
    if (kind == WeightKind::integer) refuse(a, e, weights[e], "a whole number from 1 to 255");
    if (!(weights[e] > 0) || !std::isfinite(weights[e])) refuse(a, e, weights[e], "a positive finite number");
    integers = false;
  }
  return integers && kind != WeightKind::real;
}

/// The weights in the order of the packed rows.
Buffer<float> in_row_order(const CsrPattern& a, std::span<const float> weights, const PackedGraph& graph,
                           std::span<const EdgeOffset> row_start) {
  Buffer<float> ordered(weights.size());
  parallel_chunks(graph.device(), a.nrows(), 1024, [&](Range range) {
    std::vector<std::pair<NodeId, float>> row;
    for (std::size_t i = range.begin; i < range.end; ++i) {
      row.clear();
      for (EdgeOffset e = a.row_ptr()[i]; e < a.row_ptr()[i + 1]; ++e)
        row.emplace_back(graph.row_of(a.col_ind()[e]), weights[e]);
      std::sort(row.begin(), row.end());
      EdgeOffset to = row_start[graph.row_of(static_cast<NodeId>(i))];
      for (const auto& [column, weight] : row) ordered[to++] = weight;
    }
  });
  return ordered;
}

}  // namespace

const EdgeOffset* WeightedGraph::row_start() const noexcept {
  const auto* csr = std::get_if<CsrPattern>(&graph_.out());
  return csr == nullptr ? row_start_.data() : csr->row_ptr().data();
}

std::size_t WeightedGraph::bytes() const noexcept {
  return graph_.bytes() + integers_.bytes() + reals_.bytes() + row_start_.bytes();
}

WeightedGraph pack_weighted_graph(const CsrPattern& a, std::span<const float> weights, const GraphPackOptions& options,
                                  WeightKind kind, const Device& device) {
  if (weights.size() != a.nvals()) {
    fail(ErrorCode::usage, fmt::format("{} weights for {} entries", weights.size(), a.nvals()));
  }
  WeightedGraph packed;
  packed.integer_ = check_weights(a, weights, kind);
  packed.graph_ = pack_graph(a, options, device);
  for (const float w : weights) packed.largest_ = std::max(packed.largest_, w);
  const NodeId n = a.nrows();
  Buffer<EdgeOffset> row_start(std::size_t{n} + 1, EdgeOffset{0});
  for (NodeId i = 0; i < n; ++i) row_start[packed.graph_.row_of(i)] = a.row(i).size();
  exclusive_scan(Device::host(device.threads()), row_start.span());
  Buffer<float> ordered;
  if (!packed.graph_.new_id().empty()) {
    ordered = in_row_order(a, weights, packed.graph_, row_start.span());
    weights = ordered.span();
  }
  if (packed.integer_) {
    Buffer<std::uint8_t> bytes(weights.size());
    std::transform(weights.begin(), weights.end(), bytes.begin(), [](float w) { return static_cast<std::uint8_t>(w); });
    packed.integers_ = pack_weights(bytes.span(), device.is_host() ? device : Device{});
  } else {
    packed.reals_ = Buffer<float>::copy_of(weights, device.is_host() ? device : Device{});
  }
  if (packed.graph_.tile_dim() != csr_tile) packed.row_start_ = row_start.to(device.is_host() ? device : Device{});
  return packed;
}

}  // namespace bitgraph
