// SPDX-License-Identifier: Apache-2.0
// The kernels of concat. See include/bitgraph/ops/concat.hpp.
#pragma once

#include <bitgraph/formats/bit_matrix.hpp>
#include <bitgraph/formats/dense_matrix.hpp>
#include <bitgraph/ops/concat.hpp>

#include "core/devices/backend.hpp"

#include <array>

namespace bitgraph {

/// Columns first_column[p] .. first_column[p + 1] of the output are those of part p.
template <class In, class Out>
struct ConcatArgs {
  Out out;
  std::size_t num_parts = 0;
  std::array<In, most_concat_parts> parts{};
  std::array<std::size_t, most_concat_parts + 1> first_column{};
};

using ConcatBits = ConcatArgs<BitMatrixView<PlusMinusOne>, BitMatrixView<PlusMinusOne, std::uint64_t>>;
using ConcatFloats = ConcatArgs<DenseView<const float>, DenseView<float>>;

void concat(const Reference& backend, const ConcatBits& args);
void concat(const Reference& backend, const ConcatFloats& args);
void concat(const Cpu& backend, const ConcatBits& args);
void concat(const Cpu& backend, const ConcatFloats& args);
void concat(const Cuda& backend, const ConcatBits& args);
void concat(const Cuda& backend, const ConcatFloats& args);

}  // namespace bitgraph
