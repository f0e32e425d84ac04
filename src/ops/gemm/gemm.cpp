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

#include "core/cuda/limits.hpp"
#include "core/instances.hpp"
#include "core/threads/host_pool.hpp"
#include "ops/explain.hpp"
#include "ops/gemm/bfloat16.hpp"
#include "ops/gemm/cpu/amx.hpp"
#include "ops/gemm/cuda/problem.hpp"
#include "ops/gemm/openblas.hpp"
#include "ops/operands.hpp"
#include "ops/sign_scales.hpp"

namespace bitgraph {

namespace {

using Bits = BitMatrix<PlusMinusOne>;
using Floats = DenseMatrix<float>;
using Bfloats = DenseMatrix<Bfloat16>;

const Device& device_of(const SparseBitMatrix& x) { return x.base.device(); }
template <class X>
const Device& device_of(const X& x) {
  return x.device();
}

template <class X, class W, class Out>
void check(const Out& out, const X& x, const W& w, const GemmOptions& options) {
  if (x.ncols() != w.ncols() || out.nrows() != x.nrows() || out.ncols() != w.nrows()) {
    fail(ErrorCode::usage, fmt::format("gemm: X is {} x {}, W is {} x {}, the output is {} x {}", x.nrows(), x.ncols(),
                                       w.nrows(), w.ncols(), out.nrows(), out.ncols()));
  }
  check_length("gemm", options.row_scale, x.nrows(), "row_scale");
  check_length("gemm", options.col_scale, w.nrows(), "col_scale");
  check_length("gemm", options.bias, w.nrows(), "bias");
  check_device("gemm", out.device(), device_of(x), "X");
  check_device("gemm", out.device(), device_of(w), "W");
  if (options.keep == nullptr) return;
  require(options.keep->nrows() == x.nrows() && options.keep->ncols() == x.ncols(),
          "gemm: the shape of keep differs from that of X");
  check_device("gemm", out.device(), options.keep->device(), "keep");
}

/// `scale` times the caller's factors; empty factors are ones.
Buffer<float> times(Buffer<float> scale, std::span<const float> factors) {
  if (factors.empty()) return scale;
  if (!on_cuda("gemm", scale.device(),
               [&](const auto& cuda) { multiply_by(cuda, scale.data(), factors.data(), factors.size()); })) {
    for (std::size_t n = 0; n < factors.size(); ++n) scale[n] *= factors[n];
  }
  return scale;
}

template <class Args, class Out, class X, class W>
Args args_of(Out& out, const X& x, const W& w, const GemmOptions& options) {
  return {x.view(), w.view(), out.view(), or_null(options.row_scale), or_null(options.col_scale), or_null(options.bias),
          {}};
}

template <class Out>
void multiply_signs(Out& out, const Bits& x, const Bits& w, GemmOptions options) {
  const Device& device = out.device();
  if (std::is_same_v<Out, Bits> && options.bias.empty()) {
    options.row_scale = ahead_of_sign(options.row_scale, options.positive_scales, device);
    options.col_scale = ahead_of_sign(options.col_scale, options.positive_scales, device);
  }
  auto args = args_of<GemmArgs<decltype(out.view())>>(out, x, w, options);
  if (options.keep != nullptr) args.keep = options.keep->view();
  with_backend(device, "gemm", [&](const auto& backend) { gemm(backend, args); });
}

template <class Out>
void multiply_signs(Out& out, const SparseBitMatrix& x, const Bits& w, const GemmOptions& options) {
  require(options.keep == nullptr, "gemm: keep goes with a BitMatrix");
  const SparseGemmWeights weights = prepare_sparse_gemm(x.base, w, options.col_scale);
  spmm_into(out, x.flips, weights.u,
            {.row_scale = options.row_scale,
             .feature_scale = weights.feature_scale.span(),
             .feature_offset = weights.feature_offset.span(),
             .bias = options.bias});
}

/// Floats go through binarize, and their scales join those given. They may be 0: of a row of zeros.
template <class Out>
void multiply_signs(Out& out, const Floats& x, const Bits& w, GemmOptions options) {
  bool done = false;
  if (options.keep == nullptr) {
    on_cuda("gemm", out.device(), [&](const auto& cuda) {
      done = gemm_binarized(cuda, args_of<GemmFromFloats<decltype(out.view())>>(out, x, w, options));
    });
  }
  if (done) return;
  Binarized binary = binarize(x);
  const Buffer<float> scale = times(std::move(binary.alpha), options.row_scale);
  options.row_scale = scale.span();
  options.positive_scales = false;
  multiply_signs(out, binary.bits, w, options);
}

template <class Out, class X>
void multiply_signs(Out& out, const X& x, const Floats& w, GemmOptions options) {
  Binarized binary = binarize(w);
  const Buffer<float> scale = times(std::move(binary.alpha), options.col_scale);
  options.col_scale = scale.span();
  options.positive_scales = false;
  multiply_signs(out, x, binary.bits, options);
}

void multiply_floats(Floats& out, const Floats& x, const Floats& w, const GemmOptions& options) {
  float_gemm(out, x, false, w, true);
  const GemmToFloats scales{
      {}, {}, out.view(), or_null(options.row_scale), or_null(options.col_scale), or_null(options.bias)};
  if (on_cuda("gemm", out.device(), [&](const auto& cuda) { apply_scales(cuda, scales); })) return;
  for (std::size_t i = 0; i < out.nrows(); ++i) {
    for (std::size_t f = 0; f < out.ncols(); ++f) out(i, f) = scales.apply(i, f, out(i, f));
  }
}

template <class T>
void multiply_bfloats(DenseMatrix<T>& out, const Bfloats& x, const Bfloats& w, const GemmOptions& options) {
  require(options.keep == nullptr, "gemm: keep goes with a BitMatrix");
  const GemmToFloats scales{{}, {}, {}, or_null(options.row_scale), or_null(options.col_scale), or_null(options.bias)};
  const BfloatGemm<T> args{x.view(), w.view(), out.view(), scales};
  with_backend(out.device(), "gemm", [&](const auto& backend) { gemm(backend, args); });
}

/// Bytes that a product reads and writes.
double bytes_of(std::size_t rows, std::size_t columns, std::size_t outputs, bool bits_in, bool bit_weights,
                bool bits_out) {
  const auto row = [](std::size_t length, bool bits) {
    const std::size_t bytes = bits ? words_for_bits(length) * sizeof(std::uint64_t) : length * sizeof(float);
    return static_cast<double>(bytes);
  };
  return static_cast<double>(rows) * (row(columns, bits_in) + row(outputs, bits_out)) +
         static_cast<double>(outputs) * row(columns, bit_weights);
}

/// The problem as the kernels will see it: what goes through binarize has scales.
template <class Out, class X, class W>
gemm_cuda::Problem cuda_problem(Out& out, const X& x, const W& w, const GemmOptions& options) {
  using gemm_cuda::Factors;
  constexpr bool to_bits = std::is_same_v<Out, Bits>;
  constexpr bool of_bits = std::is_same_v<X, Bits> && std::is_same_v<W, Bits>;
  constexpr bool of_floats = std::is_same_v<X, Floats> && std::is_same_v<W, Floats> && !to_bits;
  const bool idle = to_bits && of_bits && options.bias.empty() && options.positive_scales;  // scales ahead of a sign
  const Factors signs = std::is_same_v<X, Bits> ? Factors::bits : Factors::signs_of_floats;
  return {.factors = of_floats ? Factors::floats : signs,
          .rows = x.nrows(),
          .columns = x.ncols(),
          .words = words_for_bits(x.ncols()),
          .outputs = w.nrows(),
          .bits_out = to_bits,
          .float_weights = !of_floats && std::is_same_v<W, Floats>,
          .masked = options.keep != nullptr,
          .row_scaled = std::is_same_v<X, Floats> || (!options.row_scale.empty() && !idle),
          .col_scaled = std::is_same_v<W, Floats> || (!options.col_scale.empty() && !idle),
          .has_bias = !options.bias.empty(),
          .rows_in_sequence = gemm_cuda::is_in_sequence(out.view())};
}

/// Asks for cuBLAS where the plan would take it: it takes half a second to load.
KernelChoice cuda_choice(const Device& device, gemm_cuda::Problem problem) {
  on_cuda("gemm", device, [&](const auto& cuda) {
    problem.multiprocessors = cuda_limits(cuda.device).multiprocessors;
    if (plan(problem).kernel == gemm_cuda::Kernel::blas) problem.has_blas = has_blas(cuda);
  });
  const gemm_cuda::Plan chosen = plan(problem);
  const Prediction cost = predict(problem, chosen);
  return {describe(chosen), cost.bytes, cost.seconds};
}

KernelChoice float_gemm_choice(const Device& device, std::size_t m, std::size_t n, std::size_t k) {
  if (device.is_host()) return {float_gemm_kernels(device), bytes_of(m, k, n, false, false, false)};
  return cuda_choice(device, {.factors = gemm_cuda::Factors::floats, .rows = m, .columns = k, .outputs = n});
}

template <class X, class W, class Out>
KernelChoice choice_for(Out& out, const X& x, const W& w, const GemmOptions& options) {
  constexpr bool to_bits = std::is_same_v<Out, Bits>;
  const Device& device = out.device();
  if constexpr (std::is_same_v<X, Floats> && std::is_same_v<W, Floats> && !to_bits) {
    return float_gemm_choice(device, x.nrows(), w.nrows(), x.ncols());
  } else if constexpr (std::is_same_v<X, Bfloats>) {
    KernelChoice choice{bfloat_gemm_kernels(device), static_cast<double>(x.bytes() + w.bytes() + out.bytes())};
    if (!device.is_host()) {
      constexpr std::size_t out_bytes = std::is_same_v<Out, Floats> ? sizeof(float) : sizeof(Bfloat16);
      choice.seconds = gemm_cuda::predict_bfloats(x.nrows(), x.ncols(), w.nrows(), out_bytes).seconds;
    }
    return choice;
  } else {
    if (!device.is_host()) return cuda_choice(device, cuda_problem(out, x, w, options));
    const gemm_cpu::Problem problem{.rows = x.nrows(),
                                    .words = words_for_bits(x.ncols()),
                                    .outputs = w.nrows(),
                                    .bits_out = to_bits,
                                    .masked = options.keep != nullptr,
                                    .isa = active_isa()};
    return {host_kernel(device, name_of(plan(problem)), Isa::amx),
            bytes_of(x.nrows(), x.ncols(), w.nrows(), std::is_same_v<X, Bits>, std::is_same_v<W, Bits>, to_bits)};
  }
}

/// Of floats as they are.
KernelChoice binary_weight_choice(const GemmOfFloats& args, const Device& device) {
  if (!device.is_host()) {
    return cuda_choice(device, gemm_cuda::problem_of(args, gemm_cuda::Factors::floats_and_bits, 0));
  }
  return {host_kernel(device, name_of(plan(gemm_cpu::problem_of(args))), Isa::amx),
          bytes_of(args.x.nrows, args.x.ncols, args.w.nrows, false, true, false)};
}

}  // namespace

template <class X, class W, class Out>
void gemm_into(Out& out, const X& x, const W& w, const GemmOptions& options) {
  check(out, x, w, options);
  if constexpr (std::is_same_v<X, Floats> && std::is_same_v<W, Floats> && std::is_same_v<Out, Floats>) {
    multiply_floats(out, x, w, options);
  } else if constexpr (std::is_same_v<X, Bfloats>) {
    trace_choice(out.device(), [&] { return choice_for(out, x, w, options); });
    multiply_bfloats(out, x, w, options);
  } else {
    if constexpr (!std::is_same_v<X, SparseBitMatrix>) {
      trace_choice(out.device(), [&] { return choice_for(out, x, w, options); });
    }
    multiply_signs(out, x, w, options);
  }
}

template <class X, class W, class Out>
KernelChoice gemm_explain(Out& out, const X& x, const W& w, const GemmOptions& options) {
  check(out, x, w, options);
  return choice_for(out, x, w, options);
}

void binary_weight_gemm_into(Floats& out, const Floats& x, const Bits& w, const GemmOptions& options) {
  require(options.keep == nullptr, "gemm: keep goes with a BitMatrix");
  check(out, x, w, options);
  const auto args = args_of<GemmOfFloats>(out, x, w, options);
  trace_choice(out.device(), [&] { return binary_weight_choice(args, out.device()); });
  with_backend(out.device(), "gemm of floats", [&](const auto& backend) { gemm(backend, args); });
}

KernelChoice binary_weight_gemm_explain(Floats& out, const Floats& x, const Bits& w, const GemmOptions& options) {
  require(options.keep == nullptr, "gemm: keep goes with a BitMatrix");
  check(out, x, w, options);
  return binary_weight_choice(args_of<GemmOfFloats>(out, x, w, options), out.device());
}

namespace {

template <class Out, class X, class W>
constexpr auto functions_of() {
  return instances_of(&gemm_into<X, W, Out>, &gemm_explain<X, W, Out>);
}

/// Every X and W with every output.
[[gnu::used]] constexpr auto instances = for_types(Types<Bits, Floats>(), [](auto type) {
  using Out = TypeOf<decltype(type)>;
  return instances_of(functions_of<Out, Bits, Bits>(), functions_of<Out, Floats, Bits>(),
                      functions_of<Out, Bits, Floats>(), functions_of<Out, Floats, Floats>(),
                      &gemm_into<SparseBitMatrix, Bits, Out>);
});
[[gnu::used]] constexpr auto bfloat16_instances =
    instances_of(functions_of<Floats, Bfloats, Bfloats>(), functions_of<Bfloats, Bfloats, Bfloats>());

}  // namespace

SparseGemmWeights prepare_sparse_gemm(const Bits& base, const Bits& w, std::span<const float> col_scale) {
  const Device& device = base.device();
  check_device("gemm", device, w.device(), "W", "the base row");
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

void sign_gradient_into(Floats& out, const Floats& g, const Bits& x, const SignGradientOptions& options) {
  constexpr const char* op = "sign gradient";
  if (x.nrows() < g.nrows() || out.nrows() != g.ncols() || out.ncols() != x.ncols()) {
    fail(ErrorCode::usage, fmt::format("{}: G is {} x {}, X is {} x {}, the output is {} x {}", op, g.nrows(),
                                       g.ncols(), x.nrows(), x.ncols(), out.nrows(), out.ncols()));
  }
  check_device(op, out.device(), g.device(), "G");
  check_device(op, out.device(), x.device(), "X");
  if (!options.row_scale.empty() && options.row_scale.size() < g.nrows())
    fail(ErrorCode::usage, fmt::format("{}: {} scales for {} rows", op, options.row_scale.size(), g.nrows()));
  SignGradientArgs args{out.view(), g.view(), x.view(), or_null(options.row_scale), {}};
  if (options.keep != nullptr) {
    require(options.keep->nrows() >= g.nrows() && options.keep->ncols() == x.ncols(),
            "sign gradient: the shape of keep differs from that of X");
    check_device(op, out.device(), options.keep->device(), "keep");
    args.keep = options.keep->view();
  }
  with_backend(out.device(), op, [&](const auto& backend) { sign_gradient(backend, args); });
}

void float_gemm(const DenseSlice<float>& out, const DenseSlice<const float>& a, bool transpose_a,
                const DenseSlice<const float>& b, bool transpose_b, float alpha, float beta) {
  const DenseView<const float>& left = a.view;
  const DenseView<const float>& right = b.view;
  const std::size_t m = transpose_a ? left.ncols : left.nrows;
  const std::size_t k = transpose_a ? left.nrows : left.ncols;
  const std::size_t n = transpose_b ? right.nrows : right.ncols;
  if ((transpose_b ? right.ncols : right.nrows) != k || out.view.nrows != m || out.view.ncols != n) {
    fail(ErrorCode::usage, fmt::format("float gemm: A is {} x {}{}, B is {} x {}{}, the output is {} x {}", left.nrows,
                                       left.ncols, transpose_a ? " transposed" : "", right.nrows, right.ncols,
                                       transpose_b ? " transposed" : "", out.view.nrows, out.view.ncols));
  }
  check_device("float gemm", out.device, a.device, "A");
  check_device("float gemm", out.device, b.device, "B");
  if (m == 0 || n == 0) return;
  trace_choice(out.device, [&] { return float_gemm_choice(out.device, m, n, k); });
  if (on_cuda("float gemm", out.device, [&](const auto& cuda) {
        float_gemm(cuda, out.view, left, transpose_a, right, transpose_b, alpha, beta);
      })) {
    return;
  }
  static_cast<void>(openblas_kernels());
  const int threads = out.device.threads();
  if (threads > 1) host_pool::about_to_start();  // OpenBLAS runs on the pool
  openblas_set_num_threads(threads);
  const auto side = [](std::size_t size) { return static_cast<blasint>(size); };
  const auto stride = [&](std::size_t of) { return side(std::max<std::size_t>(of, 1)); };
  cblas_sgemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans, transpose_b ? CblasTrans : CblasNoTrans, side(m),
              side(n), side(k), alpha, left.data, stride(left.stride), right.data, stride(right.stride), beta,
              out.view.data, stride(out.view.stride));
}

}  // namespace bitgraph
