// SPDX-License-Identifier: Apache-2.0
// Patterns of operators that have one kernel on a CUDA device. Each row of the table looks for its pattern at one
// operator and rewrites it; what it leaves unread goes afterwards.
#include "nn/program/passes/passes.hpp"

#include <bitgraph/ops/fused_vote.hpp>
#include <bitgraph/ops/level_sum_product.hpp>

#include <algorithm>
#include <array>

namespace bitgraph::nn {

namespace {

using Kind = OperatorKind;

/// Whether votes have kernels that do what follows them. They walk over the pattern. A small graph is one launch as it
/// is.
bool may_fuse(const Program& program, const PassContext& context) {
  const InferenceOptions& o = context.options;
  const bool pattern = std::ranges::none_of(program.operators, [](const Operator& op) {
    return op.graph == GraphForm::sell || op.graph == GraphForm::sell_blocks || op.graph == GraphForm::tiles;
  });
  return !context.on_host && context.whole && pattern &&
         !may_be_one_launch(o, context.graph.nodes, context.graph.entries) && o.fusion == Fusion::automatic &&
         o.strategy == SpmmStrategy::automatic;
}

const Operator* maker(const Program& program, ValueId value) {
  const std::size_t n = program.producer(value);
  return n == program.operators.size() ? nullptr : &program.operators[n];
}

/// The operator that makes a value, if it is of that kind and nobody else reads the value.
const Operator* only_read(const Program& program, ValueId value, Kind kind) {
  const Operator* const op = maker(program, value);
  return op != nullptr && op->kind == kind && program.uses(value) == 1 ? op : nullptr;
}

/// The only reader of a value, if it is of that kind.
const Operator* only_reader(const Program& program, ValueId value, Kind kind) {
  if (program.uses(value) != 1) return nullptr;
  for (const Operator& op : program.operators) {
    if (op.kind == kind && !op.inputs.empty() && op.inputs[0] == value) return &op;
  }
  return nullptr;
}

EdgeOffset longest_row(const PassContext& context) { return context.graph.longest_row + 1; }  // with a loop

/// A vote, and the or with the node's own signs where there is one: one operator.
bool fuse_vote(Program& program, std::size_t n, const PassContext& context) {
  const Operator& vote = program.operators[n];
  if (vote.kind != Kind::aggregate || !program.value(vote.output()).is_signs()) return false;
  if (!can_fuse(program.value(vote.output()).columns, longest_row(context))) return false;
  Operator fused{.kind = Kind::vote_post_op,
                 .inputs = {vote.inputs[0], no_value, no_value},
                 .outputs = vote.outputs,
                 .layer = vote.layer,
                 .aggregation = vote.aggregation,
                 .graph = GraphForm::csr_by_length};
  std::size_t at = n;
  if (const Operator* const add = only_reader(program, vote.output(), Kind::add)) {
    fused.inputs[1] = add->inputs[1];
    fused.outputs = add->outputs;
    at = static_cast<std::size_t>(add - program.operators.data());
    program.operators[n].outputs = {program.add_value(program.value(vote.output()))};  // read by nobody
  }
  program.operators[at] = std::move(fused);
  return true;
}

/// The two products ahead of a vote become one with the weights of both, whose signs stand side by side: each in whole
/// sectors of memory, so that a gather of one does not get the other with it.
bool join_products(Program& program, std::size_t n, const PassContext& context) {
  Operator& vote = program.operators[n];
  if (vote.kind != Kind::vote_post_op || vote.own_beside || vote.inputs[1] == no_value) return false;
  const Operator* const neighbor = only_read(program, vote.inputs[0], Kind::product);
  const Operator* const root = only_read(program, vote.inputs[1], Kind::product);
  if (neighbor == nullptr || root == nullptr || neighbor->inputs != root->inputs) return false;
  const std::size_t columns = program.value(vote.inputs[0]).columns;
  if (columns % 256 != 0 || (context.sparse_features && neighbor->inputs[0] == program.features)) return false;
  const auto first = static_cast<std::size_t>(neighbor - program.operators.data());
  const ValueId both = program.add_value({2 * columns, program.value(vote.inputs[0]).format});
  program.operators[first].weight = WeightOf::both;
  program.operators[first].outputs = {both};
  vote.inputs[0] = both;
  vote.inputs[1] = no_value;
  vote.own_beside = true;
  return true;
}

bool has_one_part_or_two(const Program& program, const Operator& concat, ValueId votes) {
  if (concat.inputs.size() == 1) return concat.inputs[0] == votes;
  const std::size_t columns = program.value(votes).columns;
  return concat.inputs.size() == 2 && concat.inputs[1] == votes && columns % 64 == 0 &&
         program.value(concat.inputs[0]).is_signs() && program.value(concat.inputs[0]).columns == columns;
}

/// A vote and the product of the last layer, which aggregates nothing: of its signs, or of those and the output before.
bool fuse_logits(Program& program, std::size_t n, const PassContext&) {
  Operator& vote = program.operators[n];
  if (vote.kind != Kind::vote_post_op || vote.post_op != VotePostOp::none) return false;
  const ValueId votes = vote.output();
  ValueId joined = votes;
  for (const Operator& op : program.operators) {
    if (op.kind == Kind::concat && has_one_part_or_two(program, op, votes)) joined = op.output();
  }
  const Operator* const product = only_reader(program, joined, Kind::product);
  if (product == nullptr || !product->multiplies_signs() || program.uses(votes) != 1) return false;
  if (product->output() != program.result || program.value(product->output()).columns > RowScores::most) return false;
  if (joined != votes) {
    const Operator& concat = *maker(program, joined);
    if (concat.inputs.size() == 2) vote.inputs[2] = concat.inputs[0];
  }
  vote.post_op = VotePostOp::logits;
  vote.weight = product->weight;
  vote.weight_format = product->weight_format;
  vote.bias = BiasOf::weight;
  vote.outputs = product->outputs;
  program.operators[static_cast<std::size_t>(product - program.operators.data())].outputs = {
      program.add_value({1, {}})};  // read by nobody
  return true;
}

/// Whether an aggregation adds neighbours' products up with a weight each.
bool weighs_neighbors(const Operator& aggregate) { return aggregate.aggregation == Aggregation::symmetric; }

/// A vote and the products of the last layer, whose sums over neighbours add_scores makes.
bool fuse_scores(Program& program, std::size_t n, const PassContext&) {
  Operator& vote = program.operators[n];
  if (vote.kind != Kind::vote_post_op || vote.post_op != VotePostOp::none) return false;
  const ValueId votes = vote.output();
  const Operator* sum = nullptr;
  const Operator* product = nullptr;
  for (const Operator& op : program.operators) {
    if (op.kind != Kind::aggregate || (weighs_neighbors(op) && program.value(votes).columns % 2 != 0)) continue;
    const Operator* const ahead = only_read(program, op.inputs[0], Kind::product);
    if (ahead == nullptr || ahead->inputs[0] != votes || !ahead->multiplies_signs()) continue;
    sum = &op;
    product = ahead;
  }
  if (sum == nullptr || program.value(sum->output()).is_signs()) return false;
  const std::size_t classes = program.value(sum->output()).columns;
  if (classes > RowScores::most) return false;
  const Operator* const add = only_reader(program, sum->output(), Kind::add);
  if (weighs_neighbors(*sum) && (add != nullptr || product->bias != BiasOf::weight)) return false;
  if (add != nullptr) {
    const Operator* const own = only_read(program, add->inputs[1], Kind::product);
    if (own == nullptr || own->inputs[0] != votes) return false;
  }
  const ValueId result = add != nullptr ? add->output() : sum->output();
  if (result != program.result || program.uses(votes) != (add != nullptr ? 2U : 1U)) return false;

  const ValueId scores = program.add_value({.columns = classes, .scored_bits = program.value(votes).columns});
  vote.post_op = VotePostOp::scores;
  vote.weight = WeightOf::neighbor;
  vote.weight_format = product->weight_format;
  vote.outputs = {scores};
  Operator last{.kind = Kind::add_scores,
                .inputs = {scores},
                .outputs = {result},
                .layer = sum->layer,
                .aggregation = sum->aggregation,
                .weight = WeightOf::neighbor,
                .weight_format = product->weight_format,
                .bias = BiasOf::weight,
                .graph = GraphForm::csr_by_length};
  const std::size_t at = static_cast<std::size_t>((add != nullptr ? add : sum) - program.operators.data());
  if (add != nullptr) {
    const ValueId own = program.add_value({classes, {}});
    program.operators[n].outputs.push_back(own);
    program.operators[n].root = true;
    last.inputs.push_back(own);
    last.root = true;
  }
  program.operators[at] = std::move(last);
  return true;
}

/// A product of signs whose sum over neighbours has a weight for each. What is gathered is bytes, not floats.
bool fuse_scaled_scores(Program& program, std::size_t n, const PassContext& context) {
  const Operator& sum = program.operators[n];
  if (sum.kind != Kind::aggregate || !weighs_neighbors(sum) || program.value(sum.output()).is_signs()) return false;
  const Operator* const product = only_read(program, sum.inputs[0], Kind::product);
  if (product == nullptr || !product->multiplies_signs() || product->bias != BiasOf::weight) return false;
  const Value x = program.value(product->inputs[0]);
  if (!x.is_signs() || x.format.scale != ScaleExtent::none || sum.bias != BiasOf::none) return false;
  const std::size_t columns = program.value(sum.output()).columns;
  if (!ScaledScores::can_hold(columns, x.columns) || !can_fuse(64, longest_row(context))) return false;

  const auto first = static_cast<std::size_t>(product - program.operators.data());
  const ValueId scores = program.add_value({.columns = columns, .scored_bits = x.columns, .scaled_scores = true});
  Operator& made = program.operators[first];
  Operator& added = program.operators[n];
  made.outputs = {scores};
  made.aggregation = added.aggregation;
  added.kind = Kind::add_scores;
  added.graph = GraphForm::csr_by_length;
  added.inputs = {scores};
  added.weight = made.weight;
  added.weight_format = made.weight_format;
  added.bias = BiasOf::weight;
  return true;
}

/// Counts of neighbours' bits and their product, and the node's own product where there is one.
bool fuse_counts(Program& program, std::size_t n, const PassContext& context) {
  const Operator& product = program.operators[n];
  if (product.kind != Kind::product || !product.multiplies_signs() || product.aggregation == Aggregation::none)
    return false;
  const Operator* const counts = only_read(program, product.inputs[0], Kind::aggregate);
  if (counts == nullptr) return false;
  const std::size_t columns = program.value(product.inputs[0]).columns;
  if (!can_fuse_counts(columns, longest_row(context), program.value(product.output()).columns)) return false;
  Operator fused{.kind = Kind::multiply_counts,
                 .inputs = counts->inputs,
                 .outputs = product.outputs,
                 .layer = product.layer,
                 .aggregation = product.aggregation,
                 .weight = product.weight,
                 .weight_format = product.weight_format,
                 .bias = BiasOf::weight,
                 .graph = GraphForm::csr_by_length};
  std::size_t at = n;
  if (const Operator* const add = only_reader(program, product.output(), Kind::add)) {
    const Operator* const own = only_read(program, add->inputs[1], Kind::product);
    if (own == nullptr || own->inputs != counts->inputs) return false;
    fused.root = true;
    fused.outputs = add->outputs;
    at = static_cast<std::size_t>(add - program.operators.data());
    program.operators[n].outputs = {program.add_value({1, {}})};  // read by nobody
  }
  program.operators[at] = std::move(fused);
  return true;
}

/// A sum of levels and a product of few outputs behind it: the levels between them stay in the kernel.
bool fuse_sum_of_levels(Program& program, std::size_t n, const PassContext&) {
  const Operator product = program.operators[n];
  if (product.kind != Kind::product || !product.multiplies_levels() || product.inputs.size() != 1) return false;
  if (product.aggregation != Aggregation::none || product.reorders) return false;
  const Operator* const sum = only_read(program, product.inputs[0], Kind::aggregate);
  if (sum == nullptr || !is_by_length(sum->graph) || sum->by_parts) return false;
  if (sum->activation == Activation::tanh || product.activation == Activation::tanh) return false;
  const Value &x = program.value(sum->inputs[0]), &between = program.value(sum->output()),
              &out = program.value(product.output());
  if (!x.is_levels() || !out.is_levels() || out.format.scale == ScaleExtent::row) return false;
  if (between.format.scale != ScaleExtent::tensor) return false;
  const bool adds = adds_planes(program, *sum);
  if (adds != (x.packing == LevelPacking::planes)) return false;  // it would make planes of levels in places
  if (!level_sum_product_can({.x_bits = x.format.bits,
                              .packing = x.packing,
                              .between_bits = between.format.bits,
                              .w_bits = product.weight_format.bits,
                              .out_bits = out.format.bits,
                              .columns = x.columns,
                              .outputs = out.columns}))
    return false;
  Operator fused = *sum;
  fused.kind = Kind::multiply_sums;
  fused.outputs = {product.output(), sum->output()};
  if (adds) {
    const ValueId memory = sum->outputs.back();
    fused.outputs.push_back(memory);
    program.values[memory].prepared_words = level_sum_product_words(x.columns);
  }
  program.values[sum->output()].in_kernel = true;
  fused.behind = {product};
  fused.behind.front().inputs.clear();  // values are numbered anew
  fused.behind.front().outputs.clear();
  program.operators[static_cast<std::size_t>(sum - program.operators.data())].outputs = {program.add_value({1, {}})};
  program.operators[n] = std::move(fused);
  return true;
}

struct Pattern {
  const char* name;
  bool (*rewrite)(Program&, std::size_t, const PassContext&);
};

constexpr std::array patterns{Pattern{"counts and their product", fuse_counts},
                              Pattern{"a vote and the or behind it", fuse_vote},
                              Pattern{"two products of one input", join_products},
                              Pattern{"a vote and the last product", fuse_logits},
                              Pattern{"a vote and the last layer's scores", fuse_scores},
                              Pattern{"a product of signs and its weighed sum", fuse_scaled_scores},
                              Pattern{"a sum of levels and a product of few outputs", fuse_sum_of_levels}};

}  // namespace

void fuse(Program& program, const PassContext& context) {
  if (!may_fuse(program, context)) return;
  for (const Pattern& pattern : patterns) {
    for (std::size_t n = 0; n < program.operators.size(); ++n) pattern.rewrite(program, n, context);
    remove_dead(program);
  }
}

}  // namespace bitgraph::nn
