// SPDX-License-Identifier: Apache-2.0
// The kernels of spmm: one argument struct of views, one overload a backend. See include/bitgraph/ops/spmm.hpp for what
// is computed. Kernels do not check, do not allocate, and leave the padding bits of a binary output zero.
#pragma once

#include <bitgraph/formats/views.hpp>

#include "core/devices/backend.hpp"
#include "ops/spmm/epilogue.hpp"

namespace bitgraph {

using BitsIn = BitMatrixView<PlusMinusOne>;
using BitsOut = BitMatrixView<PlusMinusOne, std::uint64_t>;
using FloatIn = DenseView<const float>;
using FloatOut = DenseView<float>;

template <class Graph, class In, class Out>
struct SpmmArgs {
  Graph a;
  In x;
  Out out;
  const float* col_scale = nullptr;
  SpmmEpilogue epilogue;
  RowOrderView row_order = {};
};

template <class Graph, class In, class Out>
void spmm(const Reference& backend, const SpmmArgs<Graph, In, Out>& args);
template <class Graph, class In, class Out>
void spmm(const Cpu& backend, const SpmmArgs<Graph, In, Out>& args);

}  // namespace bitgraph
