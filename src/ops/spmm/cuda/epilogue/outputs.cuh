// SPDX-License-Identifier: Apache-2.0
// The kind of output that a kernel is made for, from the operands.
#pragma once

#include "ops/spmm/cuda/epilogue/emit.cuh"
#include "ops/spmm/spmm.hpp"

#include <cstdint>
#include <type_traits>

namespace bitgraph::spmm_cuda {

/// Whether rows of the output begin and end so that they can be written four features at a time.
template <class Out>
bool writes_in_fours(const Out& out) {
  if (out.ncols % own_features != 0) return false;
  if constexpr (is_bits<Out>) {
    return true;
  } else {
    constexpr std::size_t bytes = own_features * sizeof(*out.data);
    return out.stride % own_features == 0 && reinterpret_cast<std::uintptr_t>(out.data) % bytes == 0;
  }
}

template <class To, class Graph, class In, class Out>
SpmmArgs<Graph, In, To> with_output(const SpmmArgs<Graph, In, Out>& args) {
  return {args.a, args.x, To(args.out), args.col_scale, args.epilogue, args.row_order};
}

/// Calls fn with args as they are, or with a plain output.
template <class Graph, class In, class Out, class Fn>
void with_plain(const SpmmArgs<Graph, In, Out>& args, const Fn& fn) {
  if (args.epilogue.is_identity() && writes_in_fours(args.out)) return fn(with_output<Plain<Out>>(args));
  fn(args);
}

/// Calls fn with a ragged, a plain or a framed output.
template <class Graph, class In, class Out, class Fn>
void with_frame(const SpmmArgs<Graph, In, Out>& args, const Fn& fn) {
  if (!writes_in_fours(args.out)) return fn(with_output<Ragged<Out>>(args));
  if (args.epilogue.is_identity()) return fn(with_output<Plain<Out>>(args));
  fn(with_output<Framed<Out>>(args));
}

}  // namespace bitgraph::spmm_cuda
