// SPDX-License-Identifier: Apache-2.0
// The kernels of ewise. See include/bitgraph/ops/ewise.hpp.
#pragma once

#include "core/backend.hpp"

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/ops/ewise.hpp>

namespace bitgraph {

void ewise_sets(const Cuda& backend, BitVector& out, SetOp op, const BitVector& a, const BitVector& b);
CsrPattern merged(const Cuda& backend, SetOp op, const CsrPattern& a, const CsrPattern& b);
BitTileMatrix merged(const Cuda& backend, SetOp op, const BitTileMatrix& a, const BitTileMatrix& b);

template <class S, class T>
void ewise_add_values(const Cuda& backend, Buffer<T>& out, const Buffer<T>& a, const Buffer<T>& b);

}  // namespace bitgraph

/// Instantiate(semiring, type) for all that the library has kernels for on CUDA devices.
#define BITGRAPH_FOR_EACH_EWISE_TYPE(Instantiate, S) \
  Instantiate(S, std::int32_t);                      \
  Instantiate(S, std::uint32_t);                     \
  Instantiate(S, std::int64_t);                      \
  Instantiate(S, std::uint64_t)
#define BITGRAPH_FOR_EACH_EWISE(Instantiate)            \
  BITGRAPH_FOR_EACH_EWISE_TYPE(Instantiate, PlusTimes); \
  BITGRAPH_FOR_EACH_EWISE_TYPE(Instantiate, MinPlus);   \
  BITGRAPH_FOR_EACH_EWISE_TYPE(Instantiate, MaxTimes);  \
  BITGRAPH_FOR_EACH_EWISE_TYPE(Instantiate, OrAnd);     \
  Instantiate(PlusTimes, float);                        \
  Instantiate(MinPlus, float);                          \
  Instantiate(MaxTimes, float);                         \
  Instantiate(PlusTimes, double);                       \
  Instantiate(MinPlus, double);                         \
  Instantiate(MaxTimes, double)
