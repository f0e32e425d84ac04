// SPDX-License-Identifier: Apache-2.0
// The kernel of assign. See include/bitgraph/ops/apply.hpp.
#pragma once

#include "core/devices/backend.hpp"

#include <bitgraph/formats/bit_vector.hpp>

#include <cstddef>

namespace bitgraph {

/// detail::assign_values.
void assign_values(const Cuda& backend, void* x, std::size_t n, const void* value, std::size_t value_size,
                   const Mask& mask);

}  // namespace bitgraph
