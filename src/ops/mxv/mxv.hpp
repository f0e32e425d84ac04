// SPDX-License-Identifier: Apache-2.0
// The kernels of mxv and vxm: one argument struct of views, one overload a backend. See include/bitgraph/ops/mxv.hpp
// for what is computed. Kernels do not check, do not allocate, and leave the padding bits of a binary output zero.
#pragma once

#include <bitgraph/formats/views.hpp>
#include <bitgraph/ops/semiring.hpp>

#include "core/devices/backend.hpp"

#include <cstddef>
#include <cstdint>

namespace bitgraph {

/// What a kernel sees of a Buffer<T>.
template <class T>
struct ValuesView {
  std::size_t size = 0;
  T* data = nullptr;
};

/// Which elements of the output are computed, and what becomes of the others.
struct OutputRule {
  const std::uint64_t* mask = nullptr;  ///< null: all elements
  bool complement = false;
  bool replace = false;
  bool accumulate = false;

  /// The elements 64 w .. 64 w + 63 that are computed, as bits; those behind the last element mean nothing.
  [[nodiscard]] std::uint64_t selected(std::size_t w) const noexcept {
    if (mask == nullptr) return ~std::uint64_t{0};
    return complement ? ~mask[w] : mask[w];
  }
  [[nodiscard]] bool selects(std::size_t i) const noexcept { return ((selected(i / 64) >> (i % 64)) & 1U) != 0; }
};

/// S is OrAnd where In and Out are bits; PlusTimes where In is bits and Out is values (PlusPair is the same there);
/// else PlusTimes, PlusPair, MinPlus, MaxTimes or MinFirst (AnyFirst is the same).
template <class S, class Graph, class In, class Out>
struct MxvArgs {
  Graph a;
  In x;
  Out out;
  OutputRule rule;
};

/// out = A x.
template <class S, class Graph, class In, class Out>
void mxv(const Reference& backend, const MxvArgs<S, Graph, In, Out>& args);
template <class S, class Graph, class In, class Out>
void mxv(const Cpu& backend, const MxvArgs<S, Graph, In, Out>& args);
template <class S, class Graph, class In, class Out>
void mxv(const Cuda& backend, const MxvArgs<S, Graph, In, Out>& args);

/// out = x^T A.
template <class S, class Graph, class In, class Out>
void vxm(const Reference& backend, const MxvArgs<S, Graph, In, Out>& args);
template <class S, class Graph, class In, class Out>
void vxm(const Cpu& backend, const MxvArgs<S, Graph, In, Out>& args);
template <class S, class Graph, class In, class Out>
void vxm(const Cuda& backend, const MxvArgs<S, Graph, In, Out>& args);

}  // namespace bitgraph
