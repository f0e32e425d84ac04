// SPDX-License-Identifier: Apache-2.0
#include "ops/mxv/cuda/plan.hpp"

#include <bitgraph/core/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace bitgraph::mxv_cuda {

namespace {

bool rows_are_few(const Problem& p, const CudaMxvTuning& t) { return p.nrows <= t.many_threads / 4; }
EdgeOffset mean_row(const Problem& p) { return p.nrows == 0 ? 0 : p.entries / p.nrows; }

bool suits_push(const Problem& p, const CudaMxvTuning&) { return p.transposed; }
bool suits_tiles(const Problem& p, const CudaMxvTuning&) { return p.tiles; }
/// All rows are short, and where a wave of warps does not have them all at once, short on the mean too.
bool suits_short_rows(const Problem& p, const CudaMxvTuning& t) {
  return p.longest_row <= t.longest_short_row &&
         (rows_are_few(p, t) || mean_row(p) <= (p.bits_in ? t.mean_of_bits : t.mean_of_values));
}
bool suits_chunks(const Problem&, const CudaMxvTuning&) { return true; }

template <Kernel kernel>
Plan plain(const Problem&, const CudaMxvTuning&) {
  return {.kernel = kernel};
}

/// Few rows, and many lanes each make the chain short; many, and each lane should have enough to do. A warp writes
/// whole units of a binary output: it has at most four lanes a row.
unsigned lanes_of(const Problem& p, const CudaMxvTuning& t) {
  if (rows_are_few(p, t)) return !p.bits_out && p.longest_row >= t.row_for_eight_lanes ? 8 : 4;
  if (p.longest_row <= t.row_of_one_lane) return 1;
  return mean_row(p) <= t.mean_of_two_lanes ? 2 : 4;
}
Plan shape_short_rows(const Problem& p, const CudaMxvTuning& t) {
  return {.kernel = Kernel::short_rows, .lanes = lanes_of(p, t)};
}

Plan shape_chunks(const Problem& p, const CudaMxvTuning& t) {
  const bool is_small = EdgeOffset{p.nrows} + p.entries <= t.items_in_small_chunks;
  return {.kernel = Kernel::chunks, .items = is_small ? small_chunk : p.bits_in ? chunk_of_bits : chunk_of_values};
}

/// The graph and the output pass by once; of x an element is read for each entry.
Cost cost_of_pull(const Problem& p) {
  return {.streamed = static_cast<double>(p.graph_bytes + p.out_bytes),
          .gathers = {static_cast<double>(p.gathers), static_cast<double>(p.gathered_bytes),
                      static_cast<double>(p.x_bytes)}};
}
/// An element of the output is read and written for each entry.
Cost cost_of_push(const Problem& p) {
  return {.streamed = static_cast<double>(p.graph_bytes + p.x_bytes),
          .gathers = {2 * static_cast<double>(p.gathers), static_cast<double>(p.gathered_bytes),
                      static_cast<double>(p.out_bytes)}};
}

constexpr std::array<KernelEntry, 4> all_kernels{{
    {Kernel::push, "vxm_rows", suits_push, plain<Kernel::push>, cost_of_push},
    {Kernel::tiles, "mxv_tiles", suits_tiles, plain<Kernel::tiles>, cost_of_pull},
    {Kernel::short_rows, "mxv_short_rows", suits_short_rows, shape_short_rows, cost_of_pull},
    {Kernel::chunks, "mxv_chunks", suits_chunks, shape_chunks, cost_of_pull},
}};

const KernelEntry& entry_of(const Plan& plan) {
  return *std::find_if(all_kernels.begin(), all_kernels.end(),
                       [&](const KernelEntry& e) { return e.kernel == plan.kernel; });
}

}  // namespace

std::span<const KernelEntry> kernels() noexcept { return all_kernels; }

Plan plan(const Problem& problem, const CudaMxvTuning& tuning) {
  for (const KernelEntry& entry : all_kernels) {
    if (entry.suits(problem, tuning)) return entry.shape(problem, tuning);
  }
  fail(ErrorCode::internal, "mxv: no kernel of the list suits");
}

Prediction predict(const Problem& problem, const Plan& plan) { return bitgraph::predict(entry_of(plan).cost(problem)); }

std::string describe(const Plan& plan) {
  std::string text = entry_of(plan).name;
  if (plan.lanes != 0) text += fmt::format(", {} lanes", plan.lanes);
  if (plan.items != 0) text += fmt::format(" of {}", plan.items);
  return text;
}

}  // namespace bitgraph::mxv_cuda
