// SPDX-License-Identifier: Apache-2.0
#include "ops/spmm/cuda/plan.hpp"

#include <bitgraph/core/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace bitgraph::spmm_cuda {

namespace {

constexpr std::size_t lane_features = 4;  ///< numbers that a lane sums up

bool rows_are_short(const Problem& p) { return p.longest_row < long_row; }
EdgeOffset times_rows(const Problem& p, EdgeOffset entries_a_row) { return entries_a_row * p.nrows; }

// --- Votes. Lanes and words of a lane follow from the width of a row of X; slices of 512 features go side by side.

Plan wide_vote(const Problem& p, Kernel kernel) {
  const std::size_t words = p.words();
  if (words == 2) return {kernel, Copy::none, 1, 2};
  if (!p.aligned) return {kernel, Copy::none, 8, 2};
  if (words <= 4) return {kernel, Copy::none, 1, 4};
  return {kernel, Copy::none, words <= 8 ? 2U : 4U, 4};
}

Plan narrow_vote(const Problem& p, Kernel kernel) {
  const std::size_t words = p.words();
  return {kernel, Copy::none, words <= 2 ? 2U : words <= 4 ? 4U : words <= 8 ? 8U : 16U, 1};
}

bool suits_vote_short_rows(const Problem& p, const CudaSpmmTuning&) {
  return !p.tiles && p.is_vote() && rows_are_short(p);
}
Plan shape_vote_short_rows(const Problem& p, const CudaSpmmTuning&) {
  return p.bits_out ? wide_vote(p, Kernel::vote_short_rows) : narrow_vote(p, Kernel::vote_short_rows);
}

bool suits_vote_ordered(const Problem& p, const CudaSpmmTuning&) { return !p.tiles && p.is_vote() && p.ordered; }
Plan shape_vote_ordered(const Problem& p, const CudaSpmmTuning& t) {
  Plan plan = wide_vote(p, Kernel::vote_ordered);
  if (plan.lanes <= 2 && p.entries >= t.vote.large_ordered_vote) plan.threads = large_block;
  return plan;
}

bool suits_vote_direct(const Problem& p, const CudaSpmmTuning& t) {
  return !p.tiles && p.is_vote() && (p.nrows + p.entries) * (p.words() / 2) <= t.vote.small_vote;
}
Plan shape_vote_direct(const Problem& p, const CudaSpmmTuning&) { return narrow_vote(p, Kernel::vote_direct); }

bool suits_vote_spans(const Problem& p, const CudaSpmmTuning&) { return !p.tiles && p.is_vote(); }
Plan shape_vote_spans(const Problem& p, const CudaSpmmTuning&) { return narrow_vote(p, Kernel::vote_spans); }

bool suits_vote_tiles(const Problem& p, const CudaSpmmTuning&) { return p.tiles && p.is_vote(); }
Plan shape_vote_tiles(const Problem& p, const CudaSpmmTuning&) {
  return {Kernel::vote_tiles, Copy::none, p.words() <= 8 ? 8U : 32U, 1};
}

bool suits_sum_tiles(const Problem& p, const CudaSpmmTuning&) { return p.tiles; }
Plan shape_sum_tiles(const Problem&, const CudaSpmmTuning&) { return {Kernel::sum_tiles, Copy::none, 32, 1}; }

// --- Sums of floats, or of weights with signs, over pattern CSR.

/// Whether each row has a group of lanes: rows of about one length, but not a great many of few entries each, which
/// would not keep enough of X on its way.
bool rows_have_groups(const Problem& p, const CudaSpmmTuning& t) {
  return is_even(p.nrows, p.entries, p.longest_row) &&
         (p.entries >= times_rows(p, t.sum.mesh_entries_a_row) || p.nrows <= t.sum.mesh_rows);
}

/// Whether such groups leave much of the device without work, and rows are long enough for more lanes.
bool groups_are_few(const Problem& p, const CudaSpmmTuning& t) {
  const std::size_t lanes = p.features / (p.bits_in ? 2 * lane_features : lane_features);
  return p.nrows * lanes < t.sum.idle_lanes_a_multiprocessor * p.multiprocessors &&
         p.entries >= times_rows(p, t.sum.entries_for_more_lanes);
}

/// Whether rows in order are quicker than equal spans of rows and entries. Where there are many entries spans are, of
/// more features than a few: of floats where rows are short besides.
bool order_beats_spans(const Problem& p, const CudaSpmmTuning& t) {
  if (!p.ordered) return false;
  if (p.bits_in) return p.features <= 2 * t.sum.few_features || p.entries <= 2 * t.sum.many_entries;
  const bool short_rows = p.entries < times_rows(p, t.sum.short_row_entries);
  return p.features <= t.sum.few_features || !short_rows || p.entries <= t.sum.many_entries / 2;
}

bool is_sum(const Problem& p) { return !p.tiles && !p.is_vote(); }
/// Of float32: kernels that copy X, or sum few features, are made for it alone.
bool is_float_sum(const Problem& p) { return is_sum(p) && !p.bits_in && p.in_bytes == sizeof(float); }

/// Rows of X that are read in whole fours of floats: as they are, or from a copy.
bool reads_as_it_is(const Problem& p, const CudaSpmmTuning& t) {
  return p.aligned && !p.weighted && p.features <= t.sum.few_features;
}
bool reads_copy(const Problem& p, const CudaSpmmTuning& t) {
  return is_float_sum(p) && !reads_as_it_is(p, t) &&
         copies_features(p.ncols, p.features, p.entries, p.aligned, p.weighted, t);
}
Copy copy_of(const Problem& p, const CudaSpmmTuning& t) { return reads_copy(p, t) ? Copy::fours : Copy::none; }

bool suits_signs_of_fp16(const Problem& p, const CudaSpmmTuning& t) {
  return is_float_sum(p) && p.bits_out && p.ordered && p.aligned && !p.has_epilogue &&
         gathers_fp16(p.ncols, p.features, p.entries, t);
}
Plan shape_signs_of_fp16(const Problem&, const CudaSpmmTuning&) { return {Kernel::signs_of_fp16, Copy::fp16, 16, 1}; }

bool suits_sum_mesh(const Problem& p, const CudaSpmmTuning& t) {
  return is_sum(p) && p.longest_row <= mesh_longest_row && p.entries < times_rows(p, t.sum.mesh_entries_a_row) &&
         p.nrows > t.sum.mesh_rows;
}
bool suits_sum_ordered(const Problem& p, const CudaSpmmTuning& t) {
  if (!is_sum(p)) return false;
  if (rows_have_groups(p, t)) return p.ordered && groups_are_few(p, t);
  return order_beats_spans(p, t);
}
bool suits_sum_by_rows(const Problem& p, const CudaSpmmTuning& t) { return is_sum(p) && rows_have_groups(p, t); }
bool suits_sum_stream(const Problem& p, const CudaSpmmTuning&) { return is_sum(p); }

/// Whether 33 to 64 features gain by rows that are written side by side. In whole fours they do not where rows are long
/// or in order, one of them holds a large share of the entries, or entries are many.
bool wide_rows_gain(const Problem& p, const CudaSpmmTuning& t) {
  if (p.features % lane_features != 0) return p.entries <= t.sum.many_entries;
  const bool short_rows = p.entries < times_rows(p, t.sum.short_row_entries);
  const bool has_hub = p.longest_row > p.entries / t.sum.hub_share;
  return short_rows && !has_hub && !suits_sum_ordered(p, t) && p.entries <= t.sum.many_entries / 2;
}

bool suits_sum_narrow(const Problem& p, const CudaSpmmTuning& t) {
  if (!is_float_sum(p) || (!reads_as_it_is(p, t) && !reads_copy(p, t))) return false;
  const std::size_t lanes = (p.features + lane_features - 1) / lane_features;
  if (lanes <= 2) return true;
  const bool by_groups = suits_sum_mesh(p, t) || (rows_have_groups(p, t) && !suits_sum_ordered(p, t));
  if (lanes > 16 || by_groups) return false;
  return lanes <= 4 || !sums_by_order(p.features, t) || wide_rows_gain(p, t);
}
Plan shape_sum_narrow(const Problem& p, const CudaSpmmTuning& t) {
  const std::size_t lanes = (p.features + lane_features - 1) / lane_features;
  return {Kernel::sum_narrow, copy_of(p, t),
          lanes <= 2                     ? 2U
          : lanes <= 4                   ? 4U
          : sums_by_order(p.features, t) ? 16U
                                         : 8U,
          1};
}

/// Lanes of a row of signs, by its words; of floats half a warp up to 64 features, and where a row is summed up in
/// slices of 64 of them.
unsigned sum_lanes(const Problem& p, const CudaSpmmTuning& t, bool in_slices) {
  if (p.bits_in) return p.words() <= 2 ? 8U : p.words() <= 4 ? 16U : 32U;
  if (p.in_bytes < sizeof(float)) return 16U;  // slices of 64 features: rows of fewer bytes
  return p.features <= t.sum.few_features || in_slices || reads_copy(p, t) ? 16U : 32U;
}

template <Kernel kernel>
Plan shape_of_slices(const Problem& p, const CudaSpmmTuning& t) {
  return {kernel, copy_of(p, t), sum_lanes(p, t, true), 1};
}
Plan shape_sum_mesh(const Problem& p, const CudaSpmmTuning& t) {
  return {Kernel::sum_mesh, copy_of(p, t), sum_lanes(p, t, false), 1};
}
/// Of a great many entries 64 features are summed up, then the next 64: the caches keep more of X. Weights would be
/// asked for each time.
Plan shape_sum_stream(const Problem& p, const CudaSpmmTuning& t) {
  const bool in_slices = p.entries > t.sum.many_entries && !p.weighted;
  return {Kernel::sum_stream, copy_of(p, t), sum_lanes(p, t, in_slices), 1};
}

constexpr double column = sizeof(NodeId);

constexpr std::array<KernelEntry, 12> all_kernels{{
    {Kernel::vote_short_rows, "spmm_vote_short", suits_vote_short_rows, shape_vote_short_rows, column},
    {Kernel::vote_ordered, "spmm_vote_ordered", suits_vote_ordered, shape_vote_ordered, column},
    {Kernel::vote_direct, "spmm_vote_direct", suits_vote_direct, shape_vote_direct, column},
    {Kernel::vote_spans, "spmm_vote", suits_vote_spans, shape_vote_spans, column},
    {Kernel::vote_tiles, "spmm_vote_tiles", suits_vote_tiles, shape_vote_tiles, 2 * column},
    {Kernel::signs_of_fp16, "spmm_signs_of_fp16", suits_signs_of_fp16, shape_signs_of_fp16, column},
    {Kernel::sum_narrow, "spmm_sum_narrow", suits_sum_narrow, shape_sum_narrow, column},
    {Kernel::sum_mesh, "spmm_sum_mesh", suits_sum_mesh, shape_sum_mesh, column},
    {Kernel::sum_ordered, "spmm_sum_ordered", suits_sum_ordered, shape_of_slices<Kernel::sum_ordered>, column},
    {Kernel::sum_by_rows, "spmm_sum_short", suits_sum_by_rows, shape_of_slices<Kernel::sum_by_rows>, column},
    {Kernel::sum_stream, "spmm_stream", suits_sum_stream, shape_sum_stream, column},
    {Kernel::sum_tiles, "spmm_sum_tiles", suits_sum_tiles, shape_sum_tiles, 2 * column},
}};

}  // namespace

