// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/core/error.hpp>
#include <bitgraph/core/kernel_loop.hpp>
#include <bitgraph/core/parallel_loop.hpp>
#include <bitgraph/formats/bit_vector.hpp>

#include <cstddef>
#include <string>
#include <type_traits>

namespace bitgraph {

namespace detail {

/// apply on a CUDA device.
template <class Out, class In, class Fn>
struct ApplyLoop {
  Out* out;
  const In* x;
  Fn fn;
  constexpr Out take(std::size_t i) const { return static_cast<Out>(fn(x[i])); }
  constexpr void put(std::size_t i, const Out& value) const { out[i] = value; }
};

/// x(i) = *value, of `value_size` bytes, for every i below n in the mask; on a CUDA device.
void assign_values(const Device& device, void* x, std::size_t n, const void* value, std::size_t value_size,
                   const Mask& mask);

}  // namespace detail

/// out(i) = fn(x(i)), also into another type. fn is called from the device's threads, in no order. `out` may be x.
/// On a CUDA device, in a file that nvcc compiles, fn is copied there: its operator() is __host__ __device__, or
/// constexpr with --expt-relaxed-constexpr; lambdas need --extended-lambda. Elsewhere values of a CUDA device are
/// refused. Throws usage where the sizes differ. O(n); allocates nothing.
template <class Out, class Fn, class In, bool with_kernels = detail::with_kernels>
void apply_into(Buffer<Out>& out, Fn&& fn, const Buffer<In>& x) {
  if (out.size() != x.size()) {
    fail(ErrorCode::usage,
         "apply: " + std::to_string(x.size()) + " values into " + std::to_string(out.size()) + " places");
  }
  require_same_stream("apply", "the output", out.device(), "x", x.device());
  if constexpr (with_kernels) {
    if (!x.device().is_host()) {
      const detail::ApplyLoop<Out, In, std::decay_t<Fn>> loop{out.data(), x.data(), fn};
      return detail::kernel_loop(x.device(), x.size(), loop);
    }
  }
  parallel_loop(x.device(), x.size(), 4096, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) out[i] = fn(x[i]);
  });
}

/// x(i) = fn(x(i)).
template <class Fn, class T, bool with_kernels = detail::with_kernels>
void apply_in_place(Buffer<T>& x, Fn&& fn) {
  apply_into<T, Fn&, T, with_kernels>(x, fn, x);
}

/// The same with a new output, of the type that fn returns.
template <class Fn, class In, bool with_kernels = detail::with_kernels>
[[nodiscard]] auto apply(Fn&& fn, const Buffer<In>& x) {
  using Out = decltype(fn(x[0]));
  Buffer<Out> out(x.size(), x.device());
  apply_into<Out, Fn&, In, with_kernels>(out, fn, x);
  return out;
}

/// x(i) = value for every i in the mask: GraphBLAS's assign of a scalar, on every device. Throws usage where the sizes
/// differ.
template <class T>
void assign(Buffer<T>& x, const Mask& mask, T value) {
  if (mask.bits != nullptr && mask.bits->size() != x.size()) {
    fail(ErrorCode::usage, "assign: a mask of " + std::to_string(mask.bits->size()) + " bits for " +
                               std::to_string(x.size()) + " values");
  }
  if (!x.device().is_host()) return detail::assign_values(x.device(), x.data(), x.size(), &value, sizeof(T), mask);
  parallel_loop(x.device(), x.size(), 4096, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (mask.bits == nullptr || mask.bits->bit(i) != mask.complement) x[i] = value;
    }
  });
}

}  // namespace bitgraph
