// SPDX-License-Identifier: Apache-2.0
// Every graph format with every semiring and pair of vector types: the kernels that a backend offers.
#pragma once

#include "formats/graph_views.hpp"
#include "ops/mxv/mxv.hpp"

#include <cstdint>

namespace bitgraph {

template <class Backend, class S, class In, class Out>
constexpr auto mxv_kernels() {
  return for_types(GraphViews(), [](auto type) {
    using Graph = TypeOf<decltype(type)>;
    using Kernel = void (*)(const Backend&, const MxvArgs<S, Graph, In, Out>&);
    return instances_of(static_cast<Kernel>(&mxv), static_cast<Kernel>(&vxm));
  });
}

template <class Backend>
constexpr auto mxv_kernels_of_bits() {
  return mxv_kernels<Backend, OrAnd, BitVectorView<>, BitVectorView<std::uint64_t>>();
}

/// Where the output has values of type T.
template <class Backend, class T>
constexpr auto mxv_kernels_of_values() {
  const auto of_values = for_types(Types<PlusTimes, PlusPair, MinPlus, MaxTimes, MinFirst>(), [](auto type) {
    using S = TypeOf<decltype(type)>;
    return mxv_kernels<Backend, S, ValuesView<const T>, ValuesView<T>>();
  });
  return instances_of(mxv_kernels<Backend, PlusTimes, BitVectorView<>, ValuesView<T>>(), of_values);
}

template <class Backend>
constexpr auto mxv_kernels_of_all() {
  const auto of_values = for_types(Types<float, double, std::int32_t>(), [](auto type) {
    using T = TypeOf<decltype(type)>;
    return mxv_kernels_of_values<Backend, T>();
  });
  return instances_of(mxv_kernels_of_bits<Backend>(), of_values);
}

}  // namespace bitgraph
