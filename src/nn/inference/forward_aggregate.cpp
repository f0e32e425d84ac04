// SPDX-License-Identifier: Apache-2.0
// Aggregations of a layer: sums, counts and votes over neighbours, whole or a part of the graph's rows at a time.
#include "nn/inference/forward.hpp"
#include "nn/inference/row_blocks.hpp"

#include <bitgraph/ops/gemm.hpp>
#include <bitgraph/ops/spmm.hpp>

#include "nn/one_launch/launch_parts.hpp"
#include "nn/updates/some_rows.hpp"

#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace bitgraph::nn {

namespace {

std::span<const float> span_of(const Buffer<float>* values) {
  return values == nullptr ? std::span<const float>() : values->span();
}

}  // namespace

void Forward::add_sum(Floats& out, const Floats& x, const AggregationOperand& a, const Buffer<float>* bias) {
  const bool by_order = a.pattern != &back_ && spmm_sums_by_order(out.ncols());
  const RowOrder* const order = by_order ? &graph_.row_order(*a.pattern) : nullptr;
  step(
      "BSpMM.FBF",
      [&out, &x, a, bias, order] {
        const SpmmOptions how{
            .row_scale = a.row_scale, .col_scale = a.col_scale, .bias = span_of(bias), .row_order = order};
        spmm_into(out, *a.pattern, x, how);
      },
      [&out, &x, a, bias] {
        LaunchStep s = over(LaunchStep::Kind::sum, *a.pattern, out);
        s.floats_in = x.view().data;
        s.row_scale = a.row_scale.data();
        s.neighbor_scale = a.col_scale.data();
        s.bias = span_of(bias).data();
        return s;
      });
}

void Forward::aggregate(Floats& out, const Floats& x, Aggregation aggregation, const Buffer<float>* bias) {
  if (parts_ > 1) return by_parts(out, x, aggregation, bias);
  add_sum(out, x, graph_.of(aggregation), bias);
}

void Forward::make_parts(Aggregation aggregation, bool by_order) {
  if (streamed_) return;
  if (sequences_.sell) {
    static_cast<void>(graph_.sell_blocks_of(aggregation, parts_));
    return;
  }
  for (const CsrPattern& part : graph_.blocks_of(aggregation, parts_)) {
    if (by_order) static_cast<void>(graph_.row_order(part));
  }
}

template <class Fn>
void Forward::for_each_part(Aggregation aggregation, Fn&& fn) {
  const std::size_t n = num_nodes();
  for (std::size_t part = 0; part < parts_; ++part) {
    const std::size_t first = first_row(n, part, parts_);
    const std::size_t rows = first_row(n, part + 1, parts_) - first;
    if (rows == 0) continue;
    if (streamed_) {
      fn(graph_.rows_of(aggregation, static_cast<NodeId>(first), static_cast<NodeId>(first + rows)), first, rows);
    } else if (sequences_.sell) {
      fn(graph_.sell_blocks_of(aggregation, parts_)[part], first, rows);
    } else {
      fn(graph_.blocks_of(aggregation, parts_)[part], first, rows);
    }
  }
}

const RowOrder* Forward::order_of(const CsrPattern& part) { return streamed_ ? nullptr : &graph_.row_order(part); }

