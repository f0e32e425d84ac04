// SPDX-License-Identifier: Apache-2.0
#include "nn/inference/graph_operands.hpp"

#include "core/threads/parallel.hpp"
#include "nn/inference/row_blocks.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace bitgraph::nn {

namespace {

/// fn(number of entries) of each row, 0 for an empty one, on `device`.
template <class Fn>
Buffer<float> of_degrees(const CsrPattern& a, std::size_t loops, const Device& device, Fn&& fn) {
  const Device host = device.is_host() ? device : Device();
  Buffer<float> scale(a.nrows(), host);
  for (NodeId i = 0; i < a.nrows(); ++i) {
    const auto degree = static_cast<float>(a.row(i).size() + loops);
    scale[i] = degree == 0 ? 0.0F : fn(degree);
  }
  return device.is_host() ? std::move(scale) : scale.to(device);
}

float inverse(float degree) { return 1.0F / degree; }
float inverse_sqrt(float degree) { return 1.0F / std::sqrt(degree); }

}  // namespace

bool has_loops(Aggregation aggregation) noexcept {
  return aggregation == Aggregation::symmetric || aggregation == Aggregation::mean_with_self ||
         aggregation == Aggregation::sum_with_self;
}

GraphOperands::GraphOperands(const CsrPattern& a, Device device, PlanCapacity capacity, const CsrPattern& readout)
    : a_(&a),
      num_nodes_(a.nrows()),
      entries_(a.nvals()),
      device_(std::move(device)),
      capacity_(capacity),
      readout_(readout.nrows() == 0 ? CsrPattern() : readout.to(device_)) {}

void GraphOperands::reset(const CsrPattern& a) {
  changing_.reset();
  with_loops_.reset();
  replace(a, {});
}

void GraphOperands::replace(const CsrPattern& a, std::span<const ChangingRows::Row> rows) {
  a_ = &a;
  num_nodes_ = a.nrows();
  entries_ = a.nvals();
  plain_.reset();
  for (Buffer<float>* scale : {&symmetric_, &mean_with_self_, &mean_, &degree_roots_}) *scale = Buffer<float>();
  blocks_.clear();
  sell_blocks_.clear();
  row_orders_.clear();
  sell_.clear();
  tiles_.clear();
  with_loops_.reset();
  if (!changing_) return;
  const NodeId before = changing_->pattern().nrows();
  std::vector<std::vector<NodeId>> columns;
  std::vector<ChangingRows::Row> changed;
  const auto add = [&](NodeId row, std::span<const NodeId> neighbors) {
    std::vector<NodeId>& with_loop = columns.emplace_back(neighbors.begin(), neighbors.end());
    const auto at = std::lower_bound(with_loop.begin(), with_loop.end(), row);
    if (at == with_loop.end() || *at != row) with_loop.insert(at, row);
    changed.push_back({row, {}, {}});
  };
  NodeId next = before;  // the first new row that is not in the list
  for (const auto& row : rows) {
    for (; next < row.row; ++next) add(next, {});
    add(row.row, row.columns);
    if (row.row == next) ++next;
  }
  for (; next < a.nrows(); ++next) add(next, {});
  for (std::size_t i = 0; i < changed.size(); ++i) changed[i].columns = columns[i];
  changing_->replace(changed, a.nrows(), a.ncols());
}

const CsrPattern& GraphOperands::plain() {
  if (stays()) return *a_;
  if (!plain_) plain_ = std::make_unique<CsrPattern>(a_->to(device_));
  return *plain_;
}

const CsrPattern& GraphOperands::with_loops() {
  if (stays()) {
    if (!changing_) {
      changing_ = std::make_unique<ChangingRows>(with_self_loops(*a_), capacity_.nodes,
                                                 capacity_.entries + capacity_.nodes, device_);
    }
    return changing_->pattern();
  }
  if (!with_loops_) {
    // On the host it is made where it stays: a copy of a large graph takes longer than all else of a plan.
    with_loops_ = std::make_unique<CsrPattern>(device_.is_host() ? with_self_loops(a_->share(device_))
                                                                 : with_self_loops(*a_).to(device_));
  }
  return *with_loops_;
}

AggregationOperand GraphOperands::scales_of(Aggregation aggregation) {
  const auto made = [&](Buffer<float>& scale, auto&& fn) -> std::span<const float> {
    // The degrees of A + I are those of A and one, as A has no loops.
    if (scale.empty()) scale = of_degrees(*a_, has_loops(aggregation) ? 1 : 0, device_, fn);
    return std::as_const(scale).span();
  };
  switch (aggregation) {
    case Aggregation::symmetric: {
      const auto scale = made(symmetric_, inverse_sqrt);
      return {nullptr, scale, scale};
    }
    case Aggregation::mean_with_self: return {nullptr, made(mean_with_self_, inverse), {}};
    case Aggregation::mean: return {nullptr, made(mean_, inverse), {}};
    case Aggregation::sum:
    case Aggregation::sum_with_self: return {};
    case Aggregation::none: break;
  }
  fail(ErrorCode::internal, "a linear layer aggregates nothing");
}

