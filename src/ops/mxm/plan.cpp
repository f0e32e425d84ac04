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

constexpr std::array<KernelEntry, 6> all_kernels{{
    {Kernel::whole_sum, "mxm_whole_sum", suits_whole_sum},
    {Kernel::masked_sum_of_tiles, "mxm_masked_sum_of_tiles", suits_masked_sum_of_tiles},
    {Kernel::masked_sum, "mxm_masked_sum", suits_masked_sum},
    {Kernel::tile_product, "mxm_tiles", suits_tile_product},
    {Kernel::within, "mxm_within", suits_within},
    {Kernel::gather, "mxm_gather", suits_gather},
}};

}  // namespace

std::span<const KernelEntry> kernels() noexcept { return all_kernels; }

Plan plan(const Problem& problem) {
  for (const KernelEntry& entry : all_kernels) {
    if (entry.suits(problem)) return {entry.kernel, unpacks(problem)};
  }
  fail(ErrorCode::internal, "mxm: no kernel of the list suits");
}

std::string describe(const Plan& plan) {
  const auto* const entry = std::find_if(all_kernels.begin(), all_kernels.end(),
                                         [&](const KernelEntry& e) { return e.kernel == plan.kernel; });
  return std::string(entry->name) + (plan.unpacks ? ", of unpacked tiles" : "");
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
