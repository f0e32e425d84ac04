// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/ops/level_sum_product.hpp>

#include "ops/explain.hpp"
#include "ops/operands.hpp"
#include "ops/prediction.hpp"
#include "ops/spmm/levels/levels.hpp"
#include "ops/spmm/levels/planes.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>

namespace bitgraph {

namespace {

constexpr const char* name = "level sum product";

/// Words of W in planes.
constexpr std::size_t words_of_w = 2 * sum_product_outputs * sum_product_columns / 64;

LevelSumProductShape shape_of(const QuantizedMatrix& out, const QuantizedMatrix& x, const LevelsBetween& between,
                              const LevelWeights& w) {
  return {.x_bits = x.bits(),
          .packing = x.packing(),
          .between_bits = between.bits,
          .w_bits = w.bits,
          .out_bits = out.bits(),
          .columns = x.ncols(),
          .outputs = w.nrows};
}

void check_shapes(const QuantizedMatrix& out, const QuantizedMatrix& x, const LevelsBetween& between,
                  const LevelWeights& w) {
  if (w.ncols != x.ncols() || out.ncols() != w.nrows) {
    fail(ErrorCode::usage, fmt::format("{}: X has {} columns, W is {} x {}, the output has {}", name, x.ncols(),
                                       w.nrows, w.ncols, out.ncols()));
  }
  check_place(name, out.device(), w.device(), "W");
  if (between.scale == nullptr || between.scale->extent != ScaleExtent::tensor)
    fail(ErrorCode::usage, fmt::format("{}: the levels between have no scale for the tensor", name));
  if (out.scale().extent == ScaleExtent::row)
    fail(ErrorCode::usage, fmt::format("{}: levels out have a scale by rows", name));
  if (out.device().is_host() || !level_sum_product_can(shape_of(out, x, between, w))) {
    fail(ErrorCode::not_possible, fmt::format("{}: no kernel for {} columns of {} bits and {} outputs of {} on {}",
                                              name, x.ncols(), x.bits(), w.nrows, out.bits(), out.device().name()));
  }
}

void check_ends(const LevelSpmmOptions& sum, const LevelGemmOptions& product, const CsrPattern& a,
                const QuantizedMatrix& x) {
  const bool tanh = sum.activation == Activation::tanh || product.activation == Activation::tanh;
  if (tanh || product.addend != nullptr || !sum.out_rows.empty() || !product.out_rows.empty())
    fail(ErrorCode::usage, fmt::format("{}: a tanh, an addend or rows of floats, expected none of them", name));
  if (sum.row_order == nullptr || (sum.row_order->empty() && a.nrows() != 0))
    fail(ErrorCode::usage, fmt::format("{}: no row order", name));
  const std::size_t words = x.in_planes() ? level_sum_product_words(x.ncols()) : 0;
  if (sum.planes.size() < words) {
    fail(ErrorCode::usage,
         fmt::format("{}: memory for {} words of planes, expected {}", name, sum.planes.size(), words));
  }
}

void check_places(const SumProductArgs& args) {
  if (!loads_16_bytes(args.x.data) || !loads_16_bytes(args.planes.data()))
    fail(ErrorCode::usage,
         fmt::format("{}: X or the memory for planes does not begin at a multiple of 16 bytes", name));
}

SumProductArgs args_of(QuantizedMatrix& out, const CsrPattern& a, const QuantizedMatrix& x, const LevelSpmmOptions& sum,
                       const LevelsBetween& between, const LevelWeights& w, const LevelGemmOptions& product) {
  check_shapes(out, x, between, w);
  check_row_order(name, sum.row_order, a.nrows(), out.device());
  check_ends(sum, product, a, x);
  SumProductArgs args{level_spmm_args(a, x, out.nrows(), x.ncols(), out.device())};
  take_options(args, sum, args.a.nrows, args.x.ncols, name);
  args.row_order = sum.row_order->view_over(a);
  args.rows_of_few = sum.row_order->at_least_of_few();
  take_out_scale(args.epilogue, *between.scale, name);
  args.out.levels.bits = between.bits;
  args.planes = sum.planes;
  args.prepared = sum.prepared;
  args.between = view_of(*between.scale);
  args.w_rows = w.rows.data();
  args.w_row_bytes = w.row_bytes();
  args.w_sums = w.sums.data();
  args.w_scale = {w.steps.data(), w.offsets.empty() ? nullptr : w.offsets.data(), false};
  args.outputs = w.nrows;
  take_options(args.product_epilogue, product.bias, product.activation, product.rounding, w.nrows, name);
  take_out_scale(args.product_epilogue, out, name);
  args.product = out.view();
  check_places(args);
  if (args.wide) fail(ErrorCode::not_possible, fmt::format("{}: sums may pass 31 bits", name));
  return args;
}

KernelChoice choice_of(const CsrPattern& a, const QuantizedMatrix& x) {
  const Prediction run =
      predict_level_sums(static_cast<double>(a.nrows()), static_cast<double>(a.nvals()),
                         static_cast<double>(x.row_bytes()), static_cast<double>(x.row_bytes() * x.nrows()));
  return {x.in_planes() ? "level_sum_product_planes" : "level_sum_product_rows", run.bytes, run.seconds};
}

}  // namespace

std::size_t level_sum_product_words(std::size_t ncols) noexcept {
  return level_spmm_prepared_words(ncols, false) + words_of_w;
}

bool level_sum_product_can(const LevelSumProductShape& shape) noexcept {
  constexpr std::size_t least_columns = 64, piece = 16;
  constexpr int byte = 8, nibble = 4, plane_bits = 2;
  const bool fits = shape.columns >= least_columns && shape.columns <= sum_product_columns && shape.outputs > 0 &&
                    shape.outputs <= sum_product_outputs && shape.out_bits > nibble && shape.out_bits <= byte &&
                    shape.x_bits <= byte && shape.between_bits <= byte;
  if (!fits) return false;
  if (shape.packing == LevelPacking::planes) {
    return shape.columns > 2 * plane_part_columns && shape.columns % plane_part_columns == 0 &&
           shape.x_bits == plane_bits && shape.between_bits == plane_bits && shape.w_bits <= plane_bits;
  }
  return shape.w_bits <= byte && level_place_bits(shape.x_bits) == level_place_bits(shape.between_bits) &&
         level_row_bytes(shape.columns, shape.x_bits, LevelPacking::places) % piece == 0;
}

void level_sum_product_into(QuantizedMatrix& out, const CsrPattern& a, const QuantizedMatrix& x,
                            const LevelSpmmOptions& sum, const LevelsBetween& between, const LevelWeights& w,
                            const LevelGemmOptions& product) {
  const SumProductArgs args = args_of(out, a, x, sum, between, w, product);
  if (args.a.nrows == 0) return;
  trace_choice(out.device(), [&] { return choice_of(a, x); });
  static_cast<void>(on_cuda(name, out.device(), [&](const auto& backend) { sum_product(backend, args); }));
}

void level_sum_product_prepare(QuantizedMatrix& out, const CsrPattern& a, const QuantizedMatrix& x,
                               const LevelSpmmOptions& sum, const LevelsBetween& between, const LevelWeights& w,
                               const LevelGemmOptions& product) {
  const SumProductArgs args = args_of(out, a, x, sum, between, w, product);
  if (!x.in_planes()) fail(ErrorCode::usage, fmt::format("{}: nothing is prepared for levels in places", name));
  if (args.a.nrows == 0) return;
  static_cast<void>(on_cuda(name, out.device(), [&](const auto& backend) { sum_product_prepare(backend, args); }));
}

}  // namespace bitgraph
