// SPDX-License-Identifier: Apache-2.0
// mxm under a mask, in two ways. The first counts, for each entry of the mask, the columns that a row of A and a column
// of B share. The second is for bits only: it marks the mask's row, and looks up the rows of B there.
#include "ops/mxm/within.hpp"

#include "core/threads/thread_chunks.hpp"
#include "formats/pattern/transpose_index.hpp"
#include "ops/mxm/long_rows.hpp"

#include <algorithm>
#include <atomic>

namespace bitgraph {

namespace {

constexpr std::size_t grain = 1024;

CsrPattern transposed(const CsrPatternView& b, const Device& device) {
  const std::size_t nvals = b.row_ptr[b.nrows];
  Buffer<NodeId> col_ind(nvals, device);
  const CompressedRows rows{b.nrows, b.ncols, {b.row_ptr, std::size_t{b.nrows} + 1}, {b.col_ind, nvals}};
  Buffer<EdgeOffset> row_ptr =
      transpose_index(device, rows, [&](EdgeOffset, EdgeOffset to, NodeId i) { col_ind[to] = i; });
  return {b.ncols, b.nrows, std::move(row_ptr), std::move(col_ind), trusted};
}

/// The sum of fn(row, entry) over all entries of the mask.
template <class Fn>
std::uint64_t sum_over(const CsrPatternView& a, const Device& device, const Fn& fn) {
  std::atomic<std::uint64_t> total{0};
  parallel_chunks(device, a.nrows, grain, [&](Range rows) {
    std::uint64_t sum = 0;
    for (std::size_t i = rows.begin; i < rows.end; ++i) {
      for (const NodeId j : a.row(static_cast<NodeId>(i))) sum += fn(i, j);
    }
    total += sum;
  });
  return total;
}

std::uint64_t row_size(const CsrPatternView& a, std::size_t i) { return a.row_ptr[i + 1] - a.row_ptr[i]; }

/// The cost of the second way: the columns of B's rows that it reads.
std::uint64_t gathered_columns(const CsrPatternView& a, const CsrPatternView& b, const Device& device) {
  return sum_over(a, device, [&](std::size_t, NodeId k) { return row_size(b, k); });
}

/// The cost of the first way: the columns that it compares, and a constant for each pair of rows.
std::uint64_t compared_columns(const CsrPatternView& a, const CsrPatternView& b_transposed, const CsrPatternView& mask,
                               const LongRows& long_rows, const WithinCosts& costs, const Device& device) {
  return sum_over(mask, device, [&](std::size_t i, NodeId j) -> std::uint64_t {
    const std::uint64_t own = row_size(a, i);
    if (own == 0) return 0;
    const std::uint64_t other = row_size(b_transposed, j);
    const std::uint64_t walked = long_rows.place != nullptr && long_rows.place[j] != 0 ? long_rows.words : other;
    return costs.pair + std::min(walked, 32 * own);
  });
}

/// The result of an entry of the mask: whether it was met, and how often.
CsrPattern met_entries(const CsrPatternView& mask, const Buffer<std::uint32_t>& met, Buffer<std::uint32_t>* counts,
                       const Device& device) {
  Buffer<EdgeOffset> row_ptr(std::size_t{mask.nrows} + 1, EdgeOffset{0}, device);
  parallel_for(device, mask.nrows, grain, [&](std::size_t i) {
    const std::uint32_t* first = met.data() + mask.row_ptr[i];
    row_ptr[i] = row_size(mask, i) - static_cast<EdgeOffset>(std::count(first, first + row_size(mask, i), 0U));
  });
  Buffer<NodeId> col_ind(exclusive_scan(device, row_ptr.span()), device);
  if (counts != nullptr) *counts = Buffer<std::uint32_t>(col_ind.size(), device);
  parallel_for(device, mask.nrows, grain, [&](std::size_t i) {
    EdgeOffset to = row_ptr[i];
    for (EdgeOffset e = mask.row_ptr[i]; e < mask.row_ptr[i + 1]; ++e) {
      if (met[e] == 0) continue;
      col_ind[to] = mask.col_ind[e];
      if (counts != nullptr) (*counts)[to] = met[e];
      ++to;
    }
  });
  return {mask.nrows, mask.ncols, std::move(row_ptr), std::move(col_ind), trusted};
}

/// met[e] = 1 where the product has the mask's entry e, else 0. A row is finished once all of its entries are met.
void gather_marked(const CsrPatternView& a, const CsrPatternView& b, const CsrPatternView& mask, std::uint32_t* met,
                   const Device& device) {
  const std::size_t words = (std::size_t{b.ncols} + 63) / 64;
  Buffer<std::uint64_t> marks(num_workspaces(device, mask.nrows, product_chunk) * words, std::uint64_t{0}, device);
  for_chunks_of_threads(device, mask.nrows, product_chunk, [&](std::size_t workspace, Range rows) {
    std::uint64_t* marked = marks.data() + workspace * words;
    for (auto i = static_cast<NodeId>(rows.begin); i < rows.end; ++i) {
      const auto columns = mask.row(i);
      std::size_t left = columns.size();
      for (const NodeId j : columns) marked[j / 64] |= std::uint64_t{1} << (j % 64);
      const auto row = a.row(i);
      for (std::size_t n = 0; n < row.size() && left != 0; ++n) {
        for (const NodeId j : b.row(row[n])) {
          const std::uint64_t before = marked[j / 64];
          marked[j / 64] = before & ~(std::uint64_t{1} << (j % 64));
          left -= (before >> (j % 64)) & 1U;
        }
      }
      std::uint32_t* to = met + mask.row_ptr[i];
      for (const NodeId j : columns) *to++ = ((marked[j / 64] >> (j % 64)) & 1U) != 0 ? 0 : 1;
      for (const NodeId j : columns) marked[j / 64] = 0;
    }
  });
}

}  // namespace

WithinPlan plan_within(const Cpu& backend, const CsrPatternView& a, const CsrPatternView& b, const CsrPatternView& mask,
                       bool counted, const CpuMxmTuning& tuning) {
  const Device& device = backend.device;
  const WithinCosts& costs = counted ? tuning.of_counts : tuning.of_bits;
  const std::uint64_t gathering = costs.gathered * gathered_columns(a, b, device);
  // Comparing does not cost less, if the columns of B have about average length.
  const std::uint64_t entries = b.row_ptr[b.nrows];
  const std::uint64_t pairs = mask.row_ptr[mask.nrows];
  const std::uint64_t least =
      costs.transposed * entries + pairs * (costs.pair + entries / std::max<NodeId>(b.ncols, 1));
  if (gathering <= (counted ? costs.transposed * entries : least)) return {};
  WithinPlan plan;
  plan.b_transposed = transposed(b, device);
  plan.long_rows.emplace(plan.b_transposed->view(), device);
  plan.compares =
      compared_columns(a, plan.b_transposed->view(), mask, plan.long_rows->view(), costs, device) <= gathering;
  return plan;
}

std::optional<CsrPattern> product_within(const Cpu& backend, const CsrPatternView& a, const CsrPatternView& b,
                                         const CsrPatternView& mask, Buffer<std::uint32_t>* counts) {
  const Device& device = backend.device;
  const WithinPlan plan = plan_within(backend, a, b, mask, counts != nullptr);
  if (!plan.compares && counts != nullptr) return std::nullopt;
  Buffer<std::uint32_t> met(mask.row_ptr[mask.nrows], 0U, device);
  if (!plan.compares) {
    gather_marked(a, b, mask, met.data(), device);
    return met_entries(mask, met, nullptr, device);
  }
  MaskedSumArgs<CsrPatternView> args{a, plan.b_transposed->view(), mask};
  args.b_long = plan.long_rows->view();
  args.marks_each = LongRowBits::words_of(a.ncols);
  Buffer<std::uint64_t> marks(num_workspaces(device, mask.nrows, masked_sum_chunk) * args.marks_each, std::uint64_t{0},
                              device);
  args.marks = marks.data();
  args.counts = met.data();
  args.any = counts == nullptr;
  static_cast<void>(masked_sum(backend, args));
  return met_entries(mask, met, counts, device);
}

}  // namespace bitgraph
