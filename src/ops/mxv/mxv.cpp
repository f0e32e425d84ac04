// SPDX-License-Identifier: Apache-2.0
#include "ops/mxv/mxv.hpp"

#include <bitgraph/ops/mxv.hpp>

#include "core/instances.hpp"
#include "ops/explain.hpp"
#include "ops/mxv/cuda/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

namespace bitgraph {

namespace {

/// The semiring whose kernel gives the same: bits know nothing between "is there" and 1, and any value is the smallest.
template <class S, class In>
using KernelSemiring =
    std::conditional_t<std::is_same_v<S, AnyFirst>, MinFirst,
                       std::conditional_t<std::is_same_v<S, PlusPair> && std::is_same_v<In, BitVector>, PlusTimes, S>>;

const void* address(const BitVector& x) { return x.words().data(); }
template <class T>
const void* address(const Buffer<T>& x) {
  return x.data();
}

std::size_t bytes_of(const BitVector& x) { return x.words().size_bytes(); }
template <class T>
std::size_t bytes_of(const Buffer<T>& x) {
  return x.bytes();
}

BitVectorView<> input_view(const BitVector& x) { return x.view(); }
BitVectorView<std::uint64_t> output_view(BitVector& x) { return x.view(); }
template <class T>
ValuesView<const T> input_view(const Buffer<T>& x) {
  return {x.size(), x.data()};
}
template <class T>
ValuesView<T> output_view(Buffer<T>& x) {
  return {x.size(), x.data()};
}

template <class S, class Out, class X>
inline constexpr bool sums_of_products = false;
template <class T>
inline constexpr bool sums_of_products<PlusTimes, Buffer<T>, Buffer<T>> = std::is_floating_point_v<T>;

/// Sizes after transposition: the product takes `in` elements and gives `out`.
template <class Out, class Graph, class X>
void check(const char* op, const Out& out, const Graph& a, const X& x, const MxvOptions& options, NodeId in,
           NodeId result) {
  if (x.size() != in || out.size() != result) {
    fail(ErrorCode::usage, fmt::format("{}: A is {} x {}, x has {} elements, the output {}", op, a.nrows(), a.ncols(),
                                       x.size(), out.size()));
  }
  require_same_stream(op, "the output", out.device(), "x", x.device());
  require_same_place(op, "A", a.device(), "the output", out.device());
  if (out.size() != 0 && address(out) == address(x)) fail(ErrorCode::usage, fmt::format("{}: the output is x", op));
  const BitVector* mask = options.mask.bits;
  if (mask == nullptr) return;
  if (mask->size() != result) {
    fail(ErrorCode::usage, fmt::format("{}: the mask has {} elements, the output {}", op, mask->size(), out.size()));
  }
  require_same_stream(op, "the output", out.device(), "the mask", mask->device());
  if (out.size() != 0 && address(out) == address(*mask)) {
    fail(ErrorCode::usage, fmt::format("{}: the output is the mask", op));
  }
}

template <class Fn>
void with_graph_view(const CsrPattern& a, const Fn& fn) {
  fn(a.view());
}
template <class Fn>
void with_graph_view(const BitTileMatrix& a, const Fn& fn) {
  with_tile_dim(a.tile_dim(), [&](auto k) { fn(a.view<k()>()); });
}

OutputRule rule_of(const MxvOptions& options) {
  const BitVector* mask = options.mask.bits;
  // A mask of no elements has no words either: all of nothing is selected.
  return {mask == nullptr ? nullptr : mask->view().words, mask != nullptr && options.mask.complement, options.replace,
          options.accumulate};
}

template <class S, class Out, class Graph, class X, class Fn>
void with_args(Out& out, const Graph& a, const X& x, const MxvOptions& options, const Fn& fn) {
  with_graph_view(a, [&](const auto& view) {
    using View = std::remove_cvref_t<decltype(view)>;
    fn(MxvArgs<KernelSemiring<S, X>, View, decltype(input_view(x)), decltype(output_view(out))>{
        view, input_view(x), output_view(out), rule_of(options)});
  });
}

/// What of an element of a vector one entry reads.
constexpr std::size_t gathered_bytes(const BitVector&) { return sizeof(std::uint32_t); }
template <class T>
constexpr std::size_t gathered_bytes(const Buffer<T>&) {
  return sizeof(T);
}

/// Reads of a vector by a graph: a row of it for each entry, or for each tile.
struct Reads {
  std::size_t count = 0;
  std::size_t bytes = 0;  ///< of each
};
template <class X>
Reads reads_of(const CsrPattern& a, const X& x) {
  return {a.nvals(), gathered_bytes(x)};
}
template <class T>
Reads reads_of(const BitTileMatrix& a, const Buffer<T>&) {
  return {a.num_tiles(), static_cast<std::size_t>(a.tile_dim()) * sizeof(T)};
}
Reads reads_of(const BitTileMatrix& a, const BitVector& x) {
  return {a.num_tiles(), std::max(static_cast<std::size_t>(a.tile_dim()) / 8, gathered_bytes(x))};
}

/// Degrees are counted without x.
template <class S, class X>
constexpr const char* host_kernel_name() {
  if (std::is_same_v<S, OrAnd>) return "mxv_any";
  return std::is_same_v<X, BitVector> || std::is_same_v<S, PlusPair> ? "mxv_count" : "mxv_reduce";
}

template <class S, class Out, class Graph, class X>
KernelChoice choice_for(Out& out, const Graph& a, const X& x, const MxvOptions& options, bool transposed) {
  if (a.device().is_host()) {
    return {host_kernel(a.device(), transposed ? "vxm_push" : host_kernel_name<S, X>()),
            static_cast<double>(a.bytes() + a.nvals() * gathered_bytes(x) + bytes_of(out))};
  }
  KernelChoice choice;
  with_args<S>(out, a, x, options, [&](const auto& args) {
    mxv_cuda::Problem problem = mxv_cuda::problem_of(args);
    problem.transposed = transposed;
    const Reads reads = transposed ? reads_of(a, out) : reads_of(a, x);
    problem.graph_bytes = a.bytes();
    problem.gathers = reads.count;
    problem.gathered_bytes = reads.bytes;
    problem.x_bytes = bytes_of(x);
    problem.out_bytes = bytes_of(out);
    const mxv_cuda::Plan chosen = plan(problem);
    const Prediction cost = predict(problem, chosen);
    choice = {describe(chosen), cost.bytes, cost.seconds};
  });
  return choice;
}

}  // namespace

template <class S, class Out, class Graph, class X>
KernelChoice mxv_explain(Out& out, S, const Graph& a, const X& x, const MxvOptions& options) {
  check("mxv", out, a, x, options, a.ncols(), a.nrows());
  return choice_for<S>(out, a, x, options, false);
}

template <class S, class Out, class Graph, class X>
KernelChoice vxm_explain(Out& out, S, const X& x, const Graph& a, const MxvOptions& options) {
  check("vxm", out, a, x, options, a.nrows(), a.ncols());
  if constexpr (sums_of_products<S, Out, X>) {
    if (!a.device().is_host()) return mxv_explain(out, S{}, transpose(a), x, options);
  }
  return choice_for<S>(out, a, x, options, true);
}

template <class S, class Out, class Graph, class X>
void mxv_into(Out& out, S, const Graph& a, const X& x, const MxvOptions& options) {
  check("mxv", out, a, x, options, a.ncols(), a.nrows());
  trace_choice(a.device(), [&] { return choice_for<S>(out, a, x, options, false); });
  with_args<S>(out, a, x, options, [&](const auto& args) {
    with_backend(a.device(), "mxv", [&](const auto& backend) { mxv(backend, args); });
  });
}

template <class S, class Out, class Graph, class X>
void vxm_into(Out& out, S, const X& x, const Graph& a, const MxvOptions& options) {
  check("vxm", out, a, x, options, a.nrows(), a.ncols());
  if constexpr (sums_of_products<S, Out, X>) {
    // Pushed on a device they would depend on timing.
    if (!a.device().is_host()) return mxv_into(out, S{}, transpose(a), x, options);
  }
  trace_choice(a.device(), [&] { return choice_for<S>(out, a, x, options, true); });
  with_args<S>(out, a, x, options, [&](const auto& args) {
    with_backend(a.device(), "vxm", [&](const auto& backend) { vxm(backend, args); });
  });
}

namespace {

template <class Out, class X, class S>
constexpr auto functions_of() {
  return for_types(Types<CsrPattern, BitTileMatrix>(), [](auto type) {
    using Graph = TypeOf<decltype(type)>;
    return instances_of(&mxv_into<S, Out, Graph, X>, &vxm_into<S, Out, Graph, X>, &mxv_explain<S, Out, Graph, X>,
                        &vxm_explain<S, Out, Graph, X>);
  });
}

template <class T>
constexpr auto functions_of_values() {
  using Values = Buffer<T>;
  const auto of_bits = for_types(Types<PlusTimes, PlusPair>(), [](auto type) {
    using S = TypeOf<decltype(type)>;
    return functions_of<Values, BitVector, S>();
  });
  const auto of_values = for_types(Types<PlusTimes, PlusPair, MinPlus, MaxTimes, MinFirst, AnyFirst>(), [](auto type) {
    using S = TypeOf<decltype(type)>;
    return functions_of<Values, Values, S>();
  });
  return instances_of(of_bits, of_values);
}

[[gnu::used]] constexpr auto of_bits = functions_of<BitVector, BitVector, OrAnd>();
[[gnu::used]] constexpr auto of_values = for_types(Types<float, double, std::int32_t>(), [](auto type) {
  using T = TypeOf<decltype(type)>;
  return functions_of_values<T>();
});

}  // namespace

}  // namespace bitgraph
