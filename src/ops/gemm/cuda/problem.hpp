// SPDX-License-Identifier: Apache-2.0
// The problem that a product on a CUDA device is, from its operands.
#pragma once

#include "ops/gemm/cuda/plan.hpp"
#include "ops/gemm/gemm.hpp"

#include <cstddef>
#include <cstdint>

namespace bitgraph::gemm_cuda {

/// Whether rows of floats follow one another, and begin at a multiple of 16 bytes.
inline bool is_in_sequence(const DenseView<float>& out) {
  constexpr std::size_t bytes = 16;
  return out.stride == out.ncols && reinterpret_cast<std::uintptr_t>(out.data) % bytes == 0;
}
inline bool is_in_sequence(const BitMatrixView<PlusMinusOne, std::uint64_t>&) { return false; }

template <class Out, class X>
Problem problem_of(const GemmArgs<Out, X>& args, Factors factors, unsigned multiprocessors) {
  return {.factors = factors,
          .rows = args.x.nrows,
          .columns = args.x.ncols,
          .words = args.w.words_per_row,
          .outputs = args.w.nrows,
          .bits_out = std::is_same_v<Out, BitMatrixView<PlusMinusOne, std::uint64_t>>,
          .masked = args.keep.words != nullptr,
          .row_scaled = args.row_scale != nullptr || factors == Factors::signs_of_floats,
          .col_scaled = args.col_scale != nullptr,
          .has_bias = args.bias != nullptr,
          .rows_in_sequence = is_in_sequence(args.out),
          .multiprocessors = multiprocessors};
}

}  // namespace bitgraph::gemm_cuda
