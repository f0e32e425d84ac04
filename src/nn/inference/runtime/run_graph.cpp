// SPDX-License-Identifier: Apache-2.0
// Operators over a node's neighbours: sums, counts and votes, whole or a part of the graph's rows at a time.
#include <bitgraph/ops/dense.hpp>
#include <bitgraph/ops/fused_vote.hpp>
#include <bitgraph/ops/gemm.hpp>
#include <bitgraph/ops/level_spmm.hpp>
#include <bitgraph/ops/level_sum_product.hpp>
#include <bitgraph/ops/plane_gemm.hpp>
#include <bitgraph/ops/spmm.hpp>

#include "nn/inference/row_blocks.hpp"
#include "nn/inference/runtime/kernels.hpp"
#include "nn/inference/runtime/runtime.hpp"
#include "nn/model/some_rows.hpp"

#include <type_traits>
#include <utility>

namespace bitgraph::nn {

namespace {

using Bits = BitMatrix<PlusMinusOne>;
using Floats = DenseMatrix<float>;

bool votes(const Runtime& at, const Operator& op) { return at.makes_bits(op.output()); }

/// The order in which an operator takes the rows of a pattern; null: as they are.
const RowOrder* order_of(Runtime& at, const Operator& op, const CsrPattern& pattern) {
  return is_by_length(op.graph) ? &at.graph().row_order(pattern, op.graph) : nullptr;
}
const RowOrder* order_of(Runtime&, const Operator&, const SellPattern&) { return nullptr; }

/// Makes the parts that stay, before the first run.
void find_parts(Runtime& at, const Operator& op) {
  if (at.streamed()) return;
  if (op.graph == GraphForm::sell_blocks) {
    static_cast<void>(at.graph().sell_blocks_of(op.aggregation, at.parts()));
    return;
  }
  for (const CsrPattern& part : at.graph().blocks_of(op.aggregation, at.parts()))
    static_cast<void>(order_of(at, op, part));
}

/// Calls fn(pattern, part, first row, rows) for the parts of the graph, one after the other.
template <class Fn>
void for_each_part(Runtime& at, const Operator& op, Fn&& fn) {
  const Aggregation aggregation = op.aggregation;
  for (std::size_t part = 0; part < at.parts(); ++part) {
    const std::size_t first = first_row(at.num_nodes(), part, at.parts());
    const std::size_t rows = first_row(at.num_nodes(), part + 1, at.parts()) - first;
    if (rows == 0) continue;
    if (at.streamed()) {
      fn(at.graph().rows_of(aggregation, static_cast<NodeId>(first), static_cast<NodeId>(first + rows)), part, first,
         rows);
    } else if (op.graph == GraphForm::sell_blocks) {
      fn(at.graph().sell_blocks_of(aggregation, at.parts())[part], part, first, rows);
    } else {
      fn(at.graph().blocks_of(aggregation, at.parts())[part], part, first, rows);
    }
  }
}

/// Aggregation with a part of the pattern's rows at a time.
template <class X, class Out>
void run_by_parts(Runtime& at, const Operator& op, const Prepared& prepared, const X& x, std::vector<Out>& to_rows) {
  constexpr bool is_vote = std::is_same_v<Out, Bits>;
  for_each_part(at, op, [&](const auto& pattern, std::size_t part, std::size_t first, std::size_t rows) {
    const auto row_scale = prepared.operand.row_scale;
    if constexpr (is_vote || !std::is_same_v<decltype(pattern), const SellPattern&>) {
      spmm_into(to_rows[part], pattern, x,
                {.row_scale = row_scale.empty() ? row_scale : row_scale.subspan(first, rows),
                 .col_scale = prepared.operand.col_scale,
                 .bias = at.weights().bias(op),
                 .row_order = order_of(at, op, pattern)});
    }
  });
}

LevelSpmmOptions level_options(Runtime& at, const Operator& op, const Prepared& prepared) {
  const bool has_memory = adds_planes(at.program(), op);
  return {.row_scale = prepared.operand.row_scale,
          .bias = at.weights().bias(op),
          .activation = op.activation,
          .row_order = prepared.order,
          .planes = has_memory ? at.sum_memory(op.outputs.back()).span() : std::span<std::uint64_t>(),
          .prepared = has_memory && at.program().value(op.outputs.back()).prepared_words != 0,
          .out_rows = prepared.out_rows};
}

/// Sums of levels, as levels or as floats.
void add_levels(Runtime& at, const Operator& op, Prepared& prepared) {
  const QuantizedMatrix& x = at.levels_in(op.inputs[0]);
  const bool to_levels = at.makes_levels(op.output());
  if (multiplies_planes(at.program(), op)) {
    const LevelSpmmOptions how = level_options(at, op, prepared);
    BitPlanes& planes = at.planes(op.outputs[1]);
    pack_planes_into(planes, x);
    if (to_levels) return plane_gemm_into(at.levels(op.output()), *prepared.tiles, planes, how);
    return plane_gemm_into(at.floats(op.output()), *prepared.tiles, planes, how);
  }
  if (!op.by_parts) {
    const LevelSpmmOptions how = level_options(at, op, prepared);
    const CsrPattern& pattern = *prepared.operand.pattern;
    if (to_levels) return level_spmm_into(at.levels(op.output()), pattern, x, how);
    return level_spmm_into(at.floats(op.output()), pattern, x, how);
  }
  for_each_part(at, op, [&](const auto& pattern, std::size_t part, std::size_t first, std::size_t rows) {
    if constexpr (!std::is_same_v<decltype(pattern), const SellPattern&>) {
      LevelSpmmOptions how = level_options(at, op, prepared);
      if (!how.row_scale.empty()) how.row_scale = how.row_scale.subspan(first, rows);
      how.row_order = order_of(at, op, pattern);
      if (to_levels) return level_spmm_into(prepared.level_rows[part], pattern, x, how);
      level_spmm_into(prepared.float_rows[part], pattern, x, how);
    }
  });
}

SpmmOptions options_of(const Runtime& at, const Operator& op, const Prepared& prepared) {
  if (at.makes_bits(op.inputs[0])) return {.strategy = at.options().strategy, .row_order = prepared.order};
  return {.row_scale = prepared.operand.row_scale,
          .col_scale = prepared.operand.col_scale,
          .bias = at.weights().bias(op),
          .row_order = prepared.order};
}

}  // namespace

void find_rows(Runtime& at, const Operator& op, Prepared& prepared) {
  if (op.kind == OperatorKind::vote_post_op && op.post_op != VotePostOp::scores) {
    prepared.operand.pattern = &at.graph().pattern_of(op.aggregation);
  } else {
    prepared.operand = at.graph().of(op.aggregation);
  }
  prepared.order = order_of(at, op, *prepared.operand.pattern);
}

void find_aggregate(Runtime& at, const Operator& op, Prepared& prepared) {
  if (op.reorders) prepared.out_rows = at.back().nodes().span();
  if (op.by_parts) {
    if (!votes(at, op)) prepared.operand = at.graph().scales_of(op.aggregation);
    return find_parts(at, op);
  }
  if (!votes(at, op)) prepared.operand = at.graph().scales_of(op.aggregation);
  if (op.graph == GraphForm::tiles) {
    const bool of_planes = multiplies_planes(at.program(), op);
    prepared.tiles = &at.graph().tiles(op.aggregation, of_planes ? int{side_of_planes} : at.options().tile_dim);
  } else if (op.graph == GraphForm::sell) {
    prepared.sell = &at.graph().sell(op.aggregation);
  } else {
    prepared.operand.pattern = &at.graph().pattern_of(op.aggregation);
    prepared.order = order_of(at, op, *prepared.operand.pattern);
  }
}

namespace {

/// Calls fn() with the operands of a sum and the product behind it.
template <class Fn>
void with_sum_and_product(Runtime& at, const Operator& op, const Prepared& prepared, const Fn& fn) {
  const Operator& product = op.behind.front();
  const Value& between = at.program().value(op.outputs[1]);
  fn(at.levels(op.output()), *prepared.operand.pattern, at.levels_in(op.inputs[0]), level_options(at, op, prepared),
     LevelsBetween{.bits = between.format.bits, .scale = &at.weights().scale_of(between)},
     at.weights().of(product).levels,
     LevelGemmOptions{.bias = at.weights().bias(product), .activation = product.activation});
}

}  // namespace

void run_multiply_sums(Runtime& at, const Operator& op, Prepared& prepared) {
  with_sum_and_product(at, op, prepared,
                       [](auto& out, const auto&... operands) { level_sum_product_into(out, operands...); });
}

void prepare_sum(Runtime& at, const Operator& op, const Prepared& prepared) {
  if (op.kind == OperatorKind::multiply_sums) {
    return with_sum_and_product(
        at, op, prepared, [](auto& out, const auto&... operands) { level_sum_product_prepare(out, operands...); });
  }
  level_spmm_prepare(at.levels(op.output()), *prepared.operand.pattern, at.levels_in(op.inputs[0]),
                     level_options(at, op, prepared));
}

void bind_aggregate(Runtime& at, const Operator& op, Prepared& prepared) {
  if (!op.by_parts) return;
  prepared.bit_rows.clear();
  prepared.float_rows.clear();
  prepared.level_rows.clear();
  for (std::size_t part = 0; part < at.parts(); ++part) {
    const std::size_t first = first_row(at.num_nodes(), part, at.parts());
    const std::size_t rows = first_row(at.num_nodes(), part + 1, at.parts()) - first;
    if (at.makes_levels(op.output())) {
      prepared.level_rows.push_back(some_rows(at.levels(op.output()), first, rows));
    } else if (votes(at, op)) {
      prepared.bit_rows.push_back(some_rows(at.bits(op.output()), first, rows));
    } else {
      prepared.float_rows.push_back(some_rows(at.floats(op.output()), first, rows));
    }
  }
}

void run_aggregate(Runtime& at, const Operator& op, Prepared& prepared) {
  const ValueId x = op.inputs[0];
  if (at.makes_levels(x)) return add_levels(at, op, prepared);
  if (op.by_parts) {
    if (votes(at, op)) return run_by_parts(at, op, prepared, at.bits_in(x), prepared.bit_rows);
    return run_by_parts(at, op, prepared, at.floats_in(x), prepared.float_rows);
  }
  const SpmmOptions how = options_of(at, op, prepared);
  if (prepared.sell != nullptr) return spmm_into(at.bits(op.output()), *prepared.sell, at.bits_in(x), how);
  if (prepared.tiles != nullptr) return spmm_into(at.bits(op.output()), *prepared.tiles, at.bits_in(x), how);
  const CsrPattern& pattern = *prepared.operand.pattern;
  if (votes(at, op)) return spmm_into(at.bits(op.output()), pattern, at.bits_in(x), how);
  if (at.makes_bits(x)) {  // counts
    return spmm_into(at.floats(op.output()), pattern, at.bits_in(x), {.row_order = prepared.order});
  }
  spmm_into(at.floats(op.output()), pattern, at.floats_in(x), how);
}

void find_reorder(Runtime& at, const Operator&, Prepared&) { static_cast<void>(at.back().rows()); }

void run_reorder(Runtime& at, const Operator& op, Prepared&) {
  gather_rows_into(at.floats(op.output()), at.floats_in(op.inputs[0]), at.back().rows());
}

void find_readout(Runtime& at, const Operator&, Prepared& prepared) {
  prepared.operand.pattern = &at.graph().readout();
}

void run_readout(Runtime& at, const Operator& op, Prepared& prepared) {
  spmm_into(at.floats(op.output()), *prepared.operand.pattern, at.floats_in(op.inputs[0]),
            {.bias = at.weights().bias(op)});
}

void run_vote_post_op(Runtime& at, const Operator& op, Prepared& prepared) {
  const auto bits_or_null = [&](ValueId v) { return v == no_value ? nullptr : &at.bits_in(v); };
  VoteUse use{.own = bits_or_null(op.inputs[1]), .own_beside = op.own_beside};
  const std::size_t next = op.layer + 1;
  if (op.post_op == VotePostOp::none) {
    use.votes = &at.bits(op.output());
  } else if (op.post_op == VotePostOp::logits) {
    const Linear& w = at.weights().of(next, WeightOf::neighbor).linear;
    use.multiplied = &w.signs().bits;
    use.before = bits_or_null(op.inputs[2]);
    use.col_scale = w.signs().alpha.span();
    use.bias = w.bias.span();
    use.products = &at.floats(op.output());
  } else {
    use.scored = &at.weights().of(next, WeightOf::neighbor).linear.signs().bits;
    use.scores = &at.scores(op.output());
    use.score_scale = prepared.operand.col_scale;
    if (op.root) {
      const Linear& w = at.weights().of(next, WeightOf::root).linear;
      use.multiplied = &w.signs().bits;
      use.col_scale = w.signs().alpha.span();
      use.bias = w.bias.span();
      use.products = &at.floats(op.outputs[1]);
    }
  }
  vote_into(use, *prepared.operand.pattern, *prepared.order, at.bits_in(op.inputs[0]));
}

void run_add_scores(Runtime& at, const Operator& op, Prepared& prepared) {
  const Linear& w = at.weights().of(op).linear;
  const AggregateScales scales{.row_scale = prepared.operand.row_scale,
                               .col_scale = w.signs().alpha.span(),
                               .bias = at.weights().bias(op),
                               .add = op.root};
  if (at.makes_scaled_scores(op.inputs[0])) {
    return add_scores_into(at.floats(op.output()), *prepared.operand.pattern, *prepared.order,
                           at.scaled_scores(op.inputs[0]), scales);
  }
  if (op.root && at.name(op.output()) != at.name(op.inputs[1])) {  // it adds to what is there
    const Floats& own = at.floats(op.inputs[1]);
    Device::copy(at.floats(op.output()).values().data(), at.device(), own.values().data(), at.device(), own.bytes());
  }
  add_scores_into(at.floats(op.output()), *prepared.operand.pattern, *prepared.order, at.scores(op.inputs[0]), scales);
}

void find_multiply_counts(Runtime& at, const Operator& op, Prepared& prepared) {
  if (!op.by_parts) return find_rows(at, op, prepared);
  prepared.operand = at.graph().scales_of(op.aggregation);
  find_parts(at, op);
}

/// A mean of products as the product of counts: whole numbers until the last step.
void run_multiply_counts(Runtime& at, const Operator& op, Prepared& prepared) {
  const Linear& w = at.weights().of(op).linear;
  Floats& out = at.floats(op.output());
  const Bits& x = at.bits_in(op.inputs[0]);
  const auto row_scale = prepared.operand.row_scale;
  if (!op.by_parts) {
    OwnProduct own;
    if (op.root) {
      const Linear& root = at.weights().of(op.layer, WeightOf::root).linear;
      own = {&root.signs().bits, root.signs().alpha.span(), root.bias.span()};
    }
    return multiply_counts_into(out, *prepared.operand.pattern, *prepared.order, x, w.signs().bits,
                                {.row_scale = row_scale, .col_scale = w.signs().alpha.span(), .bias = w.bias.span()},
                                own);
  }
  Floats& counts = at.floats(op.outputs[1]);
  for_each_part(at, op, [&](const auto& pattern, std::size_t, std::size_t first, std::size_t rows) {
    Floats counted = some_rows(counts, 0, rows);
    Floats to = some_rows(out, first, rows);
    spmm_into(counted, pattern, x, {.row_order = order_of(at, op, pattern)});
    binary_weight_gemm_into(
        to, counted, w.signs().bits,
        {.row_scale = row_scale.subspan(first, rows), .col_scale = w.signs().alpha.span(), .bias = w.bias.span()});
  });
}

}  // namespace bitgraph::nn