std::span<const float> GraphOperands::degree_roots(DegreeRoot root) {
  if (degree_roots_.empty()) {
    Buffer<float> roots(num_nodes_, device_.is_host() ? device_ : Device());
    for (NodeId i = 0; i < num_nodes_; ++i) roots[i] = degree_root(a_->row(i).size(), root);
    degree_roots_ = device_.is_host() ? std::move(roots) : roots.to(device_);
  }
  return std::as_const(degree_roots_).span();
}

AggregationOperand GraphOperands::of(Aggregation aggregation) {
  AggregationOperand operand = scales_of(aggregation);
  operand.pattern = &pattern_of(aggregation);
  return operand;
}

CsrPattern GraphOperands::rows_of(Aggregation aggregation, NodeId first, NodeId last) const {
  const bool loops = has_loops(aggregation);
  const Device host = device_.is_host() ? device_ : Device();
  const NodeId rows = last - first;
  Buffer<EdgeOffset> row_ptr(rows + std::size_t{1}, EdgeOffset{0}, host);
  for (NodeId i = 0; i < rows; ++i) row_ptr[i + 1] = row_ptr[i] + a_->row(first + i).size() + (loops ? 1 : 0);
  Buffer<NodeId> col_ind(row_ptr[rows], host);
  parallel_for(host, rows, 256, [&](std::size_t i) {
    const auto node = first + static_cast<NodeId>(i);
    const auto row = a_->row(node);
    NodeId* to = col_ind.data() + row_ptr[i];
    const auto middle = loops ? std::lower_bound(row.begin(), row.end(), node) : row.end();
    to = std::copy(row.begin(), middle, to);
    if (loops) *to++ = node;
    std::copy(middle, row.end(), to);
  });
  CsrPattern part(rows, a_->ncols(), std::move(row_ptr), std::move(col_ind), trusted);
  return device_.is_host() ? std::move(part) : part.to(device_);
}

const std::vector<CsrPattern>& GraphOperands::blocks_of(Aggregation aggregation, std::size_t blocks) {
  std::vector<CsrPattern>& made = blocks_[has_loops(aggregation)];
  if (made.empty()) {
    for (std::size_t b = 0; b < blocks; ++b) {
      made.push_back(rows_of(aggregation, static_cast<NodeId>(first_row(num_nodes_, b, blocks)),
                             static_cast<NodeId>(first_row(num_nodes_, b + 1, blocks))));
    }
  }
  return made;
}

const std::vector<SellPattern>& GraphOperands::sell_blocks_of(Aggregation aggregation, std::size_t blocks) {
  std::vector<SellPattern>& made = sell_blocks_[has_loops(aggregation)];
  if (made.empty()) {
    for (std::size_t b = 0; b < blocks; ++b) {
      made.push_back(to_sell(rows_of(aggregation, static_cast<NodeId>(first_row(num_nodes_, b, blocks)),
                                     static_cast<NodeId>(first_row(num_nodes_, b + 1, blocks))),
                             device_));
    }
  }
  return made;
}

const RowOrder& GraphOperands::row_order(const CsrPattern& pattern, GraphForm form) {
  const auto [at, is_new] = row_orders_.try_emplace({&pattern, form});
  if (is_new) at->second = form == GraphForm::csr_by_place ? RowOrder(pattern) : RowOrder::compact(pattern);
  return at->second;
}

const SellPattern& GraphOperands::sell(Aggregation aggregation) {
  const CsrPattern* pattern = &pattern_of(aggregation);
  const auto [at, is_new] = sell_.try_emplace(pattern);
  if (is_new) at->second = to_sell(*pattern, device_);
  return at->second;
}

const BitTileMatrix& GraphOperands::tiles(Aggregation aggregation, int tile_dim) {
  const CsrPattern* pattern = &pattern_of(aggregation);
  const auto [at, is_new] = tiles_.try_emplace(pattern);
  if (is_new) at->second = pack(*pattern, {.tile_dim = tile_dim}, device_);
  return at->second;
}

std::size_t GraphOperands::num_tiles() const noexcept {
  std::size_t most = 0;
  for (const auto& [pattern, tiles] : tiles_) most = std::max<std::size_t>(most, tiles.num_tiles());
  return most;
}

std::size_t GraphOperands::bytes() const noexcept {
  std::size_t total = (plain_ ? plain_->bytes() : 0) + (with_loops_ ? with_loops_->bytes() : 0) + symmetric_.bytes() +
                      mean_with_self_.bytes() + mean_.bytes() + degree_roots_.bytes() +
                      (changing_ ? changing_->bytes() : 0) + (num_graphs() == 0 ? 0 : readout_.bytes());
  for (const auto& [loops, patterns] : blocks_) {
    for (const CsrPattern& pattern : patterns) total += pattern.bytes();
  }
  for (const auto& [loops, patterns] : sell_blocks_) {
    for (const SellPattern& pattern : patterns) total += pattern.bytes();
  }
  for (const auto& [pattern_and_form, order] : row_orders_) total += order.bytes();
  for (const auto& [pattern, sell] : sell_) total += sell.bytes();
  for (const auto& [pattern, tiles] : tiles_) total += tiles.bytes();
  return total;
}

}  // namespace bitgraph::nn
