// SPDX-License-Identifier: Apache-2.0
#include "ops/fused_vote/fused_vote.hpp"

#include <bitgraph/ops/fused_vote.hpp>

#include "ops/explain.hpp"
#include "ops/operands.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace bitgraph {

namespace {

using Bits = BitMatrix<PlusMinusOne>;
using Floats = DenseMatrix<float>;

constexpr std::size_t most_outputs = 63;

const std::uint32_t* words_of(const Bits& bits) { return reinterpret_cast<const std::uint32_t*>(bits.view().words); }
std::uint32_t* words_of(Bits& bits) { return reinterpret_cast<std::uint32_t*>(bits.view().words); }

FusedWeights weights_of(const Bits& w, std::size_t first_word = 0) {
  return {words_of(w) + first_word, 2 * w.words_per_row(), static_cast<unsigned>(w.nrows())};
}

template <class Matrix>
void check_shape(const Matrix& matrix, std::size_t rows, std::size_t cols, const char* name) {
  if (matrix.nrows() != rows || matrix.ncols() != cols) {
    fail(ErrorCode::usage,
         fmt::format("fused: {} is {} x {}, expected {} x {}", name, matrix.nrows(), matrix.ncols(), rows, cols));
  }
}

void check_count(std::size_t weights, std::size_t most) {
  if (weights > most) fail(ErrorCode::not_possible, fmt::format("fused: {} weights, at most {}", weights, most));
}

FusedOrder classes_of(const RowOrder& row_order, const fused_cuda::Plan& chosen) {
  const RowOrderView order = row_order.view();
  return {order.row, order.at_least[chosen.hub_power], order.at_least[chosen.warp_power],
          order.at_least[chosen.group_power]};
}

void check_graph(const CsrPattern& a, const RowOrder& order, std::size_t rows_of_x, std::size_t ncols,
                 const Device& device) {
  if (device.is_host())
    fail(ErrorCode::not_possible, device.name() + ": a fused vote or sum has no kernel for this device");
  if (a.ncols() != rows_of_x || a.nrows() != a.ncols()) {
    fail(ErrorCode::usage, fmt::format("fused: A is {} x {}, X has {} rows", a.nrows(), a.ncols(), rows_of_x));
  }
  if (order.nrows() != a.nrows()) fail(ErrorCode::usage, "fused: the order of the rows is another graph's");
  check_place("fused", device, a.device(), "A");
  check_place("fused", device, order.device(), "the order of the rows");
  if (!can_fuse(ncols, a.view().longest_row)) {
    fail(ErrorCode::not_possible,
         fmt::format("fused: no kernel for {} bits and rows of {} entries", ncols, a.view().longest_row));
  }
}

template <class Args>
void launch(const Device& device, const Args& args, const fused_cuda::Plan& chosen) {
  with_cuda(device, "fused", [&](const auto& cuda) { fused(cuda, args, chosen); });
}

fused_cuda::Problem vote_problem(const VoteUse& use, const CsrPattern& a, const Bits& x) {
  return {.operation = fused_cuda::Operation::vote,
          .entries = a.nvals(),
          .words = words_for_bits(use.own_beside ? x.ncols() / 2 : x.ncols()),
          .multiplied = use.multiplied != nullptr && use.multiplied->nrows() != 0};
}

fused_cuda::Problem sum_problem(const CsrPattern& a) {
  return {.operation = fused_cuda::Operation::score_sum, .entries = a.nvals(), .words = 1};
}

fused_cuda::Problem scaled_sum_problem(const CsrPattern& a, const ScaledScores& scores) {
  const std::size_t row_bytes = ScaledScores::row_bytes(scores.count);
  return {.operation = fused_cuda::Operation::scaled_sum,
          .entries = a.nvals(),
          .words = row_bytes / sizeof(std::uint64_t),
          .nrows = a.nrows(),
          .gathered_bytes = row_bytes,
          .row_bytes = scores.count * sizeof(float)};
}

fused_cuda::Problem score_rows_problem(const ScaledScores& scores) {
  const std::size_t words = words_for_bits(scores.ncols);
  return {.operation = fused_cuda::Operation::score_rows,
          .words = words,
          .nrows = scores.nrows,
          .row_bytes = words * sizeof(std::uint64_t) + ScaledScores::row_bytes(scores.count),
          .weights = scores.count};
}

void check_scores(const ScaledScores& scores) {
  if (ScaledScores::can_hold(scores.count, scores.ncols)) return;
  fail(ErrorCode::not_possible, fmt::format("fused: scores of {} bits with {} weights are not bytes: at most 254 bits, "
                                            "an even number, and {} weights",
                                            scores.ncols, scores.count, ScaledScores::most));
}

fused_cuda::Problem counts_problem(const CsrPattern& a, const Bits& x) {
  return {.operation = fused_cuda::Operation::counts, .entries = a.nvals(), .words = x.words_per_row()};
}

KernelChoice choice_for(const fused_cuda::Problem& problem) {
  const fused_cuda::Plan chosen = plan(problem);
  const Prediction cost = predict(problem, chosen);
  return {describe(chosen), cost.bytes, cost.seconds};
}

}  // namespace

