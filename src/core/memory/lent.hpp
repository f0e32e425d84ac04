// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>

#include <cstddef>
#include <memory>

namespace bitgraph {

/// A buffer over values that stay whose they are: nothing keeps them alive.
template <class T>
[[nodiscard]] Buffer<T> lent(T* data, std::size_t size, const Device& device) {
  return Buffer<T>::borrow(data, size, std::shared_ptr<const void>(std::shared_ptr<const void>(), data), device);
}

}  // namespace bitgraph
