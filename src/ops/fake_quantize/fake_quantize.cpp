// SPDX-License-Identifier: Apache-2.0
#include "ops/fake_quantize/fake_quantize.hpp"

#include <bitgraph/core/error.hpp>
#include <bitgraph/formats/level_scale.hpp>
#include <bitgraph/ops/fake_quantize.hpp>

#include "core/preconditions.hpp"
#include "ops/operands.hpp"

#include <fmt/format.h>

#include <string_view>

namespace bitgraph {

namespace {

void require_as_large(const DenseMatrix<float>& other, const DenseMatrix<float>& x, std::string_view name) {
  if (other.nrows() == x.nrows() && other.ncols() == x.ncols()) return;
  fail(ErrorCode::usage, fmt::format("fake quantize: X is {} x {}, the {} is {} x {}", x.nrows(), x.ncols(), name,
                                     other.nrows(), other.ncols()));
}

FakeQuantizeArgs args_of(const DenseMatrix<float>& x, const LevelGrid& grid) {
  constexpr int most_bits = 16;
  require(grid.bits >= 1 && grid.bits <= most_bits, "fake quantize: levels have 1 to 16 bits");
  require(grid.extent != ScaleExtent::none, "fake quantize: levels need a scale");
  const std::size_t scales = num_scales(grid.extent, x.nrows(), x.ncols());
  require(grid.steps.size() == grid.offsets.size() && (!grid.steps.empty() || scales == 0),
          "fake quantize: as many steps as offsets are needed");
  check_length("fake quantize", grid.steps, scales, "steps");
  check_length("fake quantize", grid.offsets, scales, "offsets");
  if (!grid.row_scale.empty()) check_length("fake quantize", grid.row_scale, x.nrows(), "row_scale");
  return {.out = {},
          .x = x.view(),
          .extent = grid.extent,
          .most = static_cast<float>((1U << grid.bits) - 1),
          .steps = grid.steps.data(),
          .offsets = grid.offsets.data(),
          .row_scale = or_null(grid.row_scale)};
}

FakeQuantizeArgs args_of(DenseMatrix<float>& out, const DenseMatrix<float>& x, const LevelGrid& grid) {
  FakeQuantizeArgs args = args_of(x, grid);
  require_as_large(out, x, "output");
  check_device("fake quantize", out.device(), x.device(), "X");
  args.out = out.view();
  return args;
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

void learned_scale_into(DenseMatrix<float>& scale, const DenseMatrix<float>& learned) {
  require(learned.nrows() == 2, "learned scale: steps and offsets are two rows");
  require_as_large(scale, learned, "scale");
  check_device("learned scale", scale.device(), learned.device(), "learned");
  with_backend(scale.device(), "learned scale",
               [&](const auto& backend) { learned_scale(backend, scale.view(), learned.view()); });
}

void learned_scale_backward_into(DenseMatrix<float>& sums, const DenseMatrix<float>& gradient,
                                 const DenseMatrix<float>& x, const LevelGrid& grid) {
  const FakeQuantizeArgs at = args_of(x, grid);
  const std::size_t count = num_scales(grid.extent, x.nrows(), x.ncols());
  require_as_large(gradient, x, "gradient");
  if (sums.nrows() != 2 || sums.ncols() != count) {
    fail(ErrorCode::usage,
         fmt::format("learned scale: the sums are {} x {}, expected 2 x {}", sums.nrows(), sums.ncols(), count));
  }
  check_device("learned scale", sums.device(), x.device(), "X");
  check_device("learned scale", sums.device(), gradient.device(), "gradient");
  with_backend(sums.device(), "learned scale", [&](const auto& backend) {
    learned_scale_backward(backend, {sums.view().data, count, gradient.view(), at});
  });
}

}  // namespace bitgraph