KernelChoice vote_explain(const VoteUse& use, const CsrPattern& a, const Bits& x) {
  fused_cuda::Problem problem = vote_problem(use, a, x);
  const std::size_t row = problem.words * sizeof(std::uint64_t);
  problem.nrows = a.nrows();
  problem.gathered_bytes = row;
  problem.row_bytes = (use.votes != nullptr ? row : 0) + (use.own != nullptr || use.own_beside ? row : 0);
  if (use.scored != nullptr) {
    problem.row_bytes += RowScores::row_size(use.scored->nrows()) * sizeof(std::uint16_t);
    problem.weights += use.scored->nrows();
  }
  if (use.before != nullptr) problem.row_bytes += row;
  if (use.multiplied != nullptr) {
    problem.row_bytes += use.multiplied->nrows() * sizeof(float);
    problem.weights += use.multiplied->nrows();
  }
  return choice_for(problem);
}

KernelChoice add_scores_explain(const CsrPattern& a, const RowScores& scores) {
  fused_cuda::Problem problem = sum_problem(a);
  problem.nrows = a.nrows();
  problem.gathered_bytes = RowScores::row_size(scores.count) * sizeof(std::uint16_t);
  problem.row_bytes = scores.count * sizeof(float);
  return choice_for(problem);
}

KernelChoice multiply_counts_explain(const CsrPattern& a, const Bits& x, const Bits& w) {
  fused_cuda::Problem problem = counts_problem(a, x);
  problem.nrows = a.nrows();
  problem.gathered_bytes = x.words_per_row() * sizeof(std::uint64_t);
  problem.row_bytes = w.nrows() * sizeof(float);
  problem.weights = w.nrows();
  return choice_for(problem);
}

KernelChoice score_rows_explain(const ScaledScores& scores) { return choice_for(score_rows_problem(scores)); }

KernelChoice add_scores_explain(const CsrPattern& a, const ScaledScores& scores) {
  return choice_for(scaled_sum_problem(a, scores));
}

ScaledScores::ScaledScores(std::size_t rows, std::size_t weights, std::size_t bits, const Device& device)
    : values(rows * row_bytes(weights), device), nrows(rows), count(weights), ncols(bits) {}

RowScores::RowScores(std::size_t rows, std::size_t weights, std::size_t bits, const Device& device)
    : values(rows * row_size(weights), device), nrows(rows), count(weights), ncols(bits) {}

bool can_fuse(std::size_t ncols, EdgeOffset longest_row) noexcept {
  const std::size_t words = words_for_bits(ncols);
  constexpr EdgeOffset most_entries = 130'000;  // that the lanes of four warps can count
  return (words == 1 || words == 2 || words == 4 || words == 8) &&
         longest_row <= most_entries / fused_cuda::lanes_of(words);
}

bool can_fuse_counts(std::size_t ncols, EdgeOffset longest_row, std::size_t weights) noexcept {
  return can_fuse(ncols, longest_row) && weights <= most_outputs && 4 * longest_row * ncols < EdgeOffset{1} << 31;
}

