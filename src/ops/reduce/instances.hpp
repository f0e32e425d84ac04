// SPDX-License-Identifier: Apache-2.0
// The monoids and types that the library has kernels for on CUDA devices.
#pragma once

#include "core/instances.hpp"

#include <cstdint>

namespace bitgraph {

struct PlusMonoid;
struct MinMonoid;
struct MaxMonoid;

/// make(std::type_identity<Monoid>(), std::type_identity<T>()) for all of them.
template <class Make>
constexpr auto for_reduced_types(Make make) {
  return for_types(Types<PlusMonoid, MinMonoid, MaxMonoid>(), [&](auto monoid) {
    return for_types(Types<float, double, std::int32_t, std::uint32_t, std::int64_t, std::uint64_t>(),
                     [&](auto type) { return make(monoid, type); });
  });
}

}  // namespace bitgraph
