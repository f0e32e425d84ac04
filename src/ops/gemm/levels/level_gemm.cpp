// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/ops/level_gemm.hpp>

#include "core/preconditions.hpp"
#include "core/threads/parallel.hpp"
#include "formats/levels/level_rows.hpp"
#include "ops/explain.hpp"
#include "ops/gemm/levels/levels.hpp"
#include "ops/gemm/levels/wgmma/image.hpp"
#include "ops/operands.hpp"
#include "ops/prediction.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <vector>

namespace bitgraph {

namespace {

/// Of W's image, where products of such levels read it; else none.
level_image::Order read_order(const LevelWeights& w, int x_bits, LevelPacking x_packing, LevelPacking out_packing) {
  LevelWeightsUse use = w.use;
  use.x_bits = x_bits;
  use.x_packing = x_packing;
  use.out_packing = out_packing;
  const auto order = level_image::order_of(use, w.bits, w.ncols);
  return !w.image.empty() && order == level_image::order_of(w.use, w.bits, w.ncols) ? order : level_image::Order::none;
}

/// Throws usage for levels in planes where no kernel takes them. Those of the host take them; those of a CUDA device
/// where W is ready for them, with no tanh and no levels out on scales by rows.
void check_packing(const Device& device, const LevelGemmArgs& args) {
  const QuantizedView<std::uint8_t>& out = args.out.levels;
  const bool nothing = args.x.nrows == 0 || args.outputs == 0;
  if (device.is_host() || nothing || (!args.x.in_planes() && !out.in_planes())) return;
  const bool ready = level_image::is_packed(args.w_order);
  const bool ends = args.epilogue.activation != Activation::tanh && !(out.in_planes() && args.epilogue.is_late());
  if (!args.x.in_planes() || !ready || !ends)
    fail(ErrorCode::usage, "level gemm: levels in planes, expected places: see level_gemm_takes_planes()");
}

/// Takes levels out, behind the options.
void take_levels(LevelGemmArgs& args, QuantizedMatrix& out, const LevelWeights& w, std::span<const NodeId> value_rows) {
  take_out_scale(args.epilogue, out, "level gemm");
  if (args.epilogue.adds() && out.scale().extent == ScaleExtent::column)
    fail(ErrorCode::usage,
         "level gemm: levels out have a scale by columns, with an addend one by rows or for the tensor");
  require_no_value_rows(value_rows, "level gemm");
  args.out.levels = out.view();
  if (!out.in_planes()) return;
  args.w_order = read_order(w, args.x.bits, args.x.packing, LevelPacking::planes);
  args.w_image = args.w_order == level_image::Order::none ? nullptr : w.image.data();
}

void run(const Device& device, const QuantizedMatrix& x, const LevelWeights& w, const LevelGemmArgs& args) {
  check_packing(device, args);
  trace_choice(device, [&] { return level_gemm_explain(x, w); });
  with_backend(device, "level gemm", [&](const auto& backend) { level_gemm(backend, args); });
}

LevelGemmArgs with_options(LevelGemmArgs args, const LevelGemmOptions& options, const Device& device) {
  take_options(args.epilogue, options.bias, options.activation, options.rounding, args.outputs, "level gemm");
  if (options.addend == nullptr) return args;
  const DenseMatrix<float>& addend = *options.addend;
  check_device("level gemm", device, addend.device(), "addend");
  if (addend.nrows() != args.x.nrows || addend.ncols() != args.outputs) {
    fail(ErrorCode::usage, fmt::format("level gemm: addend is {} x {}, the output {} x {}", addend.nrows(),
                                       addend.ncols(), args.x.nrows, args.outputs));
  }
  args.epilogue.addend = addend.view();
  return args;
}

/// What a W of any layout has.
LevelWeights without_levels(const QuantizedMatrix& w) {
  LevelWeights made{.nrows = w.nrows(), .ncols = w.ncols(), .bits = w.bits()};
  made.sums = Buffer<std::int64_t>(w.nrows(), std::int64_t{0}, w.device());
  made.steps = Buffer<float>(w.nrows(), w.device());
  if (w.scale().has_offsets()) made.offsets = Buffer<float>(w.nrows(), w.device());
  parallel_for(w.device(), w.nrows(), 16, [&](std::size_t f) {
    for (std::size_t c = 0; c < w.ncols(); ++c) made.sums[f] += level_at(w.view().row(f), c, w.bits());
    made.steps[f] = w.scale().step(f, 0);
    if (w.scale().has_offsets()) made.offsets[f] = w.scale().offset(f, 0);
  });
  return made;
}

/// Columns of W side by side, for X in SparseLevels.
Buffer<std::int16_t> table_of(const QuantizedMatrix& w, const LevelWeights& shape) {
  const std::size_t stride = shape.num_panels() * LevelWeights::panel_outputs;
  Buffer<std::int16_t> table(checked_product(w.ncols(), stride), std::int16_t{0}, w.device());
  const int middle = 1 << (w.bits() - 1);
  for (std::size_t f = 0; f < w.nrows(); ++f) {
    for (std::size_t c = 0; c < w.ncols(); ++c) {
      const auto level = static_cast<int>(level_at(w.view().row(f), c, w.bits()));
      table[c * stride + f] = static_cast<std::int16_t>(level - middle);
    }
  }
  return table;
}

LevelWeights in_panels(const QuantizedMatrix& w) {
  LevelWeights made = without_levels(w);
  const std::size_t halves = w.bits() > 8 ? 2 : 1;
  const int shift = LevelWeights::shift_of(w.bits());
  // Places without an output or a column hold level 0: sums that nobody reads do not overflow either.
  made.panels = Buffer<std::int8_t>(checked_product(halves * made.num_panels(), made.panel_bytes()),
                                    static_cast<std::int8_t>(-shift), w.device());
  constexpr std::size_t outputs = LevelWeights::panel_outputs, group = LevelWeights::group;
  parallel_for(w.device(), w.nrows(), outputs, [&](std::size_t f) {
    for (std::size_t c = 0; c < w.ncols(); ++c) {
      const std::uint32_t level = level_at(w.view().row(f), c, w.bits());
      for (std::size_t half = 0; half < halves; ++half) {
        const std::size_t panel = half * made.num_panels() + f / outputs;
        const std::size_t place = (c / group * outputs + f % outputs) * group + c % group;
        const auto byte = static_cast<int>((level >> (8 * half)) & 0xFFU);
        made.panels[panel * made.panel_bytes() + place] = static_cast<std::int8_t>(byte - shift);
      }
    }
  });
  return made;
}

/// The same for a CUDA device.
Buffer<std::uint8_t> columns_of(const QuantizedMatrix& w, const LevelWeights& shape) {
  Buffer<std::uint8_t> columns(checked_product(w.ncols(), shape.column_bytes()), std::uint8_t{0});
  const int place_bits = static_cast<int>(8 * shape.level_bytes());
  for (std::size_t f = 0; f < w.nrows(); ++f) {
    for (std::size_t c = 0; c < w.ncols(); ++c)
      put_level(columns.data() + c * shape.column_bytes(), f, place_bits, level_at(w.view().row(f), c, w.bits()));
  }
  return columns;
}

/// Of the image of W that products with such an X read; none where no kernel reads it.
level_image::Order image_order(const QuantizedMatrix& w, const Device& device, const LevelWeightsUse& use) {
  const auto order = level_image::order_of(use, w.bits(), w.ncols());
  const auto kernel = level_image::is_packed(order) ? LevelGemmKernel::packed : LevelGemmKernel::wgmma;
  const bool read = !device.is_host() && with_cuda<bool>(device, "level gemm", [&](const auto& backend) {
    return level_gemm_can(backend, kernel, {use.x_bits, w.bits(), w.ncols(), order, use.x_packing});
  });
  return read ? order : level_image::Order::none;
}

LevelWeights in_rows(const QuantizedMatrix& w, const Device& device, const LevelWeightsUse& use) {
  LevelWeights made = without_levels(w);
  Buffer<std::uint8_t> rows(checked_product(w.nrows(), made.row_bytes()), std::uint8_t{0});
  const int place_bits = static_cast<int>(8 * made.level_bytes());
  for (std::size_t f = 0; f < w.nrows(); ++f) {
    for (std::size_t c = 0; c < w.ncols(); ++c)
      put_level(rows.data() + f * made.row_bytes(), c, place_bits, level_at(w.view().row(f), c, w.bits()));
  }
  made.rows = rows.to(device);
  if (use.sparse) made.columns = columns_of(w, made).to(device);
  if (const auto order = image_order(w, device, use); order != level_image::Order::none) {
    made.image = level_image::make(w, order).to(device);
    made.use = use;
  }
  made.sums = made.sums.to(device);
  made.steps = made.steps.to(device);
  made.offsets = made.offsets.to(device);
  return made;
}

}  // namespace

namespace {

/// Of an X without data, whose scale is checked too.
LevelGemmArgs args_of_shape(const QuantizedView<>& x, const LevelScale& scale, const LevelWeights& w, std::size_t nrows,
                            std::size_t ncols, const Device& device) {
  if (x.ncols != w.ncols || nrows != x.nrows || ncols != w.nrows) {
    fail(ErrorCode::usage, fmt::format("level gemm: X is {} x {}, W is {} x {}, the output is {} x {}", x.nrows,
                                       x.ncols, w.nrows, w.ncols, nrows, ncols));
  }
  if (scale.extent == ScaleExtent::column)
    fail(ErrorCode::usage, "level gemm: X has a scale by columns, expected one for the tensor or for each row");
  if (!sums_fit(x.bits, w.bits, x.ncols, 63)) {
    fail(ErrorCode::usage,
         fmt::format("level gemm: sums of {} products of {} by {} bits pass 63 bits", x.ncols, x.bits, w.bits));
  }
  check_place("level gemm", device, w.device(), "W");
  LevelGemmArgs args;
  args.x = x;
  args.x_scale = view_of(scale);
  args.outputs = w.nrows;
  args.w_bits = w.bits;
  args.panels = w.panels.data();
  args.panel_bytes = w.panel_bytes();
  args.num_panels = w.num_panels();
  args.w_table = w.table.data();
  args.w_rows = w.rows.data();
  args.w_row_bytes = w.row_bytes();
  args.w_order = read_order(w, x.bits, x.packing, LevelPacking::places);
  if (args.w_order != level_image::Order::none) args.w_image = w.image.data();
  args.w_columns = w.columns.data();
  args.w_column_bytes = w.column_bytes();
  args.w_sums = w.sums.data();
  args.w_scale = {w.steps.data(), w.offsets.empty() ? nullptr : w.offsets.data(), false};
  return args;
}

/// Of a sparse X.
LevelGemmArgs sparse_args(const SparseLevels& x, const LevelWeights& w, std::size_t nrows, std::size_t ncols,
                          const Device& device) {
  LevelGemmArgs args = args_of_shape({x.nrows(), x.ncols(), 0, x.bits, nullptr}, x.scale, w, nrows, ncols, device);
  check_device("level gemm", device, x.device(), "X");
  if (x.levels.size() != x.pattern.nvals())
    fail(ErrorCode::usage, fmt::format("level gemm: {} levels for {} entries", x.levels.size(), x.pattern.nvals()));
  const bool ready = !(device.is_host() ? w.table.empty() : w.columns.empty());
  if (!ready && w.nrows != 0 && w.ncols != 0)
    fail(ErrorCode::usage, "level gemm: W was not made ready for sparse levels");
  args.sparse = {x.pattern.view().row_ptr, x.pattern.view().col_ind, x.levels.data()};
  return args;
}

void run(const Device& device, const SparseLevels& x, const LevelWeights& w, const LevelGemmArgs& args) {
  check_packing(device, args);
  trace_choice(device, [&] { return level_gemm_explain(x, w); });
  if (on_cuda("level gemm", device, [&](const auto& backend) { level_gemm_of_entries(backend, args); })) return;
  with_host_backend(device, "level gemm", [&](const auto& backend) { level_gemm(backend, args); });
}

}  // namespace

LevelGemmArgs level_gemm_args(const QuantizedMatrix& x, const LevelWeights& w, std::size_t nrows, std::size_t ncols,
                              const Device& device) {
  LevelGemmArgs args = args_of_shape(x.view(), x.scale(), w, nrows, ncols, device);
  check_device("level gemm", device, x.device(), "X");
  return args;
}

bool level_gemm_by(const Device& device, LevelGemmKernel kernel, const LevelGemmArgs& args) {
  return with_cuda<bool>(device, "level gemm", [&](const auto& backend) {
    if (!level_gemm_can(backend, kernel, shape_of(args))) return false;
    level_gemm_by(backend, kernel, args);
    return true;
  });
}

gemm_cpu::Problem level_gemm_problem(std::size_t rows, std::size_t columns, std::size_t outputs, int x_bits,
                                     int w_bits) {
  return {.factors = gemm_cpu::Factors::levels,
          .rows = rows,
          .outputs = outputs,
          .columns = columns,
          .x_bits = x_bits,
          .w_bits = w_bits,
          .isa = active_isa()};
}

bool level_gemm_takes_planes(const Device& device, int w_bits, std::size_t ncols) {
  constexpr int x_bits = 2;
  const LevelWeightsUse use{.x_bits = x_bits, .x_packing = LevelPacking::planes};
  const auto order = level_image::order_of(use, w_bits, ncols);
  if (device.is_host()) return true;
  return level_gemm_has_planes(x_bits, w_bits, ncols) &&
         with_cuda<bool>(device, "level gemm", [&](const auto& backend) {
           return level_gemm_can(backend, LevelGemmKernel::packed, {x_bits, w_bits, ncols, order, use.x_packing});
         });
}

bool level_gemm_has_planes(int x_bits, int w_bits, std::size_t ncols) noexcept {
  return level_image::has_planes(x_bits, w_bits) && ncols <= cuda_gemm_tuning().most_columns_for_planes;
}

LevelWeights prepare_level_weights(const QuantizedMatrix& w, const Device& device, const LevelWeightsUse& use) {
  require_host(w.device(), "prepare_level_weights");
  check_in_places("level gemm", w, "W");
  if (w.scale().extent == ScaleExtent::column)
    fail(ErrorCode::usage, "level gemm: W has a scale by columns, expected one for the tensor or for each row");
  if (!device.is_host()) return in_rows(w, device, use);
  LevelWeights made = in_panels(w);
  if (use.sparse) made.table = table_of(w, made);
  return made;
}

std::size_t level_weights_bytes(const QuantizedMatrix& w, const Device& device, const LevelWeightsUse& use) {
  const LevelWeights shape{.nrows = w.nrows(), .ncols = w.ncols(), .bits = w.bits()};
  const std::size_t ends = w.nrows() * (sizeof(std::int64_t) + sizeof(float) * (w.scale().has_offsets() ? 2 : 1));
  if (device.is_host()) {
    const std::size_t halves = w.bits() > 8 ? 2 : 1;
    const std::size_t column = shape.num_panels() * LevelWeights::panel_outputs * sizeof(std::int16_t);
    return ends + halves * shape.num_panels() * shape.panel_bytes() + (use.sparse ? w.ncols() * column : 0);
  }
  return ends + w.nrows() * shape.row_bytes() + (use.sparse ? w.ncols() * shape.column_bytes() : 0) +
         level_image::bytes(image_order(w, device, use), w.nrows(), w.ncols());
}

void level_gemm_into(DenseMatrix<std::int32_t>& out, const QuantizedMatrix& x, const LevelWeights& w) {
  LevelGemmArgs args = level_gemm_args(x, w, out.nrows(), out.ncols(), out.device());
  if (!sums_fit(x.bits(), w.bits, x.ncols(), 31)) {
    fail(ErrorCode::usage, fmt::format("level gemm: sums of {} products of {} by {} bits may pass int32: use int64",
                                       x.ncols(), x.bits(), w.bits));
  }
  args.out.sums = out.view();
  run(out.device(), x, w, args);
}

void level_gemm_into(DenseMatrix<std::int64_t>& out, const QuantizedMatrix& x, const LevelWeights& w) {
  LevelGemmArgs args = level_gemm_args(x, w, out.nrows(), out.ncols(), out.device());
  args.out.wide_sums = out.view();
  run(out.device(), x, w, args);
}

void level_gemm_into(DenseMatrix<float>& out, const QuantizedMatrix& x, const LevelWeights& w,
                     const LevelGemmOptions& options) {
  LevelGemmArgs args =
      with_options(level_gemm_args(x, w, out.nrows(), out.ncols(), out.device()), options, out.device());
  args.out.values = out.view();
  take_value_rows(args.out, options.out_rows, out.device().is_host(), "level gemm");
  run(out.device(), x, w, args);
}

void level_gemm_into(QuantizedMatrix& out, const QuantizedMatrix& x, const LevelWeights& w,
                     const LevelGemmOptions& options) {
  LevelGemmArgs args =
      with_options(level_gemm_args(x, w, out.nrows(), out.ncols(), out.device()), options, out.device());
  take_levels(args, out, w, options.out_rows);
  run(out.device(), x, w, args);
}

void level_gemm_into(DenseMatrix<std::int64_t>& out, const SparseLevels& x, const LevelWeights& w) {
  LevelGemmArgs args = sparse_args(x, w, out.nrows(), out.ncols(), out.device());
  args.out.wide_sums = out.view();
  run(out.device(), x, w, args);
}

void level_gemm_into(DenseMatrix<float>& out, const SparseLevels& x, const LevelWeights& w,
                     const LevelGemmOptions& options) {
  LevelGemmArgs args = with_options(sparse_args(x, w, out.nrows(), out.ncols(), out.device()), options, out.device());
  args.out.values = out.view();
  take_value_rows(args.out, options.out_rows, out.device().is_host(), "level gemm");
  run(out.device(), x, w, args);
}

void level_gemm_into(QuantizedMatrix& out, const SparseLevels& x, const LevelWeights& w,
                     const LevelGemmOptions& options) {
  LevelGemmArgs args = with_options(sparse_args(x, w, out.nrows(), out.ncols(), out.device()), options, out.device());
  take_levels(args, out, w, options.out_rows);
  run(out.device(), x, w, args);
}

KernelChoice level_gemm_explain(const QuantizedMatrix& x, const LevelWeights& w) {
  const auto bytes = static_cast<double>(x.bytes() + w.bytes());
  if (!x.device().is_host()) {
    const auto kernel = with_cuda<LevelGemmKernel>(x.device(), "level gemm", [&](const auto& backend) {
      return level_gemm_kernel(
          backend, {x.bits(), w.bits, x.ncols(), read_order(w, x.bits(), x.packing(), w.use.out_packing), x.packing()});
    });
    constexpr std::array names{"level_gemm_packed_planes", "level_gemm_planes", "level_gemm_wgmma",
                               "level_gemm_tiles",         "level_gemm_halves", "level_gemm_plain"};
    const Prediction run = predict_level_product(static_cast<double>(x.nrows()), static_cast<double>(x.ncols()),
                                                 static_cast<double>(w.nrows), static_cast<double>(x.bytes()),
                                                 static_cast<double>(w.bytes()));
    return {names[static_cast<std::size_t>(kernel)], run.bytes, run.seconds};
  }
  const char* const kernel = name_of(plan(level_gemm_problem(x.nrows(), x.ncols(), w.nrows, x.bits(), w.bits)));
  return {host_kernel(x.device(), fmt::format("{}, {} by {} bits in bytes", kernel, x.bits(), w.bits), Isa::amx),
          bytes};
}

KernelChoice level_gemm_explain(const SparseLevels& x, const LevelWeights& w) {
  const auto bytes = static_cast<double>(x.bytes() + w.bytes());
  if (!x.device().is_host()) {
    const bool narrow = entries_have_narrow_sums(x.bits, w.bits, x.ncols());
    const Prediction run =
        predict_level_sums(static_cast<double>(x.pattern.nrows()), static_cast<double>(x.pattern.nvals()),
                           static_cast<double>(w.nrows * w.level_bytes()), static_cast<double>(w.bytes()));
    return {narrow ? "level_gemm_entries" : "level_gemm_entries_wide", run.bytes, run.seconds};
  }
  return {host_kernel(x.device(), fmt::format("level_gemm of entries, {} by {} bits", x.bits, w.bits)), bytes};
}

}  // namespace bitgraph
