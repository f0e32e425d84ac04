// SPDX-License-Identifier: Apache-2.0
// The library's monoids over values on a CUDA device.
#include "ops/reduce/reduce.hpp"

#include <bitgraph/ops/reduce.hpp>

namespace bitgraph {

template <class Monoid, class T>
T reduce_values(const Cuda& backend, const Buffer<T>& x) {
  return detail::reduce_on_device<Monoid>(backend.device, x.data(), x.size());
}

#define BITGRAPH_INSTANTIATE_REDUCE(Monoid, T) template T reduce_values<Monoid, T>(const Cuda&, const Buffer<T>&)
BITGRAPH_FOR_EACH_REDUCED_TYPE(BITGRAPH_INSTANTIATE_REDUCE, PlusMonoid);
BITGRAPH_FOR_EACH_REDUCED_TYPE(BITGRAPH_INSTANTIATE_REDUCE, MinMonoid);
BITGRAPH_FOR_EACH_REDUCED_TYPE(BITGRAPH_INSTANTIATE_REDUCE, MaxMonoid);

}  // namespace bitgraph