std::span<const KernelEntry> kernels() noexcept { return all_kernels; }

Plan plan(const Problem& problem, const CudaSpmmTuning& tuning) {
  for (const KernelEntry& entry : all_kernels) {
    if (entry.suits(problem, tuning)) return entry.shape(problem, tuning);
  }
  fail(ErrorCode::internal, "spmm: no kernel of the list suits");
}

const char* name_of(Kernel kernel) noexcept {
  const auto* const entry =
      std::find_if(all_kernels.begin(), all_kernels.end(), [&](const KernelEntry& e) { return e.kernel == kernel; });
  return entry->name;
}

std::string describe(const Plan& plan) {
  std::string text = fmt::format("{}, {} lanes", name_of(plan.kernel), plan.lanes);
  if (plan.words > 1) text += fmt::format(" x {} words", plan.words);
  if (plan.threads != usual_block) text += fmt::format(", {} threads", plan.threads);
  if (plan.copy == Copy::fours) text += ", from a copy of X";
  if (plan.copy == Copy::fp16) text += ", from a copy of X in 16 bits";
  return text;
}

Prediction predict(const Problem& problem, const Plan& plan) {
  const auto rows = static_cast<double>(problem.nrows);
  const auto x_rows = static_cast<double>(problem.ncols);
  const auto entries = static_cast<double>(problem.entries);
  const auto features = static_cast<double>(problem.features);
  const double bit_row = static_cast<double>(problem.words()) * 4;
  const double given_row = problem.bits_in ? bit_row : features * static_cast<double>(problem.in_bytes);
  const double row = plan.copy == Copy::fp16 ? features * 2 : given_row;
  const auto* const entry = std::find_if(all_kernels.begin(), all_kernels.end(),
                                         [&](const KernelEntry& e) { return e.kernel == plan.kernel; });
  // A lane has four numbers of X: 16 lanes go through wider rows in slices, for each of which all columns are read.
  const double lanes_row = lane_features * static_cast<double>(plan.lanes);
  const double slices = problem.bits_in ? 1 : std::max(1.0, std::ceil(features / lanes_row));
  const double graph = rows * sizeof(EdgeOffset) + slices * entries * entry->bytes_a_gather;
  const double copy = plan.copy == Copy::none ? 0 : x_rows * (given_row + row);
  const double out_row = problem.bits_out ? bit_row : features * static_cast<double>(problem.out_bytes);
  return bitgraph::predict({.streamed = graph + copy + rows * out_row,
                            .gathers = {entries * slices, row / slices, x_rows * row / slices},
                            .launches = plan.copy == Copy::none ? 1 : 2});
}

