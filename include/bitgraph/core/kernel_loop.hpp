// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/device.hpp>

#include <cstddef>

namespace bitgraph::detail {

/// Whether this file is compiled by nvcc, so that a function of the caller's can run on a CUDA device. The operators
/// that take one have it as a template argument: a program may call them from files of both kinds.
#ifdef __CUDACC__
constexpr bool with_kernels = true;
#else
constexpr bool with_kernels = false;
#endif

/// On a CUDA device, for every i below n: body.put(i, body.take(i)), in no order; several are taken before the first of
/// them is put. Body is copied there; both functions are of the device. Throws internal where the launch fails.
template <class Body>
void kernel_loop(const Device& device, std::size_t n, const Body& body);

}  // namespace bitgraph::detail

#ifdef __CUDACC__
#include <bitgraph/core/kernel_loop.cuh>
#endif
