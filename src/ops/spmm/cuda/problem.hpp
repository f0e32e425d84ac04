// SPDX-License-Identifier: Apache-2.0
// The problem that a product on a CUDA device is, from its operands.
#pragma once

#include "ops/spmm/cuda/plan.hpp"
#include "ops/spmm/elements.hpp"
#include "ops/spmm/spmm.hpp"

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace bitgraph::spmm_cuda {

/// Whether X can be read four numbers at a time. The last four of a row may reach beyond its last feature.
template <class T>
bool is_in_fours(const DenseView<const T>& x) {
  constexpr std::size_t four = 4;
  return x.stride % four == 0 && reinterpret_cast<std::uintptr_t>(x.data) % (four * sizeof(T)) == 0;
}

/// Whether rows of bits can be read, and written, four words of 32 bits at a time; rows of numbers four at a time.
template <class Graph, class In, class Out>
bool is_aligned(const SpmmArgs<Graph, In, Out>& args) {
  if constexpr (!std::is_same_v<In, BitsIn>) {
    return is_in_fours(args.x);
  } else {
    constexpr std::size_t bytes = 16;
    auto places = reinterpret_cast<std::uintptr_t>(args.x.words);
    if constexpr (std::is_same_v<Out, BitsOut>) places |= reinterpret_cast<std::uintptr_t>(args.out.words);
    return args.x.words_per_row % 2 == 0 && places % bytes == 0;
  }
}

/// Entries of tiles are not in their view: the choice does not depend on them.
template <class Graph, class In, class Out>
Problem problem_of(const SpmmArgs<Graph, In, Out>& args, unsigned multiprocessors) {
  constexpr bool csr = std::is_same_v<Graph, CsrPatternView>;
  Problem problem{.tiles = !csr,
                  .nrows = args.a.nrows,
                  .ncols = args.a.ncols,
                  .features = args.x.ncols,
                  .bits_in = std::is_same_v<In, BitsIn>,
                  .bits_out = std::is_same_v<Out, BitsOut>,
                  .in_bytes = number_bytes(args.x),
                  .out_bytes = number_bytes(args.out),
                  .aligned = is_aligned(args),
                  .weighted = args.col_scale != nullptr,
                  .ordered = args.row_order.row != nullptr,
                  .has_epilogue = !args.epilogue.is_identity(),
                  .multiprocessors = multiprocessors};
  if constexpr (csr) {
    problem.entries = args.a.num_entries;
    problem.longest_row = args.a.longest_row;
  }
  return problem;
}

}  // namespace bitgraph::spmm_cuda
