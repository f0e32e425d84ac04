// SPDX-License-Identifier: Apache-2.0
#include "ops/mxm/plan.hpp"

#include <bitgraph/core/error.hpp>

#include <algorithm>
#include <array>

namespace bitgraph::mxm_plan {

namespace {

bool is_product(const Problem& p) { return p.operation == Operation::product || p.operation == Operation::counts; }
bool is_within(const Problem& p) { return p.operation == Operation::masked_sum || p.mask_use == MaskUse::inside; }

/// Counts have no tile format. The reference takes every format as it is.
bool unpacks(const Problem& p) {
  if (!p.tiles || p.backend == BackendKind::reference || p.operation == Operation::sum) return false;
  return p.operation == Operation::counts || (p.loose && is_within(p));
}

bool suits_whole_sum(const Problem& p) { return p.operation == Operation::sum; }
bool suits_masked_sum_of_tiles(const Problem& p) {
  return p.operation == Operation::masked_sum && p.tiles && !unpacks(p);
}
bool suits_masked_sum(const Problem& p) { return p.operation == Operation::masked_sum; }
bool suits_tile_product(const Problem& p) {
  return p.operation == Operation::product && p.tiles && !unpacks(p) && p.backend != BackendKind::reference;
}
bool suits_within(const Problem& p) {
  return is_product(p) && p.mask_use == MaskUse::inside && p.backend != BackendKind::reference;
}
bool suits_gather(const Problem& p) { return is_product(p); }

double mean(std::size_t items, std::size_t rows) {
  return rows == 0 ? 0 : static_cast<double>(items) / static_cast<double>(rows);
}

/// The length of a row of B is looked up for each item of A.
Cost cost_of_lengths(const Sizes& s) {
  return {.streamed = static_cast<double>(s.bytes),
          .gathers = {static_cast<double>(s.a_items), sizeof(EdgeOffset),
                      static_cast<double>(s.b_rows) * sizeof(EdgeOffset)}};
}
/// For each item of the mask a row of A and one of B are read.
Cost cost_of_meetings(const Sizes& s) {
  const double row = (mean(s.a_items, s.rows) + mean(s.b_items, s.b_rows)) * static_cast<double>(s.item_bytes);
  return {.streamed = static_cast<double>(s.bytes),
          .gathers = {static_cast<double>(s.mask_items), row, static_cast<double>(s.bytes)}};
}
/// For each item of A a row of B is read. Products are written, read and written to their place; a kernel each counts
/// them, adds up lengths and moves them.
Cost cost_of_products(const Sizes& s) {
  const double row = mean(s.b_items, s.b_rows) * static_cast<double>(s.item_bytes);
  const double products = static_cast<double>(s.a_items) * row;
  return {.streamed = static_cast<double>(s.bytes) + 3 * products,
          .gathers = {static_cast<double>(s.a_items), row, static_cast<double>(s.bytes)},
          .launches = 4};
}

constexpr std::array<KernelEntry, 6> all_kernels{{
    {Kernel::whole_sum, "mxm_whole_sum", suits_whole_sum, cost_of_lengths},
    {Kernel::masked_sum_of_tiles, "mxm_masked_sum_of_tiles", suits_masked_sum_of_tiles, cost_of_meetings},
    {Kernel::masked_sum, "mxm_masked_sum", suits_masked_sum, cost_of_meetings},
    {Kernel::tile_product, "mxm_tiles", suits_tile_product, cost_of_products},
    {Kernel::within, "mxm_within", suits_within, cost_of_meetings},
    {Kernel::gather, "mxm_gather", suits_gather, cost_of_products},
}};

const KernelEntry& entry_of(const Plan& plan) {
  return *std::find_if(all_kernels.begin(), all_kernels.end(),
                       [&](const KernelEntry& e) { return e.kernel == plan.kernel; });
}

}  // namespace

std::span<const KernelEntry> kernels() noexcept { return all_kernels; }

Plan plan(const Problem& problem) {
  for (const KernelEntry& entry : all_kernels) {
    if (entry.suits(problem)) return {entry.kernel, unpacks(problem)};
  }
  fail(ErrorCode::internal, "mxm: no kernel of the list suits");
}

Prediction predict(const Sizes& sizes, const Plan& plan) { return bitgraph::predict(entry_of(plan).cost(sizes)); }

std::string describe(const Plan& plan) {
  return std::string(entry_of(plan).name) + (plan.unpacks ? ", of unpacked tiles" : "");
}

bool is_loose(EdgeOffset tiles, EdgeOffset entries, int tile_dim, const MxmTuning& tuning) noexcept {
  const EdgeOffset full = static_cast<EdgeOffset>(tile_dim) / tuning.full_tile_share;
  return tiles >= tuning.many_tiles && entries < full * tiles;
}

bool compares_in_small_blocks(EdgeOffset entries, NodeId rows, EdgeOffset longest_row,
                              const CudaMxmTuning& tuning) noexcept {
  if (rows == 0) return false;
  const bool is_skewed = longest_row > tuning.skew * (entries / rows + 1);
  return (entries < tuning.few_entries && longest_row >= tuning.long_row) ||
         (entries < tuning.many_entries && is_skewed);
}

}  // namespace bitgraph::mxm_plan
