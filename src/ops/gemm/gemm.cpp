// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/gemm.hpp"

#include <bitgraph/ops/binarize.hpp>
#include <bitgraph/ops/gemm.hpp>
#include <bitgraph/ops/spmm.hpp>

#include <cblas.h>
#include <fmt/format.h>

#include <bit>
#include <type_traits>
#include <vector>

#include "ops/gemm/openblas.hpp"
#include "ops/operands.hpp"
#include "ops/sign_scales.hpp"

namespace bitgraph {

namespace {

using Bits = BitMatrix<PlusMinusOne>;
using Floats = DenseMatrix<float>;

const Device& device_of(const SparseBitMatrix& x) { return x.base.device(); }
template <class X>
const Device& device_of(const X& x) {
  return x.device();
}

template <class X, class W, class Out>
void check(const Out& out, const X& x, const W& w, const GemmOptions& options, const Device& device) {
  if (x.ncols() != w.ncols() || out.nrows() != x.nrows() || out.ncols() != w.nrows()) {
    fail(ErrorCode::usage, fmt::format("gemm: X is {} x {}, W is {} x {}, the output is {} x {}", x.nrows(), x.ncols(),
                                       w.nrows(), w.ncols(), out.nrows(), out.ncols()));
  }
  check_length("gemm", options.row_scale, x.nrows(), "row_scale");
  check_length("gemm", options.col_scale, w.nrows(), "col_scale");
  check_length("gemm", options.bias, w.nrows(), "bias");
  check_device("gemm", device, device_of(x), "X");
  check_device("gemm", device, device_of(w), "W");
  check_device("gemm", device, out.device(), "the output");
}

#ifdef BITGRAPH_WITH_CUDA
void multiply_on_device(const Device& device, Buffer<float>& scale, std::span<const float> given) {
  multiply_by(Cuda{device}, scale.data(), given.data(), given.size());
}
void scale_on_device(const Device& device, const GemmToFloats& args) { apply_scales(Cuda{device}, args); }
template <class Args>
bool binarized_on_device(const Device& device, const Args& args) {
  return !device.is_host() && gemm_binarized(Cuda{device}, args);
}
#else
void multiply_on_device(const Device&, Buffer<float>&, std::span<const float>) {}
void scale_on_device(const Device&, const GemmToFloats&) {}
template <class Args>
bool binarized_on_device(const Device&, const Args&) {
  return false;
}
#endif

/// scale times what the caller gave, or scale alone.
Buffer<float> times(Buffer<float> scale, std::span<const float> given, const Device& device) {
  if (!device.is_host()) {
    multiply_on_device(device, scale, given);
  } else {
    for (std::size_t n = 0; n < given.size(); ++n) scale[n] *= given[n];
  }
  return scale;
}

template <class Out>
void multiply(Out& out, const Bits& x, const Bits& w, GemmOptions options, const Device& device) {
  if (std::is_same_v<Out, Bits> && options.bias.empty()) {
    options.row_scale = ahead_of_sign(options.row_scale, options.positive_scales, device);
    options.col_scale = ahead_of_sign(options.col_scale, options.positive_scales, device);
  }
  GemmArgs<decltype(out.view())> args{
      x.view(), w.view(), out.view(), or_null(options.row_scale), or_null(options.col_scale), or_null(options.bias),
      {}};
  if (options.keep != nullptr) {
    require(options.keep->nrows() == x.nrows() && options.keep->ncols() == x.ncols(),
            "gemm: the shape of keep differs from that of X");
    check_device("gemm", device, options.keep->device(), "keep");
    args.keep = options.keep->view();
  }
  with_backend(device, "gemm", [&](const auto& backend) { gemm(backend, args); });
}

template <class Out>
void multiply(Out& out, const SparseBitMatrix& x, const Bits& w, const GemmOptions& options, const Device& device) {
  require(options.keep == nullptr, "gemm: keep goes with a BitMatrix");
  const SparseGemmWeights weights = prepare_sparse_gemm(x.base, w, options.col_scale, device);
  spmm_into(out, x.flips, weights.u,
            {.row_scale = options.row_scale,
             .feature_scale = weights.feature_scale.span(),
             .feature_offset = weights.feature_offset.span(),
             .bias = options.bias},
            device);
}

/// A float operand goes through binarize; its scales join those given. They may be 0: of a row of zeros.
template <class Out>
void multiply(Out& out, const Bits& x, const Floats& w, GemmOptions options, const Device& device) {
  Binarized binary = binarize(w, {}, device);
  const Buffer<float> scale = times(std::move(binary.alpha), options.col_scale, device);
  options.col_scale = scale.span();
  options.positive_scales = false;
  multiply(out, x, binary.bits, options, device);
}

template <class Out>
auto args_from_floats(Out& out, const Floats& x, const Bits& w, const GemmOptions& options) {
  return GemmFromFloats<decltype(out.view())>{
      x.view(), w.view(), out.view(), or_null(options.row_scale), or_null(options.col_scale), or_null(options.bias),
      {}};
}

/// Floats as they are times signs.
void multiply_as_it_is(Floats& out, const Floats& x, const Bits& w, const GemmOptions& options, const Device& device) {
  const auto args = args_from_floats(out, x, w, options);
  with_backend(device, "gemm of floats", [&](const auto& backend) { gemm(backend, args); });
}

template <class Out, class W>
void multiply(Out& out, const Floats& x, const W& w, GemmOptions options, const Device& device) {
  if (!options.binarize_input) {
    if constexpr (std::is_same_v<Out, Floats> && std::is_same_v<W, Bits>) {
      return multiply_as_it_is(out, x, w, options, device);
    }
    fail(ErrorCode::usage, "gemm: X without binarization goes with a BitMatrix of weights and a DenseMatrix as output");
  }
  if constexpr (std::is_same_v<W, Floats>) {
    Binarized binary = binarize(w, {}, device);
    const Buffer<float> scale = times(std::move(binary.alpha), options.col_scale, device);
    options.col_scale = scale.span();
    options.positive_scales = false;
    return multiply(out, x, binary.bits, options, device);
  } else {
    if (options.keep == nullptr && binarized_on_device(device, args_from_floats(out, x, w, options))) return;
    Binarized binary = binarize(x, {}, device);
    const Buffer<float> scale = times(std::move(binary.alpha), options.row_scale, device);
    options.row_scale = scale.span();
    options.positive_scales = false;
    multiply(out, binary.bits, w, options, device);
  }
}

void multiply(Floats& out, const Floats& x, const Floats& w, const GemmOptions& options, const Device& device) {
  float_gemm(out.view(), x.view(), false, w.view(), true, 1, 0, device);
  const GemmToFloats scales{
      {}, {}, out.view(), or_null(options.row_scale), or_null(options.col_scale), or_null(options.bias)};
  if (!device.is_host()) return scale_on_device(device, scales);
  for (std::size_t i = 0; i < out.nrows(); ++i) {
    for (std::size_t f = 0; f < out.ncols(); ++f) out(i, f) = scales.apply(i, f, out(i, f));
  }
}

}  // namespace

template <class X, class W, class Out>
void gemm_into(Out& out, const X& x, const W& w, const GemmOptions& options, const Device& device) {
  check(out, x, w, options, device);
  multiply(out, x, w, options, device);
}

template void gemm_into(Bits&, const Bits&, const Bits&, const GemmOptions&, const Device&);
template void gemm_into(Floats&, const Bits&, const Bits&, const GemmOptions&, const Device&);
template void gemm_into(Bits&, const Floats&, const Bits&, const GemmOptions&, const Device&);
template void gemm_into(Floats&, const Floats&, const Bits&, const GemmOptions&, const Device&);
template void gemm_into(Bits&, const Bits&, const Floats&, const GemmOptions&, const Device&);
template void gemm_into(Floats&, const Bits&, const Floats&, const GemmOptions&, const Device&);
template void gemm_into(Bits&, const Floats&, const Floats&, const GemmOptions&, const Device&);
template void gemm_into(Floats&, const Floats&, const Floats&, const GemmOptions&, const Device&);
template void gemm_into(Bits&, const SparseBitMatrix&, const Bits&, const GemmOptions&, const Device&);
template void gemm_into(Floats&, const SparseBitMatrix&, const Bits&, const GemmOptions&, const Device&);

SparseGemmWeights prepare_sparse_gemm(const Bits& base, const Bits& w, std::span<const float> col_scale,
                                      const Device& device) {
  if (base.nrows() != 1 || base.ncols() != w.ncols()) {
    fail(ErrorCode::usage,
         fmt::format("gemm: the base row is {} x {}, W is {} x {}", base.nrows(), base.ncols(), w.nrows(), w.ncols()));
  }
  check_length("gemm", col_scale, w.nrows(), "col_scale");
  if (!device.is_host()) fail(ErrorCode::not_possible, device.name() + ": no gemm of SparseBitMatrix for this device");
  Bits same = w.clone();
  SparseGemmWeights weights{{}, Buffer<float>(w.nrows(), device), Buffer<float>(w.nrows(), device)};
  const std::size_t words = w.words_per_row();
  const std::uint64_t last = w.ncols() % 64 == 0 ? ~std::uint64_t{0} : (std::uint64_t{1} << (w.ncols() % 64)) - 1;
  for (std::size_t f = 0; f < w.nrows(); ++f) {
    std::int64_t agreeing = 0;
    for (std::size_t n = 0; n < words; ++n) {
      std::uint64_t& word = same.words()[f * words + n];
      word = ~(word ^ base.words()[n]) & (n + 1 == words ? last : ~std::uint64_t{0});
      agreeing += std::popcount(word);
    }
    const float scale = col_scale.empty() ? 1.0F : col_scale[f];
    weights.feature_scale[f] = -2 * scale;
    weights.feature_offset[f] = scale * static_cast<float>(2 * agreeing - static_cast<std::int64_t>(w.ncols()));
  }
  weights.u = transpose(same);
  return weights;
}

void float_gemm(DenseView<float> out, DenseView<const float> a, bool transpose_a, DenseView<const float> b,
                bool transpose_b, float alpha, float beta, const Device& device) {
  const std::size_t m = transpose_a ? a.ncols : a.nrows;
  const std::size_t k = transpose_a ? a.nrows : a.ncols;
  const std::size_t n = transpose_b ? b.nrows : b.ncols;
  if ((transpose_b ? b.ncols : b.nrows) != k || out.nrows != m || out.ncols != n) {
    fail(ErrorCode::usage, fmt::format("float gemm: A is {} x {}{}, B is {} x {}{}, the output is {} x {}", a.nrows,
                                       a.ncols, transpose_a ? " transposed" : "", b.nrows, b.ncols,
                                       transpose_b ? " transposed" : "", out.nrows, out.ncols));
  }
  if (m == 0 || n == 0) return;
#ifdef BITGRAPH_WITH_CUDA
  if (!device.is_host()) return float_gemm(Cuda{device}, out, a, transpose_a, b, transpose_b, alpha, beta);
#endif
  static_cast<void>(openblas_kernels());
  openblas_set_num_threads(device.threads());
  const auto side = [](std::size_t size) { return static_cast<blasint>(size); };
  cblas_sgemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans, transpose_b ? CblasTrans : CblasNoTrans, side(m),
              side(n), side(k), alpha, a.data, side(std::max<std::size_t>(a.stride, 1)), b.data,
              side(std::max<std::size_t>(b.stride, 1)), beta, out.data, side(std::max<std::size_t>(out.stride, 1)));
}

}  // namespace bitgraph