bool is_even(NodeId nrows, EdgeOffset entries, EdgeOffset longest_row) noexcept {
  const CudaSumTuning& t = cuda_spmm_tuning().sum;
  return longest_row < long_row || (longest_row <= t.even_row && longest_row * nrows <= t.even_share * entries);
}

bool sums_by_order(std::size_t features, const CudaSpmmTuning& tuning) noexcept {
  return features > tuning.sum.few_features / 2;
}

bool copies_features(std::size_t nrows, std::size_t ncols, EdgeOffset entries, bool in_fours, bool weighted,
                     const CudaSpmmTuning& tuning) noexcept {
  const bool long_rows = entries >= tuning.sum.copy_entries_a_row * nrows;
  if (ncols > tuning.sum.few_features) return in_fours && weighted && long_rows && entries > tuning.sum.many_entries;
  if (in_fours && !weighted) return false;
  return in_fours && sums_by_order(ncols, tuning) ? long_rows : entries >= nrows;
}

bool gathers_fp16(std::size_t nrows, std::size_t ncols, EdgeOffset entries, const CudaSpmmTuning& tuning) noexcept {
  return ncols >= tuning.sum.few_features && entries >= tuning.sum.fp16_entries &&
         entries >= tuning.sum.fp16_entries_a_row * nrows;
}

}  // namespace bitgraph::spmm_cuda
