// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/core/error.hpp>
#include <bitgraph/core/parallel_loop.hpp>
#include <bitgraph/formats/bit_vector.hpp>

#include <cstddef>
#include <string>

namespace bitgraph {

/// out(i) = fn(x(i)), also into another type. fn is called from the device's threads, in no order. `out` may be x.
/// Throws usage where the sizes differ. O(n); allocates nothing.
template <class Out, class Fn, class In>
void apply_into(Buffer<Out>& out, Fn&& fn, const Buffer<In>& x) {
  if (out.size() != x.size()) {
    fail(ErrorCode::usage,
         "apply: " + std::to_string(x.size()) + " values into " + std::to_string(out.size()) + " places");
  }
  parallel_loop(x.device(), x.size(), 4096, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) out[i] = fn(x[i]);
  });
}

/// x(i) = fn(x(i)).
template <class Fn, class T>
void apply_in_place(Buffer<T>& x, Fn&& fn) {
  apply_into(x, fn, x);
}

/// The same with a new output, of the type that fn returns.
template <class Fn, class In>
[[nodiscard]] auto apply(Fn&& fn, const Buffer<In>& x) {
  Buffer<decltype(fn(x[0]))> out(x.size(), x.device());
  apply_into(out, fn, x);
  return out;
}

/// x(i) = value for every i in the mask: GraphBLAS's assign of a scalar. Throws usage where the sizes differ.
template <class T>
void assign(Buffer<T>& x, const Mask& mask, T value) {
  if (mask.bits != nullptr && mask.bits->size() != x.size()) {
    fail(ErrorCode::usage, "assign: a mask of " + std::to_string(mask.bits->size()) + " bits for " +
                               std::to_string(x.size()) + " values");
  }
  parallel_loop(x.device(), x.size(), 4096, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (mask.bits == nullptr || mask.bits->bit(i) != mask.complement) x[i] = value;
    }
  });
}

}  // namespace bitgraph