void vote_into(const VoteUse& use, const CsrPattern& a, const RowOrder& order, const Bits& x) {
  const Device& device = x.device();
  const std::size_t width = use.own_beside ? x.ncols() / 2 : x.ncols();
  require(!use.own_beside || x.ncols() % 128 == 0, "fused: bits that stand beside others begin with a whole word");
  check_graph(a, order, x.nrows(), width, device);
  const fused_cuda::Plan chosen = plan(vote_problem(use, a, x));
  FusedVote args{.a = a.view(),
                 .order = classes_of(order, chosen),
                 .words = static_cast<unsigned>(2 * words_for_bits(width)),
                 .ncols = width,
                 .stride = 2 * x.words_per_row(),
                 .x = words_of(x)};
  if (use.own_beside) {
    args.own = args.x + args.words;
    args.own_stride = args.stride;
  } else if (use.own != nullptr) {
    check_shape(*use.own, x.nrows(), width, "own");
    args.own = words_of(*use.own);
    args.own_stride = args.words;
  }
  if (use.votes != nullptr) {
    check_shape(*use.votes, x.nrows(), width, "the votes");
    args.votes = words_of(*use.votes);
  }
  if (use.scored != nullptr) {
    check_count(use.scored->nrows(), RowScores::most);
    check_shape(*use.scored, use.scores->count, width, "a weight");
    require(use.scores->nrows == x.nrows() && use.scores->ncols == width, "fused: scores of another shape");
    args.scored = weights_of(*use.scored);
    check_length("fused", use.score_scale, x.nrows(), "score_scale");
    require(use.score_scale.empty() || width % 2 == 0, "fused: scaled scores are of an even number of bits");
    use.scores->scaled = !use.score_scale.empty();
    args.scores = use.scores->values.data();
    args.score_scale = or_null(use.score_scale);
  }
  if (use.multiplied != nullptr) {
    const Bits& w = *use.multiplied;
    check_count(w.nrows(), RowScores::most);
    check_shape(*use.products, x.nrows(), w.nrows(), "the output");
    check_shape(w, w.nrows(), (use.before != nullptr ? 2 : 1) * width, "a weight");
    check_length("fused", use.col_scale, w.nrows(), "col_scale");
    check_length("fused", use.bias, w.nrows(), "bias");
    if (use.before != nullptr) {
      check_shape(*use.before, x.nrows(), width, "what stands before");
      require(width % 64 == 0, "fused: what stands before has rows of whole words");
      args.before = words_of(*use.before);
      args.multiplied_before = weights_of(w);
    }
    args.multiplied = weights_of(w, use.before != nullptr ? args.words : 0);
    args.scale = or_null(use.col_scale);
    args.bias = or_null(use.bias);
    args.products = use.products->view().data;
  }
  trace_choice(device, [&] { return vote_explain(use, a, x); });
  launch(device, args, chosen);
}

void add_scores_into(Floats& out, const CsrPattern& a, const RowOrder& order, const RowScores& scores,
                     const AggregateScales& scales) {
  const Device& device = out.device();
  check_graph(a, order, scores.nrows, 64, device);
  check_shape(out, scores.nrows, scores.count, "the output");
  check_length("fused", scales.row_scale, a.nrows(), "row_scale");
  check_length("fused", scales.col_scale, scores.count, "col_scale");
  check_length("fused", scales.bias, scores.count, "bias");
  const fused_cuda::Plan chosen = plan(sum_problem(a));
  trace_choice(device, [&] { return add_scores_explain(a, scores); });
  launch(device,
         FusedScoreSum{.a = a.view(),
                       .order = classes_of(order, chosen),
                       .ncols = scores.ncols,
                       .count = static_cast<unsigned>(scores.count),
                       .scores = scores.values.data(),
                       .scaled = scores.scaled,
                       .row_scale = or_null(scales.row_scale),
                       .scale = or_null(scales.col_scale),
                       .bias = or_null(scales.bias),
                       .out = out.view().data,
                       .add = scales.add},
         chosen);
}

