// SPDX-License-Identifier: Apache-2.0
// The kernels that backends of the host offer: masked sums of every format; products of CSR, and of what else a backend
// does not unpack.
#pragma once

#include "formats/graph_views.hpp"
#include "ops/mxm/mxm.hpp"

#include <cstdint>

namespace bitgraph {

template <class Backend>
constexpr auto masked_sum_kernels() {
  return for_types(GraphViews(), [](auto type) {
    using Graph = TypeOf<decltype(type)>;
    return static_cast<std::uint64_t (*)(const Backend&, const MaskedSumArgs<Graph>&)>(&masked_sum);
  });
}

/// Of some formats.
template <class Backend, class Graphs>
constexpr auto product_kernels(Graphs graphs) {
  return for_types(graphs, [](auto type) {
    using Args = ProductArgs<TypeOf<decltype(type)>>;
    return instances_of(static_cast<void (*)(const Backend&, const Args&, EdgeOffset*)>(&product_sizes),
                        static_cast<void (*)(const Backend&, const Args&, const ProductOut&)>(&product_fill));
  });
}

}  // namespace bitgraph
