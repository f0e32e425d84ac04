// SPDX-License-Identifier: Apache-2.0
// The library's monoids over values on a CUDA device.
#include "ops/reduce/instances.hpp"
#include "ops/reduce/reduce.hpp"

#include <bitgraph/ops/reduce.hpp>

namespace bitgraph {

template <class Monoid, class T>
T reduce_values(const Cuda& backend, const Buffer<T>& x) {
  return detail::reduce_on_device<Monoid>(backend.device, x.data(), x.size());
}

[[gnu::used]] constexpr auto reduce_cuda_values = for_reduced_types([](auto monoid, auto type) {
  using T = TypeOf<decltype(type)>;
  return static_cast<T (*)(const Cuda&, const Buffer<T>&)>(&reduce_values<TypeOf<decltype(monoid)>, T>);
});

}  // namespace bitgraph
