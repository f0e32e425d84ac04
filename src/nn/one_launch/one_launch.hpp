// SPDX-License-Identifier: Apache-2.0
// The steps of a small graph's model as one launch of a CUDA device (BitGNN, section 3.4).
#pragma once

#include "core/devices/backend.hpp"
#include "nn/one_launch/row_program.hpp"

#include <cstddef>
#include <memory>
#include <span>

namespace bitgraph::nn {

/// A graph of that size is quicker in one launch than in one for each step.
[[nodiscard]] constexpr bool fits_one_launch(std::size_t num_rows, std::size_t entries) noexcept {
  return num_rows <= 16384 && entries <= 16 * 16384;
}

/// The steps on the device, ready to be put on its stream. A warp has the same rows in every step and keeps on chip
/// what it makes of them; rows of others it finds in the exchange.
class OneLaunch {
 public:
  virtual ~OneLaunch() = default;

  /// `result` of the steps; waits for nothing. Runs of one object follow each other in the device's stream.
  virtual void run() const = 0;
};

/// Bytes that it has on the device beside the exchange and the result, for a graph of these rows: where rows of that
/// many patterns are, and steps.
[[nodiscard]] std::size_t one_launch_bytes(const Cuda& backend, std::span<const EdgeOffset> row_ptr,
                                           std::size_t patterns, std::size_t steps);

/// Null where the steps cannot be run so, or need more shared memory than there is.
[[nodiscard]] std::unique_ptr<OneLaunch> make_one_launch(const Cuda& backend, const LaunchSteps& steps);

}  // namespace bitgraph::nn
