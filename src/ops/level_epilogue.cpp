// SPDX-License-Identifier: Apache-2.0
#include "ops/level_epilogue.hpp"

#include <bitgraph/core/error.hpp>
#include <bitgraph/ops/level_spmm.hpp>

#include "ops/operands.hpp"

#include <fmt/format.h>

namespace bitgraph {

LevelScaleView view_of(const LevelScale& scale) {
  return {scale.steps.empty() ? nullptr : scale.steps.data(), scale.has_offsets() ? scale.offsets.data() : nullptr,
          scale.extent != ScaleExtent::row && scale.extent != ScaleExtent::column};
}

void take_options(LevelEpilogue& epilogue, std::span<const float> bias, Activation activation, Rounding rounding,
                  std::size_t columns, const char* op) {
  check_length(op, bias, columns, "bias");
  epilogue.bias = or_null(bias);
  epilogue.activation = activation;
  epilogue.rounding = rounding;
}

void take_value_rows(LevelOut& out, std::span<const NodeId> rows, bool on_host, const char* op) {
  if (rows.empty()) return;
  if (rows.size() != out.values.nrows)
    fail(ErrorCode::usage, fmt::format("{}: out_rows has {} rows, the output {}", op, rows.size(), out.values.nrows));
  for (std::size_t i = 0; on_host && i < rows.size(); ++i) {
    if (rows[i] >= out.values.nrows)
      fail(ErrorCode::usage, fmt::format("{}: out_rows names row {} of {}", op, rows[i], out.values.nrows));
  }
  out.value_rows = rows.data();
}

void require_no_value_rows(std::span<const NodeId> rows, const char* op) {
  if (!rows.empty()) fail(ErrorCode::usage, fmt::format("{}: out_rows is of floats out, not of levels", op));
}

void take_options(LevelSumEnd& end, const LevelSpmmOptions& options, std::size_t nrows, std::size_t ncols,
                  const char* op) {
  check_length(op, options.row_scale, nrows, "row_scale");
  end.row_scale = or_null(options.row_scale);
  take_options(end.epilogue, options.bias, options.activation, options.rounding, ncols, op);
}

void take_out_scale(LevelEpilogue& epilogue, const QuantizedMatrix& out, const char* op) {
  take_out_scale(epilogue, out.scale(), op);
}

void take_out_scale(LevelEpilogue& epilogue, const LevelScale& scale, const char* op) {
  const ScaleExtent extent = scale.extent;
  if (extent == ScaleExtent::none) fail(ErrorCode::usage, fmt::format("{}: the output has no scale", op));
  epilogue.late_by_rows = extent == ScaleExtent::row;
  const bool late = epilogue.late_by_rows || epilogue.adds() || epilogue.activation == Activation::tanh;
  (late ? epilogue.late : epilogue.out) = view_of(scale);
}

}  // namespace bitgraph