/// Aggregation with a part of the pattern's rows at a time.
template <class Out, class X>
void Forward::by_parts(Out& out, const X& x, Aggregation aggregation, const Buffer<float>* bias) {
  constexpr bool vote = std::is_same_v<Out, Bits>;
  const AggregationOperand a = vote ? AggregationOperand{} : graph_.scales_of(aggregation);
  // The rows of the output are found once: a bit matrix over words of a device is checked, which waits for it.
  auto& targets = rows_of<Out>();
  targets.emplace_back();
  std::vector<Out>& to_rows = targets.back();
  for (std::size_t part = 0; part < parts_; ++part) {
    const std::size_t first = first_row(num_nodes(), part, parts_);
    to_rows.push_back(some_rows(out, first, first_row(num_nodes(), part + 1, parts_) - first));
  }
  const bool by_order = vote || spmm_sums_by_order(out.ncols());
  make_parts(aggregation, by_order);
  step(vote ? "BSpMM.BBB by parts" : "BSpMM.FBF by parts", [this, &to_rows, &x, a, aggregation, bias, by_order] {
    std::size_t part = 0;
    for_each_part(aggregation, [&](const auto& pattern, std::size_t first, std::size_t rows) {
      while (to_rows[part].nrows() == 0) ++part;
      Out& to = to_rows[part++];
      const auto row_scale = a.row_scale.empty() ? a.row_scale : a.row_scale.subspan(first, rows);
      if constexpr (vote || !std::is_same_v<decltype(pattern), const SellPattern&>) {
        const SpmmOptions how{.row_scale = row_scale,
                              .col_scale = a.col_scale,
                              .bias = span_of(bias),
                              .row_order = by_order ? order_of(pattern) : nullptr};
        spmm_into(to, pattern, x, how);
      }
    });
  });
}

/// A mean of products as the product of counts: whole numbers until the last step.
void Forward::count_and_multiply(Floats& out, const Bits& x, std::size_t l) {
  const Aggregation aggregation = shapes_[l].aggregation;
  const Linear& linear = weights_[l].neighbor;
  const AggregationOperand a = graph_.scales_of(aggregation);
  Floats& counts = floats_.emplace_back(most_rows(num_nodes(), parts_), x.ncols(), device_);
  const auto multiply = [&linear, a](Floats& to, const Floats& counted, std::size_t first, std::size_t rows) {
    binary_weight_gemm_into(to, counted, linear.signs().bits,
                            {.row_scale = a.row_scale.subspan(first, rows),
                             .col_scale = linear.signs().alpha.span(),
                             .bias = linear.bias.span()});
  };
  if (parts_ == 1) {
    const CsrPattern* pattern = graph_.of(aggregation).pattern;
    const RowOrder& order = graph_.row_order(*pattern);
    step("BSpMM.BBF", [&counts, &x, pattern, &order] { spmm_into(counts, *pattern, x, {.row_order = &order}); });
    return step("BMM, counts", [this, &out, &counts, multiply] { multiply(out, counts, 0, num_nodes()); });
  }
  make_parts(aggregation, true);
  step("BSpMM.BBF + BMM by parts", [this, &out, &counts, &x, aggregation, multiply] {
    for_each_part(aggregation, [&](const auto& pattern, std::size_t first, std::size_t rows) {
      Floats counted = some_rows(counts, 0, rows);
      Floats to = some_rows(out, first, rows);
      spmm_into(counted, pattern, x, {.row_order = order_of(pattern)});
      multiply(to, counted, first, rows);
    });
  });
}

void Forward::vote(Bits& votes, const Bits& signs, Aggregation aggregation) {
  if (parts_ > 1) return by_parts(votes, signs, aggregation, nullptr);
  SpmmOptions how{.strategy = options_.strategy};
  if (options_.graph == GraphFormat::sell) {
    const SellPattern& a = graph_.sell(aggregation);
    return step("BSpMM.BBB", [&votes, &signs, &a, how] { spmm_into(votes, a, signs, how); });
  }
  if (options_.graph == GraphFormat::tiles) {
    const BitTileMatrix& a = graph_.tiles(aggregation, options_.tile_dim);
    return step("BSpMM.BBB", [&votes, &signs, &a, how] { spmm_into(votes, a, signs, how); });
  }
  const AggregationOperand a = graph_.of(aggregation);
  how.row_order = &graph_.row_order(*a.pattern);
  step(
      "BSpMM.BBB", [&votes, &signs, a, how] { spmm_into(votes, *a.pattern, signs, how); },
      [&votes, &signs, a] {
        LaunchStep s = over(LaunchStep::Kind::vote, *a.pattern, votes);
        s.bits_in = std::as_const(signs).view().words;
        return s;
      });
}

}  // namespace bitgraph::nn
