// SPDX-License-Identifier: Apache-2.0
// What the rooms ask of their operands, in one wording.
#pragma once

#include <bitgraph/core/device.hpp>
#include <bitgraph/core/error.hpp>
#include <bitgraph/formats/quantized_matrix.hpp>
#include <bitgraph/formats/row_order.hpp>

#include "core/devices/backend.hpp"

#include <fmt/format.h>

#include <span>
#include <type_traits>

namespace bitgraph {

/// Scales and biases may be left out.
inline void check_length(const char* op, std::span<const float> values, std::size_t expected, const char* name) {
  if (!values.empty() && values.size() != expected) {
    fail(ErrorCode::usage, fmt::format("{}: {} has {} values, expected {}", op, name, values.size(), expected));
  }
}

/// An operator runs on the device of its output (or of `what` else it works in place on).
inline void check_device(const char* op, const Device& device, const Device& other, const char* name = "a matrix",
                         const char* what = "the output") {
  require_same_stream(op, what, device, name, other);
}

/// The same for an operand that no kernel changes once it is made (a graph, an order of its rows): whoever made it has
/// waited for it, so kernels of any stream of the device may read it.
inline void check_place(const char* op, const Device& device, const Device& other, const char* name) {
  require_same_place(op, "the output", device, name, other);
}

/// For operators that do not take levels in planes.
inline void check_in_places(const char* op, const QuantizedMatrix& x, const char* name) {
  if (x.in_planes()) fail(ErrorCode::usage, fmt::format("{}: {} has levels in planes, expected places", op, name));
}

/// Null and an empty order are of any matrix.
inline void check_row_order(const char* op, const RowOrder* order, NodeId nrows, const Device& device) {
  if (order == nullptr || order->empty()) return;
  check_place(op, device, order->device(), "row_order");
  if (order->nrows() != nrows)
    fail(ErrorCode::usage, fmt::format("{}: row_order has {} rows, A {}", op, order->nrows(), nrows));
}

/// How kernels are told of what was left out.
inline const float* or_null(std::span<const float> values) { return values.empty() ? nullptr : values.data(); }

/// Calls kernel(Cuda) for a CUDA device; false for the host, whose loops are the room's own.
template <class Kernel>
bool on_cuda(const char* op, const Device& device, const Kernel& kernel) {
  return with_backend(device, op, [&](const auto& backend) {
    constexpr bool is_cuda = std::is_same_v<std::remove_cvref_t<decltype(backend)>, Cuda>;
    if constexpr (is_cuda) kernel(backend);
    return is_cuda;
  });
}

}  // namespace bitgraph
