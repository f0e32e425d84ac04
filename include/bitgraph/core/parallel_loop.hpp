// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/device.hpp>

#include <cstddef>
#include <functional>

namespace bitgraph {

/// Calls body(begin, end) for pieces of [0, n) on the device's threads: what the operators that take a function of
/// yours (apply, select, a semiring of your own) run on where the values are on the host.
///
/// Every piece begins at a multiple of `grain` and is `grain` long, but for the last one, whatever the number of
/// threads: sums taken a piece at a time and then added up in order are the same everywhere. Pieces run in any order;
/// called from within a parallel loop, on the caller's thread. The first exception that body throws is thrown again
/// when all threads are done. Throws usage for a grain of 0, not_possible for a device that is not the host.
void parallel_loop(const Device& device, std::size_t n, std::size_t grain,
                   const std::function<void(std::size_t begin, std::size_t end)>& body);

}  // namespace bitgraph
