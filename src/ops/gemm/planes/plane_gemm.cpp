// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/ops/plane_gemm.hpp>

#include "core/preconditions.hpp"
#include "ops/explain.hpp"
#include "ops/gemm/planes/planes.hpp"
#include "ops/level_views.hpp"
#include "ops/operands.hpp"

#include <fmt/format.h>

#include <type_traits>

namespace bitgraph {

namespace {

PlaneGemmArgs args_of(const BitPlanes& a) {
  if (a.packing() != PlanePacking::rows) fail(ErrorCode::usage, "plane gemm: A is packed by columns, expected rows");
  return {.a = a.view()};
}

PlaneGemmArgs args_of(const BitMatrix<ZeroOne>& a) { return {.a = {a.nrows(), a.ncols(), 1, a.words().data()}}; }

PlaneGemmArgs args_of(const BitTileMatrix& a) {
  if (a.tile_dim() != 64)
    fail(ErrorCode::usage, fmt::format("plane gemm: A has tiles of side {}, expected 64", a.tile_dim()));
  return {.a = {a.nrows(), a.ncols(), 1, nullptr}, .tiles = a.view<64>()};
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

KernelChoice choice_of(const PlaneGemmArgs& args, const Device& device, std::size_t bytes) {
  const auto moved = static_cast<double>(bytes);
  if (device.is_host())
    return {host_kernel(device, fmt::format("plane_gemm, {} by {} planes", args.a.bits, args.x.bits)), moved};
  const bool by_wgmma =
      with_cuda<bool>(device, "plane gemm", [&](const auto& backend) { return plane_gemm_by_wgmma(backend, args); });
  return {by_wgmma ? "plane_gemm_wgmma" : "plane_gemm_mma", moved};
}

template <class A>
KernelChoice explained(const A& a, const BitPlanes& x) {
  return choice_of(args_of(a, x), x.device(), a.bytes() + x.bytes());
}

template <class Sum, class A>
void multiply_into(DenseMatrix<Sum>& out, const A& a, const BitPlanes& x) {
  PlaneGemmArgs args = args_of(a, x);
  if (out.nrows() != args.a.nrows || out.ncols() != args.x.ncols) {
    fail(ErrorCode::usage, fmt::format("plane gemm: the output is {} x {}, expected {} x {}", out.nrows(), out.ncols(),
                                       args.a.nrows, args.x.ncols));
  }
  constexpr int most_bits = sizeof(Sum) == sizeof(std::int32_t) ? 31 : 63;
  if (!sums_fit(args.a.bits, args.x.bits, args.x.nrows, most_bits)) {
    fail(ErrorCode::usage, fmt::format("plane gemm: sums of {} products of {} by {} bits may pass {} bits",
                                       args.x.nrows, args.a.bits, args.x.bits, most_bits));
  }
  check_place("plane gemm", out.device(), a.device(), "A");
  check_device("plane gemm", out.device(), x.device(), "X");
  if constexpr (std::is_same_v<Sum, std::int32_t>) {
    args.sums = out.view();
  } else {
    args.wide_sums = out.view();
  }
  trace_choice(out.device(), [&] { return choice_of(args, out.device(), a.bytes() + x.bytes()); });
  with_backend(out.device(), "plane gemm", [&](const auto& backend) { plane_gemm(backend, args); });
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

KernelChoice plane_gemm_explain(const BitPlanes& a, const BitPlanes& x) { return explained(a, x); }
KernelChoice plane_gemm_explain(const BitMatrix<ZeroOne>& a, const BitPlanes& x) { return explained(a, x); }
KernelChoice plane_gemm_explain(const BitTileMatrix& a, const BitPlanes& x) { return explained(a, x); }

}  // namespace bitgraph
