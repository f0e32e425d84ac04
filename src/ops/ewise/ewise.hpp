// SPDX-License-Identifier: Apache-2.0
// The kernels of ewise. See include/bitgraph/ops/ewise.hpp.
#pragma once

#include "core/devices/backend.hpp"
#include "core/instances.hpp"

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/ops/semiring.hpp>

#include <cstdint>

namespace bitgraph {

class BitTileMatrix;
class BitVector;
class CsrPattern;
enum class SetOp;

void ewise_sets(const Cuda& backend, BitVector& out, SetOp op, const BitVector& a, const BitVector& b);
CsrPattern merged(const Cuda& backend, SetOp op, const CsrPattern& a, const CsrPattern& b);
BitTileMatrix merged(const Cuda& backend, SetOp op, const BitTileMatrix& a, const BitTileMatrix& b);

template <class S, class T>
void ewise_add_values(const Cuda& backend, Buffer<T>& out, const Buffer<T>& a, const Buffer<T>& b);

/// make(std::type_identity<S>(), std::type_identity<T>()) for all semirings and types that the library has kernels for
/// on CUDA devices.
template <class Make>
constexpr auto for_ewise_types(Make make) {
  const auto of_integers = for_types(Types<PlusTimes, MinPlus, MaxTimes, OrAnd>(), [&](auto semiring) {
    return for_types(Types<std::int32_t, std::uint32_t, std::int64_t, std::uint64_t>(),
                     [&](auto type) { return make(semiring, type); });
  });
  const auto of_floats = for_types(Types<PlusTimes, MinPlus, MaxTimes>(), [&](auto semiring) {
    return for_types(Types<float, double>(), [&](auto type) { return make(semiring, type); });
  });
  return instances_of(of_integers, of_floats);
}

}  // namespace bitgraph