void score_rows_into(ScaledScores& scores, const Bits& x, const Bits& w, std::span<const float> scale) {
  const Device& device = x.device();
  if (device.is_host()) fail(ErrorCode::not_possible, device.name() + ": scores have no kernel for this device");
  check_scores(scores);
  check_shape(x, scores.nrows, scores.ncols, "X");
  check_shape(w, scores.count, scores.ncols, "a weight");
  check_length("fused", scale, scores.nrows, "scale");
  check_place("fused", device, w.device(), "W");
  const fused_cuda::Plan chosen = plan(score_rows_problem(scores));
  trace_choice(device, [&] { return score_rows_explain(scores); });
  launch(device,
         FusedScoreRows{.nrows = scores.nrows,
                        .words = static_cast<unsigned>(2 * x.words_per_row()),
                        .ncols = scores.ncols,
                        .x = words_of(x),
                        .weights = weights_of(w),
                        .scale = or_null(scale),
                        .row_bytes = ScaledScores::row_bytes(scores.count),
                        .scores = scores.values.data()},
         chosen);
}

void add_scores_into(Floats& out, const CsrPattern& a, const RowOrder& order, const ScaledScores& scores,
                     const AggregateScales& scales) {
  const Device& device = out.device();
  check_graph(a, order, scores.nrows, 64, device);
  check_scores(scores);
  check_shape(out, scores.nrows, scores.count, "the output");
  check_length("fused", scales.row_scale, a.nrows(), "row_scale");
  check_length("fused", scales.col_scale, scores.count, "col_scale");
  check_length("fused", scales.bias, scores.count, "bias");
  const fused_cuda::Plan chosen = plan(scaled_sum_problem(a, scores));
  trace_choice(device, [&] { return add_scores_explain(a, scores); });
  launch(device,
         FusedScaledSum{.a = a.view(),
                        .order = classes_of(order, chosen),
                        .ncols = scores.ncols,
                        .count = static_cast<unsigned>(scores.count),
                        .row_bytes = ScaledScores::row_bytes(scores.count),
                        .scores = scores.values.data(),
                        .row_scale = or_null(scales.row_scale),
                        .scale = or_null(scales.col_scale),
                        .bias = or_null(scales.bias),
                        .out = out.view().data},
         chosen);
}

void multiply_counts_into(Floats& out, const CsrPattern& a, const RowOrder& order, const Bits& x, const Bits& w,
                          const AggregateScales& scales, const OwnProduct& own) {
  const Device& device = out.device();
  check_graph(a, order, x.nrows(), x.ncols(), device);
  check_count(w.nrows(), most_outputs);
  check_shape(w, w.nrows(), x.ncols(), "a weight");
  check_shape(out, x.nrows(), w.nrows(), "the output");
  check_length("fused", scales.row_scale, a.nrows(), "row_scale");
  check_length("fused", scales.col_scale, w.nrows(), "col_scale");
  check_length("fused", scales.bias, w.nrows(), "bias");
  if (!can_fuse_counts(x.ncols(), a.view().longest_row, w.nrows())) {
    fail(ErrorCode::not_possible,
         fmt::format("fused: counts of {} bits in rows of {} entries are too large", x.ncols(), a.view().longest_row));
  }
  const fused_cuda::Plan chosen = plan(counts_problem(a, x));
  FusedCounts args{.a = a.view(),
                   .order = classes_of(order, chosen),
                   .words = static_cast<unsigned>(2 * x.words_per_row()),
                   .ncols = x.ncols(),
                   .stride = 2 * x.words_per_row(),
                   .x = words_of(x),
                   .weights = weights_of(w),
                   .row_scale = or_null(scales.row_scale),
                   .scale = or_null(scales.col_scale),
                   .bias = or_null(scales.bias)};
  args.order.groups = a.nrows();
  args.out = out.view().data;
  if (own.weights != nullptr) {
    check_shape(*own.weights, w.nrows(), x.ncols(), "a weight of the row itself");
    check_length("fused", own.col_scale, w.nrows(), "the row's own col_scale");
    check_length("fused", own.bias, w.nrows(), "the row's own bias");
    args.own_weights = weights_of(*own.weights);
    args.own_scale = or_null(own.col_scale);
    args.own_bias = or_null(own.bias);
  }
  trace_choice(device, [&] { return multiply_counts_explain(a, x, w); });
  launch(device, args, chosen);
}

}  // namespace bitgraph
