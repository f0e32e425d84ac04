// SPDX-License-Identifier: Apache-2.0
#include "ops/mxv/mxv.hpp"

#include <bitgraph/ops/mxv.hpp>

#include <fmt/format.h>

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

template <class S, class Out, class Graph, class X, class Run>
void with_args(Out& out, const Graph& a, const X& x, const MxvOptions& options, const char* op, const Run& run) {
  with_graph_view(a, [&](const auto& view) {
    using View = std::remove_cvref_t<decltype(view)>;
    const MxvArgs<KernelSemiring<S, X>, View, decltype(input_view(x)), decltype(output_view(out))> args{
        view, input_view(x), output_view(out), rule_of(options)};
    with_backend(a.device(), op, [&](const auto& backend) { run(backend, args); });
  });
}

}  // namespace

template <class S, class Out, class Graph, class X>
void mxv_into(Out& out, S, const Graph& a, const X& x, const MxvOptions& options) {
  check("mxv", out, a, x, options, a.ncols(), a.nrows());
  with_args<S>(out, a, x, options, "mxv", [](const auto& backend, const auto& args) { mxv(backend, args); });
}

template <class S, class Out, class Graph, class X>
void vxm_into(Out& out, S, const X& x, const Graph& a, const MxvOptions& options) {
  check("vxm", out, a, x, options, a.nrows(), a.ncols());
  if constexpr (sums_of_products<S, Out, X>) {
    // Pushed on a device they would depend on timing.
    if (!a.device().is_host()) return mxv_into(out, S{}, transpose(a), x, options);
  }
  with_args<S>(out, a, x, options, "vxm", [](const auto& backend, const auto& args) { vxm(backend, args); });
}

// NOLINTBEGIN(bugprone-macro-parentheses): the arguments are types
#define BITGRAPH_INSTANTIATE_MXV_INTO(S, Out, X)                                      \
  template void mxv_into(Out&, S, const CsrPattern&, const X&, const MxvOptions&);    \
  template void mxv_into(Out&, S, const BitTileMatrix&, const X&, const MxvOptions&); \
  template void vxm_into(Out&, S, const X&, const CsrPattern&, const MxvOptions&);    \
  template void vxm_into(Out&, S, const X&, const BitTileMatrix&, const MxvOptions&);
// NOLINTEND(bugprone-macro-parentheses)

#define BITGRAPH_INSTANTIATE_MXV_INTO_OF(T)                      \
  BITGRAPH_INSTANTIATE_MXV_INTO(PlusTimes, Buffer<T>, BitVector) \
  BITGRAPH_INSTANTIATE_MXV_INTO(PlusPair, Buffer<T>, BitVector)  \
  BITGRAPH_INSTANTIATE_MXV_INTO(PlusTimes, Buffer<T>, Buffer<T>) \
  BITGRAPH_INSTANTIATE_MXV_INTO(PlusPair, Buffer<T>, Buffer<T>)  \
  BITGRAPH_INSTANTIATE_MXV_INTO(MinPlus, Buffer<T>, Buffer<T>)   \
  BITGRAPH_INSTANTIATE_MXV_INTO(MaxTimes, Buffer<T>, Buffer<T>)  \
  BITGRAPH_INSTANTIATE_MXV_INTO(MinFirst, Buffer<T>, Buffer<T>)  \
  BITGRAPH_INSTANTIATE_MXV_INTO(AnyFirst, Buffer<T>, Buffer<T>)

BITGRAPH_INSTANTIATE_MXV_INTO(OrAnd, BitVector, BitVector)
BITGRAPH_INSTANTIATE_MXV_INTO_OF(float)
BITGRAPH_INSTANTIATE_MXV_INTO_OF(double)
BITGRAPH_INSTANTIATE_MXV_INTO_OF(std::int32_t)

}  // namespace bitgraph
