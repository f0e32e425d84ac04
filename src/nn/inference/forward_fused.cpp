// SPDX-License-Identifier: Apache-2.0
// The layers of a plan that have one kernel for several operators.
#include "nn/inference/forward.hpp"

#include <algorithm>
#include <utility>

namespace bitgraph::nn {

/// A product with the weights of both has their signs side by side: each in whole sectors of memory, so that who
/// gathers one does not get the other with it.
bool Forward::joins_signs(std::size_t l) const {
  const bool sparse = l == 0 && features_.packed && features_.packed->sparse;
  const bool votes = sequences_.fused[l] && options_.forms[l].votes();
  return votes && shapes_[l].root && shapes_[l].outputs % 256 == 0 && !sparse;
}

void Forward::product_of_both(Bits& out, const Activation& in, std::size_t l) {
  const Bits& x = in.features != nullptr ? in.features->packed->dense->bits : *in.bits;
  const auto alpha = in.features != nullptr ? in.features->packed->alpha() : in.alpha;
  step("BMM.BBB", [&out, &x, alpha, &both = weights_[l].both] {
    gemm_into(out, x, both.signs().bits,
              {.row_scale = alpha, .col_scale = both.signs().alpha.span(), .bias = both.bias.span()});
  });
}

Forward::Signs Forward::products_ahead_of_vote(std::size_t l, const Activation& in) {
  const Activation x = as_signs(in);
  const bool joined = joins_signs(l);
  const std::size_t width = (joined ? 2 : 1) * shapes_[l].outputs;
  const bool again = signs_ != nullptr && signs_->ncols() == width;
  Signs signs{again ? signs_ : &bits(width), nullptr, joined};
  signs_ = signs.neighbors;
  if (joined) {
    product_of_both(*signs.neighbors, x, l);
    return signs;
  }
  binary_product(*signs.neighbors, x, l, false);
  if (shapes_[l].root) {
    signs.own = &bits(width);
    binary_product(*signs.own, x, l, true);
  }
  return signs;
}

Forward::Activation Forward::fused_vote(std::size_t l, const Activation& in) {
  const Signs signs = products_ahead_of_vote(l, in);
  Bits& votes = signs.own != nullptr ? *signs.own : bits(shapes_[l].outputs);
  const CsrPattern* pattern = graph_.of(shapes_[l].aggregation).pattern;
  const RowOrder& order = graph_.row_order(*pattern);
  step(shapes_[l].root ? "BSpMM.BBB + ADD.BBB" : "BSpMM.BBB", [signs, &votes, pattern, &order] {
    vote_into({.own = signs.own, .own_beside = signs.beside, .votes = &votes}, *pattern, order, *signs.neighbors);
  });
  return {.bits = &votes};
}

Forward::Activation Forward::fused_last_layers(std::size_t l, const Activation& in, const Bits* before) {
  const Signs signs = products_ahead_of_vote(l, in);
  const CsrPattern* pattern = graph_.of(shapes_[l].aggregation).pattern;
  const RowOrder& order = graph_.row_order(*pattern);
  const LayerShape& last = shapes_[l + 1];
  const Weights& w = weights_[l + 1];
  Floats& out = floats(last.outputs);
  const char* const name = shapes_[l].root ? "BSpMM.BBB + ADD.BBB + BMM.BBF" : "BSpMM.BBB + BMM.BBF";
  if (sequences_.post_op[l] == VotePostOp::logits) {
    step(name, [signs, pattern, &order, &w, &out, before] {
      vote_into({.own = signs.own,
                 .own_beside = signs.beside,
                 .multiplied = &w.neighbor.signs().bits,
                 .before = before,
                 .col_scale = w.neighbor.signs().alpha.span(),
                 .bias = w.neighbor.bias.span(),
                 .products = &out},
                *pattern, order, *signs.neighbors);
    });
    return {.floats = &out};
  }
  RowScores& scores = scores_.emplace_back(num_nodes(), last.outputs, shapes_[l].outputs, device_);
  step(name, [signs, pattern, &order, &w, &out, &scores, root = last.root] {
    VoteUse use{.own = signs.own, .own_beside = signs.beside, .scored = &w.neighbor.signs().bits, .scores = &scores};
    if (root) {
      use.multiplied = &w.root.signs().bits;
      use.col_scale = w.root.signs().alpha.span();
      use.bias = w.root.bias.span();
      use.products = &out;
    }
    vote_into(use, *pattern, order, *signs.neighbors);
  });
  const AggregationOperand a = graph_.of(last.aggregation);
  const RowOrder& order_of_last = graph_.row_order(*a.pattern);
  step(last.root ? "BSpMM.FBF + ADD.FFF" : "BSpMM.FBF", [a, &order_of_last, &w, &out, &scores, root = last.root] {
    add_scores_into(out, *a.pattern, order_of_last, scores,
                    {.row_scale = a.row_scale,
                     .col_scale = w.neighbor.signs().alpha.span(),
                     .bias = w.neighbor.bias.span(),
                     .add = root});
  });
  return {.floats = &out};
}

void Forward::fused_counts(Floats& out, const Bits& x, std::size_t l) {
  const AggregationOperand a = graph_.of(shapes_[l].aggregation);
  const RowOrder& order = graph_.row_order(*a.pattern);
  const bool root = shapes_[l].root;
  step(root ? "BSpMM.BBF + BMM + ADD.FFF" : "BSpMM.BBF + BMM", [&out, &x, a, &order, &w = weights_[l], root] {
    OwnProduct own;
    if (root) own = {&w.root.signs().bits, w.root.signs().alpha.span(), w.root.bias.span()};
    multiply_counts_into(
        out, *a.pattern, order, x, w.neighbor.signs().bits,
        {.row_scale = a.row_scale, .col_scale = w.neighbor.signs().alpha.span(), .bias = w.neighbor.bias.span()}, own);
  });
}

}  // namespace bitgraph::nn
