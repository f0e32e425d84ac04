// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/ops/level_spmm.hpp>

#include "core/threads/parallel.hpp"
#include "ops/explain.hpp"
#include "ops/operands.hpp"
#include "ops/prediction.hpp"
#include "ops/spmm/levels/cpu/plane_table.hpp"
#include "ops/spmm/levels/levels.hpp"
#include "ops/spmm/levels/planes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace bitgraph {

namespace {

LevelSpmmArgs with_options(LevelSpmmArgs args, const CsrPattern& a, const LevelSpmmOptions& options) {
  take_options(args, options, args.a.nrows, args.x.ncols, "level spmm");
  if (options.row_order != nullptr) {
    args.row_order = options.row_order->view_over(a);
    args.rows_of_few = options.row_order->at_least_of_few();
  }
  return args;
}

std::size_t longest_row(const CsrPattern& a) {
  if (!a.device().is_host()) return a.view().longest_row;
  EdgeOffset longest = 0;
  for (NodeId i = 0; i < a.nrows(); ++i) longest = std::max(longest, a.row_ptr()[i + 1] - a.row_ptr()[i]);
  return longest;
}

KernelChoice choice_of(const CsrPattern& a, const QuantizedMatrix& x, bool by_planes) {
  if (x.device().is_host()) {
    const double gathered = static_cast<double>(a.nvals()) * (static_cast<double>(x.row_bytes()) + sizeof(NodeId));
    return {host_kernel(x.device(), fmt::format("level_spmm, {} bits{}", x.bits(), x.in_planes() ? " in planes" : "")),
            gathered};
  }
  const std::size_t row_bytes = by_planes ? level_row_bytes(x.ncols(), 2, LevelPacking::planes) : x.row_bytes();
  const bool wide = x.bits() > 8 || !sums_fit(x.bits(), 0, longest_row(a), 31);
  const Prediction run = predict_level_sums(static_cast<double>(a.nrows()), static_cast<double>(a.nvals()),
                                            static_cast<double>(row_bytes), static_cast<double>(row_bytes * x.nrows()));
  return {by_planes ? "level_spmm_planes" : wide ? "level_spmm_wide" : "level_spmm_rows", run.bytes, run.seconds};
}

/// When the output is there. On the host levels in places take none.
void take_planes(LevelSpmmArgs& args, const LevelSpmmOptions& options, bool on_host) {
  const bool in_planes = args.x.in_planes();
  if (options.planes.empty() || (on_host && !in_planes)) return;
  const std::size_t expected =
      in_planes ? level_spmm_prepared_words(args.x.ncols, on_host) : level_spmm_plane_words(args.x.nrows, args.x.ncols);
  if (options.planes.size() < expected)
    fail(ErrorCode::usage,
         fmt::format("level spmm: memory for {} words of planes, expected {}", options.planes.size(), expected));
  args.planes = options.planes;
  args.prepared = options.prepared && in_planes;
}

/// Throws usage for levels in planes where no kernel takes them.
void check_packing(const LevelSpmmArgs& args) {
  const bool nothing = args.a.nrows == 0;
  if (nothing || (!args.x.in_planes() && !args.out.levels.in_planes())) return;
  if (args.x.packing != args.out.levels.packing || !sums_by_planes(args)) {
    fail(ErrorCode::usage,
         "level spmm: levels in planes go to levels in planes, with a row order and LevelSpmmOptions::planes, where "
         "level_spmm_has_planes() says so");
  }
}

void run(const Device& device, const CsrPattern& a, const QuantizedMatrix& x, const LevelSpmmArgs& args) {
  check_packing(args);
  trace_choice(device, [&] { return choice_of(a, x, !device.is_host() && sums_by_planes(args)); });
  with_backend(device, "level spmm", [&](const auto& backend) { level_spmm(backend, args); });
}

}  // namespace

LevelSpmmArgs level_spmm_args(const CsrPattern& a, const QuantizedMatrix& x, std::size_t nrows, std::size_t ncols,
                              const Device& device) {
  if (a.ncols() != x.nrows() || nrows != a.nrows() || ncols != x.ncols()) {
    fail(ErrorCode::usage, fmt::format("level spmm: A is {} x {}, X is {} x {}, the output is {} x {}", a.nrows(),
                                       a.ncols(), x.nrows(), x.ncols(), nrows, ncols));
  }
  if (x.scale().extent == ScaleExtent::row)
    fail(ErrorCode::usage, "level spmm: X has a scale by rows, expected one for the tensor or for each column");
  check_device("level spmm", device, x.device(), "X");
  check_place("level spmm", device, a.device(), "A");
  LevelSpmmArgs args;
  args.a = a.view();
  args.x = x.view();
  args.x_scale = view_of(x.scale());
  // A row has no more entries than X has rows: only then is it worth a look.
  args.wide = !sums_fit(x.bits(), 0, x.nrows(), 31) && !sums_fit(x.bits(), 0, longest_row(a), 31);
  return args;
}

