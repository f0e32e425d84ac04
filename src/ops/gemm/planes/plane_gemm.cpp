// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/ops/plane_gemm.hpp>

#include "core/preconditions.hpp"
#include "ops/explain.hpp"
#include "ops/gemm/planes/planes.hpp"
#include "ops/level_epilogue.hpp"
#include "ops/operands.hpp"
#include "ops/prediction.hpp"

#include <fmt/format.h>

#include <cstdint>

namespace bitgraph {

namespace {

PlaneGemmArgs args_of(const BitPlanes& a) {
  if (a.packing() != PlanePacking::rows) fail(ErrorCode::usage, "plane gemm: A is packed by columns, expected rows");
  PlaneGemmArgs args;
  args.a = a.view();
  return args;
}

PlaneGemmArgs args_of(const BitMatrix<ZeroOne>& a) {
  PlaneGemmArgs args;
  args.a = {a.nrows(), a.ncols(), 1, a.words().data()};
  return args;
}

PlaneGemmArgs args_of(const BitTileMatrix& a) {
  if (a.tile_dim() != 64)
    fail(ErrorCode::usage, fmt::format("plane gemm: A has tiles of side {}, expected 64", a.tile_dim()));
  PlaneGemmArgs args;
  args.a = {a.nrows(), a.ncols(), 1, nullptr};
  args.tiles = a.view<64>();
  return args;
}

template <class A>
PlaneGemmArgs args_of(const A& a, const BitPlanes& x) {
  PlaneGemmArgs args = args_of(a);
  if (x.packing() != PlanePacking::columns) fail(ErrorCode::usage, "plane gemm: X is packed by rows, expected columns");
  args.x = x.view();
  if (args.a.ncols != args.x.nrows) {
    fail(ErrorCode::usage,
         fmt::format("plane gemm: A is {} x {}, X is {} x {}", args.a.nrows, args.a.ncols, args.x.nrows, args.x.ncols));
  }
  return args;
}

KernelChoice choice_of(const PlaneGemmArgs& args, const Device& device, std::size_t a_bytes, std::size_t x_bytes) {
  const auto of_a = static_cast<double>(a_bytes), of_x = static_cast<double>(x_bytes);
  if (device.is_host())
    return {host_kernel(device, fmt::format("plane_gemm, {} by {} planes", args.a.bits, args.x.bits)), of_a + of_x};
  const bool by_wgmma =
      with_cuda<bool>(device, "plane gemm", [&](const auto& backend) { return plane_gemm_by_wgmma(backend, args); });
  const Prediction run = predict_plane_product(static_cast<double>(args.a.nrows), static_cast<double>(args.x.ncols),
                                               args.x.bits, of_a, of_x, by_wgmma);
  const char* const wgmma = args.has_tiles() ? "plane_gemm_wgmma_tiles" : "plane_gemm_wgmma";
  return {by_wgmma ? wgmma : "plane_gemm_mma", run.bytes, run.seconds};
}

template <class A>
KernelChoice explained(const A& a, const BitPlanes& x) {
  return choice_of(args_of(a, x), x.device(), a.bytes(), x.bytes());
}

/// With an output of that shape and device, whose sums have up to `most_bits` bits.
template <class Out, class A>
PlaneGemmArgs checked_args(const Out& out, const A& a, const BitPlanes& x, int most_bits) {
  PlaneGemmArgs args = args_of(a, x);
  if (out.nrows() != args.a.nrows || out.ncols() != args.x.ncols) {
    fail(ErrorCode::usage, fmt::format("plane gemm: the output is {} x {}, expected {} x {}", out.nrows(), out.ncols(),
                                       args.a.nrows, args.x.ncols));
  }
  if (!sums_fit(args.a.bits, args.x.bits, args.x.nrows, most_bits)) {
    fail(ErrorCode::usage, fmt::format("plane gemm: sums of {} products of {} by {} bits may pass {} bits",
                                       args.x.nrows, args.a.bits, args.x.bits, most_bits));
  }
  check_place("plane gemm", out.device(), a.device(), "A");
  check_device("plane gemm", out.device(), x.device(), "X");
  return args;
}

template <class A>
void run(const Device& device, const A& a, const BitPlanes& x, const PlaneGemmArgs& args) {
  trace_choice(device, [&] { return choice_of(args, device, a.bytes(), x.bytes()); });
  with_backend(device, "plane gemm", [&](const auto& backend) { plane_gemm(backend, args); });
}

template <class A>
void multiply_into(DenseMatrix<std::int32_t>& out, const A& a, const BitPlanes& x) {
  PlaneGemmArgs args = checked_args(out, a, x, 31);
  args.out.sums = out.view();
  run(out.device(), a, x, args);
}

template <class A>
void multiply_into(DenseMatrix<std::int64_t>& out, const A& a, const BitPlanes& x) {
  PlaneGemmArgs args = checked_args(out, a, x, 63);
  args.out.wide_sums = out.view();
  run(out.device(), a, x, args);
}

/// For outputs that are floats or levels.
template <class Out, class A>
PlaneGemmArgs graph_args(const Out& out, const A& a, const BitPlanes& x, const LevelSpmmOptions& options) {
  PlaneGemmArgs args = checked_args(out, a, x, 63);
  if (x.scale().extent == ScaleExtent::row)
    fail(ErrorCode::usage, "plane gemm: X has a scale by rows, expected one for the tensor or for each column");
  args.x_scale = view_of(x.scale());
  args.wide = !sums_fit(args.a.bits, args.x.bits, args.x.nrows, 31);
  take_options(args, options, args.a.nrows, args.x.ncols, "plane gemm");
  return args;
}

template <class A>
void aggregate_into(DenseMatrix<float>& out, const A& a, const BitPlanes& x, const LevelSpmmOptions& options) {
  PlaneGemmArgs args = graph_args(out, a, x, options);
  args.out.values = out.view();
  take_value_rows(args.out, options.out_rows, out.device().is_host(), "plane gemm");
  run(out.device(), a, x, args);
}

template <class A>
void aggregate_into(QuantizedMatrix& out, const A& a, const BitPlanes& x, const LevelSpmmOptions& options) {
  PlaneGemmArgs args = graph_args(out, a, x, options);
  take_out_scale(args.epilogue, out, "plane gemm");
  check_in_places("plane gemm", out, "the output");
  require_no_value_rows(options.out_rows, "plane gemm");
  args.out.levels = out.view();
  run(out.device(), a, x, args);
}

}  // namespace

void plane_gemm_into(DenseMatrix<std::int32_t>& out, const BitPlanes& a, const BitPlanes& x) {
  multiply_into(out, a, x);
}
void plane_gemm_into(DenseMatrix<std::int64_t>& out, const BitPlanes& a, const BitPlanes& x) {
  multiply_into(out, a, x);
}
void plane_gemm_into(DenseMatrix<std::int32_t>& out, const BitMatrix<ZeroOne>& a, const BitPlanes& x) {
  multiply_into(out, a, x);
}
void plane_gemm_into(DenseMatrix<std::int64_t>& out, const BitMatrix<ZeroOne>& a, const BitPlanes& x) {
  multiply_into(out, a, x);
}
void plane_gemm_into(DenseMatrix<std::int32_t>& out, const BitTileMatrix& a, const BitPlanes& x) {
  multiply_into(out, a, x);
}
void plane_gemm_into(DenseMatrix<std::int64_t>& out, const BitTileMatrix& a, const BitPlanes& x) {
  multiply_into(out, a, x);
}

void plane_gemm_into(DenseMatrix<float>& out, const BitMatrix<ZeroOne>& a, const BitPlanes& x,
                     const LevelSpmmOptions& options) {
  aggregate_into(out, a, x, options);
}
void plane_gemm_into(DenseMatrix<float>& out, const BitTileMatrix& a, const BitPlanes& x,
                     const LevelSpmmOptions& options) {
  aggregate_into(out, a, x, options);
}
void plane_gemm_into(QuantizedMatrix& out, const BitMatrix<ZeroOne>& a, const BitPlanes& x,
                     const LevelSpmmOptions& options) {
  aggregate_into(out, a, x, options);
}
void plane_gemm_into(QuantizedMatrix& out, const BitTileMatrix& a, const BitPlanes& x,
                     const LevelSpmmOptions& options) {
  aggregate_into(out, a, x, options);
}

void pack_planes_into(BitPlanes& out, const QuantizedMatrix& x) {
  const bool alike = out.nrows() == x.nrows() && out.ncols() == x.ncols() && out.bits() == x.bits();
  if (!alike || out.packing() != PlanePacking::columns) {
    fail(ErrorCode::usage,
         fmt::format("pack planes: X is {} x {} of {} bits, the output is {} x {} of {} bits, packed by {}, expected "
                     "the same packed by columns",
                     x.nrows(), x.ncols(), x.bits(), out.nrows(), out.ncols(), out.bits(),
                     out.packing() == PlanePacking::columns ? "columns" : "rows"));
  }
  check_device("pack planes", out.device(), x.device(), "X");
  check_in_places("pack planes", x, "X");
  with_backend(out.device(), "pack planes",
               [&](const auto& backend) { pack_planes(backend, {.x = x.view(), .out = out.view()}); });
}

KernelChoice plane_gemm_explain(const BitPlanes& a, const BitPlanes& x) { return explained(a, x); }
KernelChoice plane_gemm_explain(const BitMatrix<ZeroOne>& a, const BitPlanes& x) { return explained(a, x); }
KernelChoice plane_gemm_explain(const BitTileMatrix& a, const BitPlanes& x) { return explained(a, x); }

}  // namespace bitgraph
