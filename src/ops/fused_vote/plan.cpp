// SPDX-License-Identifier: Apache-2.0
#include "ops/fused_vote/plan.hpp"

#include <bitgraph/core/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

namespace bitgraph::fused_cuda {

namespace {

template <Operation operation>
bool is(const Problem& p) {
  return p.operation == operation;
}

/// Entries of a row that the lanes of a warp can count, as a power of two.
std::size_t countable_power(std::size_t words) {
  constexpr std::size_t of_one_lane = 14;
  return of_one_lane - static_cast<std::size_t>(std::countr_zero(lanes_of(words)));
}

Plan classes_of(const Problem& p, const CudaFusedVoteTuning& t) {
  const bool many = p.entries >= t.entries_for_long_warps;
  return {.lanes = lanes_of(p.words),
          .words = p.words == 1 ? 2U : 4U,
          .hub_power = many ? countable_power(p.words) : t.hub_of_few,
          .warp_power = t.warp_row,
          .group_power = many ? t.group_of_many : t.group_of_few};
}

/// Rows of X that four lanes have keep small blocks: their counts take more shared memory.
unsigned block_of(const Plan& plan, const Problem& p, const CudaFusedVoteTuning& t, unsigned threads) {
  return plan.lanes < 4 && p.entries >= t.entries_for_large_blocks ? large_block : threads;
}

/// Products keep a warp busy behind its votes: smaller blocks make room sooner.
Plan shape_vote(const Problem& p, const CudaFusedVoteTuning& t) {
  Plan plan = classes_of(p, t);
  plan.threads = block_of(plan, p, t, p.multiplied ? t.product_block : t.vote_block);
  return plan;
}

Plan shape_score_sum(const Problem& p, const CudaFusedVoteTuning& t) {
  Plan plan = classes_of({.entries = p.entries, .words = 1}, t);
  plan.kernel = Kernel::score_sum;
  plan.words = 4;
  plan.threads = t.product_block;
  if (p.entries < t.entries_for_long_warps) plan.warp_power = t.sum_warp_of_few;
  plan.group_power = t.sum_group;
  return plan;
}

/// A thread has a row.
Plan shape_score_rows(const Problem&, const CudaFusedVoteTuning& t) {
  return {.kernel = Kernel::score_rows, .words = 4, .threads = t.product_block};
}

/// Rows of scores have up to four parts of 16 bytes.
Plan shape_scaled_sum(const Problem& p, const CudaFusedVoteTuning& t) {
  Plan plan = shape_score_sum(p, t);
  plan.kernel = Kernel::scaled_sum;
  plan.lanes = p.words <= 2 ? 1U : p.words <= 4 ? 2U : 4U;
  if (p.entries >= t.entries_for_long_warps) plan.warp_power = t.scaled_warp_of_many;
  return plan;
}

/// Without short rows.
Plan shape_counts(const Problem& p, const CudaFusedVoteTuning& t) {
  Plan plan = classes_of(p, t);
  plan.kernel = Kernel::counts;
  plan.threads = block_of(plan, p, t, t.product_block);
  return plan;
}

/// Each entry reads its column and a row of X or of scores, each row its ends and its place.
Cost cost_of_rows(const Problem& p) {
  const auto entries = static_cast<double>(p.entries);
  const auto rows = static_cast<double>(p.nrows);
  const auto gathered = static_cast<double>(p.gathered_bytes);
  const auto row = static_cast<double>(p.row_bytes + sizeof(EdgeOffset) + sizeof(NodeId));
  return {.streamed = entries * sizeof(NodeId) + rows * row, .gathers = {entries, gathered, rows * gathered}};
}
/// Words of 32 bits meet.
Cost cost_of_vote(const Problem& p) {
  Cost cost = cost_of_rows(p);
  cost.work = 2 * static_cast<double>(p.nrows) * static_cast<double>(p.words) * static_cast<double>(p.weights);
  cost.peak = cuda_rates().word_counts;
  return cost;
}
Cost cost_of_score_rows(const Problem& p) {
  Cost cost{.streamed = static_cast<double>(p.nrows) * static_cast<double>(p.row_bytes)};
  cost.work = 2 * static_cast<double>(p.nrows) * static_cast<double>(p.words) * static_cast<double>(p.weights);
  cost.peak = cuda_rates().word_counts;
  return cost;
}
/// Planes of counts are rows of bits on tensor cores: as many as the mean count has.
Cost cost_of_counts(const Problem& p) {
  Cost cost = cost_of_rows(p);
  const auto planes = static_cast<double>(std::bit_width(p.nrows == 0 ? 0 : p.entries / p.nrows));
  const double bits = 64 * static_cast<double>(p.words);
  cost.work = 2 * planes * static_cast<double>(p.nrows) * bits * static_cast<double>(p.weights);
  cost.peak = cuda_rates().bit_products;
  return cost;
}

constexpr std::array<KernelEntry, 5> all_kernels{{
    {Kernel::vote, "fused_vote", is<Operation::vote>, shape_vote, cost_of_vote},
    {Kernel::score_sum, "fused_score_sum", is<Operation::score_sum>, shape_score_sum, cost_of_rows},
    {Kernel::counts, "fused_counts", is<Operation::counts>, shape_counts, cost_of_counts},
    {Kernel::score_rows, "fused_score_rows", is<Operation::score_rows>, shape_score_rows, cost_of_score_rows},
    {Kernel::scaled_sum, "fused_scaled_sum", is<Operation::scaled_sum>, shape_scaled_sum, cost_of_rows},
}};

const KernelEntry& entry_of(const Plan& plan) {
  return *std::find_if(all_kernels.begin(), all_kernels.end(),
                       [&](const KernelEntry& e) { return e.kernel == plan.kernel; });
}

}  // namespace

std::span<const KernelEntry> kernels() noexcept { return all_kernels; }

Plan plan(const Problem& problem, const CudaFusedVoteTuning& tuning) {
  for (const KernelEntry& entry : all_kernels) {
    if (entry.suits(problem)) return entry.shape(problem, tuning);
  }
  fail(ErrorCode::internal, "fused: no kernel of the list suits");
}

Prediction predict(const Problem& problem, const Plan& plan) { return bitgraph::predict(entry_of(plan).cost(problem)); }

std::string describe(const Plan& plan) {
  return fmt::format("{}, {} lanes x {} words, {} threads", entry_of(plan).name, plan.lanes, plan.words, plan.threads);
}

}  // namespace bitgraph::fused_cuda