void level_spmm_into(DenseMatrix<std::int32_t>& out, const CsrPattern& a, const QuantizedMatrix& x) {
  LevelSpmmArgs args = level_spmm_args(a, x, out.nrows(), out.ncols(), out.device());
  if (args.wide)
    fail(ErrorCode::usage, fmt::format("level spmm: sums of levels of {} bits may pass int32: use int64", x.bits()));
  args.out.sums = out.view();
  run(out.device(), a, x, args);
}

void level_spmm_into(DenseMatrix<std::int64_t>& out, const CsrPattern& a, const QuantizedMatrix& x) {
  LevelSpmmArgs args = level_spmm_args(a, x, out.nrows(), out.ncols(), out.device());
  args.out.wide_sums = out.view();
  run(out.device(), a, x, args);
}

void level_spmm_into(DenseMatrix<float>& out, const CsrPattern& a, const QuantizedMatrix& x,
                     const LevelSpmmOptions& options) {
  check_row_order("level spmm", options.row_order, a.nrows(), out.device());
  LevelSpmmArgs args = with_options(level_spmm_args(a, x, out.nrows(), out.ncols(), out.device()), a, options);
  args.out.values = out.view();
  take_value_rows(args.out, options.out_rows, out.device().is_host(), "level spmm");
  run(out.device(), a, x, args);
}

namespace {

LevelSpmmArgs args_to_levels(QuantizedMatrix& out, const CsrPattern& a, const QuantizedMatrix& x,
                             const LevelSpmmOptions& options) {
  check_row_order("level spmm", options.row_order, a.nrows(), out.device());
  LevelSpmmArgs args = with_options(level_spmm_args(a, x, out.nrows(), out.ncols(), out.device()), a, options);
  take_out_scale(args.epilogue, out, "level spmm");
  require_no_value_rows(options.out_rows, "level spmm");
  args.out.levels = out.view();
  take_planes(args, options, out.device().is_host());
  return args;
}

}  // namespace

void level_spmm_into(QuantizedMatrix& out, const CsrPattern& a, const QuantizedMatrix& x,
                     const LevelSpmmOptions& options) {
  run(out.device(), a, x, args_to_levels(out, a, x, options));
}

void level_spmm_prepare(QuantizedMatrix& out, const CsrPattern& a, const QuantizedMatrix& x,
                        const LevelSpmmOptions& options) {
  const LevelSpmmArgs args = args_to_levels(out, a, x, options);
  if (!x.in_planes()) fail(ErrorCode::usage, "level spmm: nothing is prepared for levels in places");
  check_packing(args);
  if (a.nrows() == 0) return;
  with_backend(out.device(), "level spmm", [&](const auto& backend) { level_spmm_prepare(backend, args); });
}

bool level_spmm_has_planes(int x_bits, int out_bits, std::size_t ncols, Activation activation) noexcept {
  constexpr int most_bits = 2;
  return x_bits <= most_bits && out_bits <= most_bits && ncols % plane_part_columns == 0 &&
         activation != Activation::tanh;
}

bool sums_by_planes(const LevelSpmmArgs& args) {
  const QuantizedView<std::uint8_t>& out = args.out.levels;
  return !args.planes.empty() && args.row_order.row != nullptr && !args.wide && out.data != nullptr &&
         level_spmm_has_planes(args.x.bits, out.bits, args.x.ncols, args.epilogue.activation) &&
         loads_16_bytes(args.x.data) && loads_16_bytes(out.data) && loads_16_bytes(args.planes.data());
}

namespace {

/// Words of the thresholds that a CUDA device finds.
std::size_t threshold_words(std::size_t ncols) noexcept {
  constexpr std::size_t scales_bytes = 16;  // of 32 columns
  constexpr std::size_t bytes = plane_threshold_words * sizeof(std::uint32_t) + scales_bytes;
  return words_for_bits(ncols) * plane_lengths * 2 * bytes / sizeof(std::uint64_t);
}

}  // namespace

std::size_t level_spmm_plane_words(std::size_t nrows, std::size_t ncols) noexcept {
  constexpr std::size_t planes = 2;
  return nrows * planes * words_for_bits(ncols) + threshold_words(ncols);
}

std::size_t level_spmm_prepared_words(std::size_t ncols, bool on_host) noexcept {
  return on_host ? PlaneTable::words(words_for_bits(ncols)) : threshold_words(ncols);
}

KernelChoice level_spmm_explain(const CsrPattern& a, const QuantizedMatrix& x) { return choice_of(a, x, false); }

}  // namespace bitgraph
