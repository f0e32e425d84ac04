// SPDX-License-Identifier: Apache-2.0
#include "ops/fake_quantize/fake_quantize.hpp"

#include <bitgraph/core/error.hpp>
#include <bitgraph/formats/level_scale.hpp>
#include <bitgraph/ops/fake_quantize.hpp>

#include "core/preconditions.hpp"
#include "ops/operands.hpp"

#include <fmt/format.h>

namespace bitgraph {

namespace {

FakeQuantizeArgs args_of(DenseMatrix<float>& out, const DenseMatrix<float>& x, const LevelGrid& grid) {
  constexpr int most_bits = 16;
  require(grid.bits >= 1 && grid.bits <= most_bits, "fake quantize: levels have 1 to 16 bits");
  require(grid.extent != ScaleExtent::none, "fake quantize: levels need a scale");
  if (out.nrows() != x.nrows() || out.ncols() != x.ncols()) {
    fail(ErrorCode::usage, fmt::format("fake quantize: X is {} x {}, the output is {} x {}", x.nrows(), x.ncols(),
                                       out.nrows(), out.ncols()));
  }
  const std::size_t scales = num_scales(grid.extent, x.nrows(), x.ncols());
  require(grid.steps.size() == grid.offsets.size() && (!grid.steps.empty() || scales == 0),
          "fake quantize: as many steps as offsets are needed");
  check_length("fake quantize", grid.steps, scales, "steps");
  check_length("fake quantize", grid.offsets, scales, "offsets");
  if (!grid.row_scale.empty()) check_length("fake quantize", grid.row_scale, x.nrows(), "row_scale");
  check_device("fake quantize", out.device(), x.device(), "X");
  return {.out = out.view(),
          .x = x.view(),
          .extent = grid.extent,
          .most = static_cast<float>((1U << grid.bits) - 1),
          .steps = grid.steps.data(),
          .offsets = grid.offsets.data(),
          .row_scale = or_null(grid.row_scale)};
}

}  // namespace

void fake_quantize_into(DenseMatrix<float>& out, const DenseMatrix<float>& x, const LevelGrid& grid) {
  const FakeQuantizeArgs args = args_of(out, x, grid);
  with_backend(out.device(), "fake quantize", [&](const auto& backend) { fake_quantize(backend, args); });
}

void fake_quantize_backward(DenseMatrix<float>& gradient, const DenseMatrix<float>& x, const LevelGrid& grid) {
  const FakeQuantizeArgs args = args_of(gradient, x, grid);
  with_backend(gradient.device(), "fake quantize", [&](const auto& backend) { fake_quantize_backward(backend, args); });
}

}  // namespace bitgraph
